// The light reading of C++: what is blanked, which includes and functions are seen.
#include "tests/tidy/source_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/tidy/blank.h"

namespace mycel::tidy {
namespace {

using testing::ElementsAre;

TEST(BlankComments, KeepsCodeAndLineBreaks) {
  EXPECT_EQ(BlankComments("a // b\nc"), "a     \nc");
  EXPECT_EQ(BlankComments("a /* b\n */ c"), "a     \n    c");
  EXPECT_EQ(BlankComments("f(\"x // y\\\" z\");"), "f(\"          \");");
  EXPECT_EQ(BlankComments("int n = 1'000'000; char q = '\\'';"), "int n = 1'000'000; char q = '  ';");
  EXPECT_EQ(BlankComments("R\"x(a \" b)x\" c"), "R            c");
  EXPECT_EQ(BlankComments("#define A { \\\n  b\nc"), "             \n   \nc");
  EXPECT_EQ(BlankComments("s = \"/*\"; t"), "s = \"  \"; t");
}

TEST(FindWord, NeedsBoundaries) {
  EXPECT_EQ(FindWord("sprintf(printf)", "printf"), 8U);
  EXPECT_EQ(FindWord("xprintf printfx", "printf"), std::string_view::npos);
  EXPECT_EQ(FindWord("x = absl::Status", "absl::"), 4U);
}

TEST(ReadSource, SeesIncludesWithTheirKind) {
  const SourceFile file = ReadSource("core/a.cc", "#include <vector>\n  # include \"core/b.h\"\n// #include <map>\n");
  ASSERT_EQ(file.includes.size(), 2U);
  EXPECT_EQ(file.includes[0].path, "vector");
  EXPECT_FALSE(file.includes[0].quoted);
  EXPECT_EQ(file.includes[1].path, "core/b.h");
  EXPECT_TRUE(file.includes[1].quoted);
  EXPECT_EQ(file.includes[1].line, 2U);
}

TEST(ReadSource, SplitsThePath) {
  const SourceFile file = ReadSource("core/base/env_test.cc", "");
  EXPECT_EQ(file.Part(0), "core");
  EXPECT_EQ(file.Part(1), "base");
  EXPECT_EQ(file.Part(2), "env_test.cc");
  EXPECT_EQ(file.Part(3), "");
  EXPECT_EQ(file.Folder(), "core/base");
  EXPECT_EQ(file.FileName(), "env_test.cc");
  EXPECT_TRUE(file.IsTest());
  EXPECT_TRUE(file.IsCode());
  EXPECT_FALSE(ReadSource("README.md", "").IsCode());
}

std::vector<std::string> FunctionsOf(const std::string& text) {
  std::vector<std::string> found;
  for (const Function& f : ReadSource("a.cc", text).functions) {
    found.push_back(f.name + ":" + std::to_string(f.line) + "+" + std::to_string(f.lines));
  }
  return found;
}

TEST(FindFunctions, SeesTheUsualShapes) {
  EXPECT_THAT(FunctionsOf("int F() { return 1; }\n"), ElementsAre("F:1+1"));
  EXPECT_THAT(FunctionsOf("namespace a {\nvoid G(int x,\n       int y) const {\n  if (x) {\n  }\n}\n}\n"),
              ElementsAre("G:2+5"));
  EXPECT_THAT(FunctionsOf("C::C(int a) : a_(a), b_{a} {\n}\nvoid H() {\n}\n"), ElementsAre("C::C:1+2", "H:3+2"));
  EXPECT_THAT(FunctionsOf("template <typename T = int>\nT* Make(T x) {\n}\n"), ElementsAre("Make:1+3"));
  EXPECT_THAT(FunctionsOf("TEST(Suite, Name) {\n}\n"), ElementsAre("TEST(Suite, Name):1+2"));
  EXPECT_THAT(FunctionsOf("class A {\n public:\n  int f() { return 1; }\n  int g_ = 2;\n};\n"), ElementsAre("f:3+1"));
  EXPECT_THAT(FunctionsOf("bool operator==(A a, A b) {\n}\n"), testing::SizeIs(1));
}

TEST(FindFunctions, SkipsWhatIsNone) {
  EXPECT_THAT(FunctionsOf("struct alignas(64) Line {\n  int x;\n};\nint t[] = {F(1), 2};\nenum class E : int { a };\n"),
              testing::IsEmpty());
  EXPECT_THAT(FunctionsOf("int Declared(int x);\n#define M(x) { x }\n"), testing::IsEmpty());
  EXPECT_THAT(FunctionsOf("void F() {\n  auto l = [](int x) {\n    return x;\n  };\n  for (;;) {\n  }\n}\n"),
              ElementsAre("F:1+7"));
}

}  // namespace
}  // namespace mycel::tidy
