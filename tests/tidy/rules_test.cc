// Plants a violation of each rule in a tree made up here and expects exactly that finding: the rules can fail.
#include "tests/tidy/rules.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <initializer_list>
#include <utility>

namespace mycel::tidy {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

Tree MakeTree(std::initializer_list<std::pair<std::string, std::string>> files) {
  Tree tree;
  for (const auto& [path, text] : files) tree.push_back(ReadSource(path, text));
  return tree;
}

/// A line of `n` characters.
std::string Long(size_t n) { return "// " + std::string(n - 3, 'x') + "\n"; }

/// A function of `n` lines.
std::string FunctionOf(size_t n) {
  std::string text = "int F(int x) {\n";
  for (size_t i = 2; i < n; ++i) text += "  x += 1;\n";
  return text + "}\n";
}

TEST(LayerLaw, RefusesUpwardAndSidewaysIncludes) {
  EXPECT_THAT(CheckLayerLaw(MakeTree({{"core/plan/a.cc", "#include \"scheduler/ring/ring.h\"\n"}})), SizeIs(1));
  EXPECT_THAT(CheckLayerLaw(MakeTree({{"scheduler/a.cc", "#include \"transport/shm/shm.h\"\n"}})), SizeIs(1));
  EXPECT_THAT(CheckLayerLaw(MakeTree({{"kernels/a.cc", "#  include \"bindings/c/mycel.h\"\n"}})), SizeIs(1));
  EXPECT_THAT(CheckLayerLaw(MakeTree({{"bench/a.cc", "#include \"tests/sim/sim.h\"\n"}})), SizeIs(1));
  EXPECT_THAT(CheckLayerLaw(MakeTree({{"core/base/a_test.cc", "#include \"kernels/a.h\"\n"}})), SizeIs(1));
}

TEST(LayerLaw, AllowsDownwardIncludes) {
  EXPECT_THAT(CheckLayerLaw(MakeTree({{"scheduler/a.cc", "#include \"core/plan/plan.h\"\n#include <vector>\n"},
                                      {"bindings/a.cc", "#include \"kernels/a.h\"\n#include \"transport/a.h\"\n"},
                                      {"tests/a.cc", "#include \"bench/a.h\"\n"}})),
              IsEmpty());
}

TEST(CoreOrder, IsBaseTopoPlanSpiRuntime) {
  EXPECT_THAT(CheckCoreOrder(MakeTree({{"core/base/a.h", "#include \"core/topo/topology.h\"\n"}})), SizeIs(1));
  EXPECT_THAT(CheckCoreOrder(MakeTree({{"core/plan/a.cc", "#include \"core/runtime/group.h\"\n"}})), SizeIs(1));
  EXPECT_THAT(CheckCoreOrder(MakeTree({{"core/spi/a.h", "#include \"core/plan/plan.h\"\n"},
                                       {"core/plan/a_test.cc", "#include \"core/spi/board.h\"\n"}})),
              IsEmpty());
}

TEST(OwnHeaderFirst, FindsALateAndAMissingOne) {
  const Tree tree = MakeTree({{"core/base/a.h", ""},
                              {"core/base/a.cc", "#include <string>\n#include \"core/base/a.h\"\n"},
                              {"core/base/b.h", ""},
                              {"core/base/b.cc", "// #include \"core/base/b.h\"\n"},
                              {"core/base/c.h", ""},
                              {"core/base/c.cc", "// Why.\n#include \"core/base/c.h\"\n\n#include <string>\n"},
                              {"core/base/main.cc", "#include <string>\n"}});
  const Findings findings = CheckOwnHeaderFirst(tree);
  ASSERT_THAT(findings, SizeIs(2)) << ToText(findings);
  EXPECT_EQ(findings[0].path, "core/base/a.cc");
  EXPECT_EQ(findings[0].line, 1U);
  EXPECT_EQ(findings[1].path, "core/base/b.cc");
}

TEST(IncludePaths, StartAtTheRootAndNameAFile) {
  const Tree tree =
      MakeTree({{"core/base/a.h", ""},
                {"core/base/b.cc",
                 "#include \"a.h\"\n#include \"../base/a.h\"\n#include <core/base/a.h>\n"
                 "#include \"core/base/gone.h\"\n#include \"core/base/a.h\"\n#include \"mycel_config.h\"\n"}});
  const Findings findings = CheckIncludePaths(tree);
  ASSERT_THAT(findings, SizeIs(4));
  EXPECT_THAT(findings[0].text, HasSubstr("repository root"));
  EXPECT_THAT(findings[1].text, HasSubstr("climbs"));
  EXPECT_THAT(findings[2].text, HasSubstr("quotes"));
  EXPECT_THAT(findings[3].text, HasSubstr("names no file"));
}

TEST(VendorHeaders, StayInTheirFolders) {
  for (const auto& [path, header] :
       std::initializer_list<std::pair<const char*, const char*>>{{"core/plan/plan.cc", "absl/status/status.h"},
                                                                  {"core/runtime/a.cc", "nlohmann/json.hpp"},
                                                                  {"core/topo/topology.cc", "nlohmann/json.hpp"},
                                                                  {"core/base/a.cc", "cuda_runtime.h"},
                                                                  {"transport/shm/a.cc", "ucp/api/ucp.h"},
                                                                  {"transport/shm/a.cc", "infiniband/verbs.h"},
                                                                  {"scheduler/flow/a.cc", "ClpSimplex.hpp"},
                                                                  {"bindings/c/a.cc", "mpi.h"},
                                                                  {"core/topo/a.cc", "pugixml.hpp"},
                                                                  {"scheduler/a.cc", "CLI/CLI.hpp"},
                                                                  {"core/base/a.cc", "hwy/highway.h"},
                                                                  {"kernels/step/step.h", "hip/hip_runtime.h"}}) {
    const Findings findings = CheckVendorHeaders(MakeTree({{path, "#include <" + std::string(header) + ">\n"}}));
    EXPECT_THAT(findings, SizeIs(1)) << path << " " << header;
  }
  EXPECT_THAT(CheckVendorHeaders(MakeTree({{"core/base/status.h", "#include <absl/status/status.h>\n"},
                                           {"core/topo/topology_json.cc", "#include <nlohmann/json.hpp>\n"},
                                           {"scheduler/lp/clp.cc", "#include <ClpSimplex.hpp>\n"},
                                           {"kernels/device/cuda.h", "#include <cuda_runtime.h>\n"},
                                           {"bindings/mpi/a.cc", "#include <mpi.h>\n"}})),
              IsEmpty());
}

TEST(DeviceTwins, HaveTheSameNamesInTheSameOrder) {
  const std::string host =
      "struct P {\n  static constexpr int kSpins = 0;\n  static constexpr bool Any(bool v) { return v; }\n"
      "  template <int k>\n  static Words<k> Load(const std::byte* from) {\n    static int x = 1;\n  }\n};\n";
  const std::string twin =
      "struct P {\n  static constexpr int kSpins = 9;\n  __device__ static bool Any(bool v);\n"
      "  __device__ static Words<k> Load(const std::byte* from);\n private:\n  __device__ static int Mine();\n};\n";
  std::string swapped = twin;
  swapped.replace(swapped.find("Any"), 3, "All");
  const std::string shorter = twin.substr(0, twin.find("  __device__ static Words"));
  const auto check = [&](const std::string& text) {
    return CheckDeviceTwins(MakeTree({{"kernels/device/host.h", host}, {"kernels/device/hip.h", text}}));
  };
  EXPECT_THAT(check(twin), IsEmpty());
  EXPECT_THAT(check(swapped), SizeIs(1));
  EXPECT_THAT(check(shorter), SizeIs(1));
}

TEST(Waiting, HappensInOnePlace) {
  const std::string spin = "void F() {\n  while (!flag.load(std::memory_order_acquire)) {\n  }\n}\n";
  EXPECT_THAT(CheckWaiting(MakeTree({{"core/runtime/a.cc", spin}})), SizeIs(1));
  EXPECT_THAT(
      CheckWaiting(MakeTree({{"transport/shm/a.cc", "while (n <\n  p->load(std::memory_order_relaxed)) {}\n"}})),
      SizeIs(1));
  EXPECT_THAT(CheckWaiting(MakeTree({{"transport/shm/a.cc", "do {} while (x.load(order));\n"}})), SizeIs(1));
  EXPECT_THAT(CheckWaiting(MakeTree({{"core/runtime/a.cc", "std::this_thread::sleep_for(ms);\n"}})), SizeIs(1));
  EXPECT_THAT(CheckWaiting(MakeTree({{"core/base/wait.cc", spin},
                                     {"kernels/device/host.h", spin},
                                     {"core/runtime/b.cc", "while (!word.compare_exchange_weak(a.load(o), b)) {}\n"},
                                     {"core/runtime/c.cc", "// while (!flag.load()) in a comment\n"}})),
              IsEmpty());
}

TEST(AtomicOrders, AreSpelled) {
  EXPECT_THAT(CheckAtomicOrders(MakeTree({{"core/a.cc", "int x = word.load();\n"}})), SizeIs(1));
  EXPECT_THAT(CheckAtomicOrders(MakeTree({{"core/a.cc", "std::atomic_thread_fence(order);\n"}})), SizeIs(1));
  EXPECT_THAT(CheckAtomicOrders(MakeTree({{"core/a.cc", "int x = word.load(std::memory_order_relaxed);\n"}})),
              IsEmpty());
}

TEST(Words, AreRefusedOutsideTheirHome) {
  EXPECT_THAT(CheckAbseilNames(MakeTree({{"core/plan/a.cc", "absl::string_view x;\n"}})), SizeIs(1));
  EXPECT_THAT(CheckAbseilNames(MakeTree({{"core/base/status.h", "using Status = absl::Status;\n"}})), IsEmpty());
  EXPECT_THAT(CheckLocks(MakeTree({{"core/plan/a.cc", "std::mutex lock;\n"}})), SizeIs(1));
  EXPECT_THAT(CheckLocks(MakeTree({{"core/base/mutex.h", "std::mutex lock;\n"}, {"core/a.cc", "Mutex lock;\n"}})),
              IsEmpty());
  EXPECT_THAT(CheckPrinting(MakeTree({{"transport/a.cc", "std::fprintf(stderr, x);\n"}})), SizeIs(1));
  EXPECT_THAT(
      CheckPrinting(MakeTree({{"bindings/cli/a.cc", "std::cout << x;\n"}, {"core/a.cc", "snprintf(b, n, x);\n"}})),
      IsEmpty());
  EXPECT_THAT(CheckEnvironment(MakeTree({{"transport/a.cc", "const char* x = getenv(\"MYCEL_NEW\");\n"}})), SizeIs(1));
  EXPECT_THAT(CheckEnvironment(MakeTree({{"bench/a.cc", "getenv(\"PMI_RANK\");\n"}})), IsEmpty());
}

TEST(Environment, EveryVariableIsRead) {
  const std::string table = "MYCEL_ENV(kA, \"MYCEL_A\", kText,\nMYCEL_ENV(kB, \"MYCEL_B\", kText,\n";
  const Findings findings = CheckEnvironment(MakeTree(
      {{"core/base/env.def", table}, {"core/a.cc", "EnvText(Env::kA);\n"}, {"core/a_test.cc", "EnvText(Env::kB);\n"}}));
  ASSERT_THAT(findings, SizeIs(1));
  EXPECT_THAT(findings[0].text, HasSubstr("Env::kB"));
}

TEST(Unfinished, MarksAndSkippedTestsAreFound) {
  for (const char* text : {"// TO"
                           "DO: later\n",
                           "/* FIX"
                           "ME */\n",
                           "GTEST"
                           "_SKIP();\n",
                           "TEST(A, DISABLED"
                           "_B) {}\n"}) {
    EXPECT_THAT(CheckUnfinished(MakeTree({{"core/a.cc", text}})), SizeIs(1)) << text;
  }
  EXPECT_THAT(
      CheckUnfinished(MakeTree({{"core/a.cc", "int mastodon = 1;  // not a TODOLIST\nHWY_DISABLED_TARGETS(1)\n"}})),
      IsEmpty());
}

TEST(Names, AreConcepts) {
  for (const char* path : {"core/base/string_utils.h", "core/common/a.cc", "core/Misc.cc", "bench/perf/helpers.cc"}) {
    EXPECT_THAT(CheckNames(MakeTree({{path, ""}})), SizeIs(1)) << path;
  }
  EXPECT_THAT(CheckNames(MakeTree({{"core/base/commonly.h", ""}})), IsEmpty());
}

TEST(LineLength, CountsCharactersNotBytes) {
  std::string umlauts;
  for (int i = 0; i < 119; ++i) umlauts += "\xC3\xA4";
  EXPECT_THAT(CheckLineLength(MakeTree({{"core/a.cc", Long(120) + "//" + umlauts.substr(4) + "\n"}})), IsEmpty());
  EXPECT_THAT(CheckLineLength(MakeTree({{"core/a.cc", Long(121)}, {"cmake/a.cmake", Long(121)}})), SizeIs(2));
  EXPECT_THAT(CheckLineLength(MakeTree({{"README.md", Long(300)}})), IsEmpty());
}

TEST(Sizes, OfFunctionsAndFilesAreBounded) {
  EXPECT_THAT(CheckSizes(MakeTree({{"core/a.cc", FunctionOf(kFunctionLinesMax)}})), IsEmpty());
  const Findings function = CheckSizes(MakeTree({{"core/a.cc", FunctionOf(kFunctionLinesMax + 1)}}));
  ASSERT_THAT(function, SizeIs(1));
  EXPECT_THAT(function[0].text, HasSubstr("F has 101 lines"));
  EXPECT_THAT(CheckSizes(MakeTree({{"core/a.cc", std::string(kFileLinesMax + 1, '\n')}})), SizeIs(1));
}

TEST(PragmaOnce, StandsInEveryHeader) {
  EXPECT_THAT(CheckPragmaOnce(MakeTree({{"core/a.h", "// #pragma once\n"}, {"core/b.h", "#pragma once\n"}})),
              SizeIs(1));
}

TEST(Targets, OwnEveryFile) {
  const Tree tree = MakeTree({{"CMakeLists.txt", "add_subdirectory(core)\n"},
                              {"core/CMakeLists.txt", "foreach(part base)\n# lost\n"},
                              {"core/base/CMakeLists.txt", "mycel_library(b SRCS a.cc sub/d.cc)\n"},
                              {"core/base/a.cc", "#include \"core/base/a.h\"\n"},
                              {"core/base/a.h", "#include \"core/base/table.def\"\n"},
                              {"core/base/table.def", ""},
                              {"core/base/ba.cc", ""},
                              {"core/base/orphan.h", ""},
                              {"core/base/sub/d.cc", ""},
                              {"core/lost/CMakeLists.txt", "mycel_library(l SRCS l.cc)\n"},
                              {"core/lost/l.cc", ""}});
  std::vector<std::string> paths;
  for (const Finding& finding : CheckTargets(tree)) paths.push_back(finding.path);
  EXPECT_THAT(paths, testing::ElementsAre("core/base/ba.cc", "core/base/orphan.h", "core/lost/l.cc"));
}

TEST(Readmes, StandInEveryFolder) {
  const Tree tree =
      MakeTree({{"core/README.md", ""}, {"core/base/a.cc", ""}, {"core/topo/README.md", ""}, {"cmake/a.cmake", ""}});
  std::vector<std::string> paths;
  for (const Finding& finding : CheckReadmes(tree)) paths.push_back(finding.path);
  EXPECT_THAT(paths, testing::ElementsAre("core/base"));
}

TEST(Report, NamesTheLargest) {
  const std::string report = LargestReport(MakeTree({{"core/a.cc", FunctionOf(9)}, {"core/b.cc", FunctionOf(30)}}));
  EXPECT_THAT(report, HasSubstr("    30  F  core/b.cc:1"));
  EXPECT_LT(report.find("core/b.cc"), report.find("core/a.cc"));
}

TEST(CheckAll, RunsEveryRule) {
  const Findings findings =
      CheckAll(MakeTree({{"core/base/utils.h", "#include \"kernels/x.h\"\nint x = w.load();\n"}}));
  std::vector<std::string> rules;
  for (const Finding& finding : findings) rules.push_back(finding.rule);
  EXPECT_THAT(rules, testing::IsSupersetOf(
                         {"layer-law", "include-path", "atomic-order", "name", "pragma-once", "target", "readme"}));
  EXPECT_THAT(ToText(findings), HasSubstr("core/base/utils.h:2: [atomic-order] load()"));
}

}  // namespace
}  // namespace mycel::tidy
