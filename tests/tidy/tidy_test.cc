// Holds this tree to the house rules; see rules.h. A finding names file, line and rule.
#include <gtest/gtest.h>

#include <iostream>
#include <ostream>

#include "tests/tidy/rules.h"

namespace mycel::tidy {
namespace {

/// The tree is read once.
const Tree& TheTree() {
  static const Tree tree = ReadTree(MYCEL_SOURCE_DIR);
  return tree;
}

struct Rule {
  const char* name;
  Findings (*check)(const Tree&);
};

void PrintTo(const Rule& rule, std::ostream* out) { *out << rule.name; }

class TheTreeKeeps : public testing::TestWithParam<Rule> {};

TEST_P(TheTreeKeeps, TheRule) {
  const Findings findings = GetParam().check(TheTree());
  EXPECT_TRUE(findings.empty()) << ToText(findings);
}

INSTANTIATE_TEST_SUITE_P(House, TheTreeKeeps,
                         testing::Values(Rule{"LayerLaw", CheckLayerLaw}, Rule{"CoreOrder", CheckCoreOrder},
                                         Rule{"DeviceTwins", CheckDeviceTwins}, Rule{"IncludePaths", CheckIncludePaths},
                                         Rule{"OwnHeaderFirst", CheckOwnHeaderFirst},
                                         Rule{"VendorHeaders", CheckVendorHeaders}, Rule{"Waiting", CheckWaiting},
                                         Rule{"AtomicOrders", CheckAtomicOrders}, Rule{"AbseilNames", CheckAbseilNames},
                                         Rule{"Locks", CheckLocks}, Rule{"Environment", CheckEnvironment},
                                         Rule{"Printing", CheckPrinting}, Rule{"Unfinished", CheckUnfinished},
                                         Rule{"Names", CheckNames}, Rule{"LineLength", CheckLineLength},
                                         Rule{"Sizes", CheckSizes}, Rule{"PragmaOnce", CheckPragmaOnce},
                                         Rule{"Targets", CheckTargets}, Rule{"Readmes", CheckReadmes}),
                         [](const auto& param) { return param.param.name; });

TEST(TheTree, IsReadWhole) {
  // A reader that finds nothing would keep every rule.
  EXPECT_GT(TheTree().size(), 60U);
  size_t includes = 0;
  size_t functions = 0;
  for (const SourceFile& file : TheTree()) {
    includes += file.includes.size();
    functions += file.functions.size();
  }
  EXPECT_GT(includes, 200U);
  EXPECT_GT(functions, 200U);
  std::cout << LargestReport(TheTree());
}

}  // namespace
}  // namespace mycel::tidy
