// The house rules that a reading of the tree can check. Each is one function: files in, findings out; CheckAll lists
// them. What a rule allows where is a table at the top of its file.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "tests/tidy/source_text.h"

namespace mycel::tidy {

struct Finding {
  std::string rule;
  std::string path;
  size_t line = 0;  // from 1; 0: the file or folder as a whole
  std::string text;
};

using Findings = std::vector<Finding>;

inline constexpr size_t kLineColumnsMax = 120;
inline constexpr size_t kFunctionLinesMax = 100;  // 70 is the guide; past 100 it fails
inline constexpr size_t kFileLinesMax = 800;      // 400 is the guide; past 600 ask which second noun it holds

// rules_include.cc
Findings CheckLayerLaw(const Tree& tree);      // core <- {scheduler, transport, kernels} <- bindings <- {tests, bench}
Findings CheckCoreOrder(const Tree& tree);     // base <- topo <- plan <- spi <- runtime
Findings CheckIncludePaths(const Tree& tree);  // from the repository root, no ".."
Findings CheckOwnHeaderFirst(
    const Tree& tree);                          // x.cc's first include is x.h: its compile proves that x.h stands alone
Findings CheckVendorHeaders(const Tree& tree);  // each third-party header only in its folders

// rules_twins.cc
Findings CheckDeviceTwins(const Tree& tree);  // kernels/device/{host,cuda,hip}.h: the same names in the same order

// rules_code.cc
Findings CheckWaiting(const Tree& tree);       // core/base/wait.h is the one place that waits
Findings CheckAtomicOrders(const Tree& tree);  // memory orders are spelled out; no stand-alone fences
Findings CheckLocks(const Tree& tree);         // std::mutex only behind core/base/mutex.h, which clang checks
Findings CheckAbseilNames(const Tree& tree);   // absl:: only behind core/base/status.h
Findings CheckEnvironment(const Tree& tree);   // MYCEL_ variables are read through core/base/env.h, and each is read
Findings CheckPrinting(const Tree& tree);      // libraries do not print
Findings CheckUnfinished(const Tree& tree);    // no to-do marks, no skipped or disabled tests

// rules_layout.cc
Findings CheckNames(const Tree& tree);  // no utils, misc, common, helpers, manager
Findings CheckLineLength(const Tree& tree);
Findings CheckSizes(const Tree& tree);  // functions and files
Findings CheckPragmaOnce(const Tree& tree);
Findings CheckTargets(const Tree& tree);  // every source file is in a CMake target
Findings CheckReadmes(const Tree& tree);  // every top-level and second-level folder explains itself

Findings CheckAll(const Tree& tree);

/// The ten largest files and the ten largest functions, as a table.
std::string LargestReport(const Tree& tree);

/// "path:line: [rule] text", one a line.
std::string ToText(const Findings& findings);

}  // namespace mycel::tidy
