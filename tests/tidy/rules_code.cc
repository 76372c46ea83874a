// Words that code may use only in certain places.
#include <algorithm>
#include <initializer_list>
#include <string_view>

#include "tests/tidy/rules.h"

namespace mycel::tidy {
namespace {

/// Words, why they are refused, and the path prefixes where they are at home.
struct WordRule {
  std::string_view rule;
  std::initializer_list<std::string_view> words;
  std::string_view why;
  std::initializer_list<std::string_view> home;
  bool tests_too;  // whether tests are held to it
};

const WordRule kWaiting = {
    "waiting",
    {"_mm_pause", "__builtin_ia32_pause", "sched_yield", "this_thread::yield", "this_thread::sleep_for",
     "this_thread::sleep_until", "usleep", "nanosleep", "clock_nanosleep", "SYS_futex"},
    "waits by itself; use Waiter of core/base/wait.h",
    {"core/base/wait.", "kernels/device/", "transport/chaos/", "bindings/cli/", "bench/"},
    false};

const WordRule kFences = {"atomic-order",
                          {"atomic_thread_fence", "__sync_synchronize", "atomic_signal_fence"},
                          "is a fence TSan does not see; put the order on the flag itself",
                          {"kernels/device/"},
                          true};

const WordRule kLocks = {
    "lock",
    {"std::mutex", "std::lock_guard", "std::unique_lock", "std::scoped_lock", "std::condition_variable"},
    "is beyond clang's analysis; use Mutex, MutexLock and Condition of core/base/mutex.h",
    {"core/base/mutex.h", "tests/tidy/"},
    false};

const WordRule kAbseil = {"abseil-name",
                          {"absl::"},
                          "comes in only through core/base/status.h (its string_view is not std's)",
                          {"core/base/status.h"},
                          true};

const WordRule kPrinting = {"printing",
                            {"printf", "fprintf", "puts", "std::cout", "std::cerr", "std::clog", "perror"},
                            "prints from a library; return a Status or use MYCEL_LOG",
                            {"core/base/check.cc", "bindings/", "bench/"},
                            false};

bool Begins(std::string_view path, std::initializer_list<std::string_view> prefixes) {
  return std::any_of(prefixes.begin(), prefixes.end(), [&](std::string_view p) { return path.starts_with(p); });
}

void FindWords(const SourceFile& file, const WordRule& rule, Findings& findings) {
  if (Begins(file.path, rule.home) || (file.IsTest() && !rule.tests_too)) return;
  for (size_t i = 0; i < file.code.size(); ++i) {
    for (const std::string_view word : rule.words) {
      if (FindWord(file.code[i], word) == std::string_view::npos) continue;
      findings.push_back({std::string(rule.rule), file.path, i + 1, std::string(word) + " " + std::string(rule.why)});
    }
  }
}

Findings FindWordsEverywhere(const Tree& tree, const WordRule& rule) {
  Findings findings;
  for (const SourceFile& file : tree) FindWords(file, rule, findings);
  return findings;
}

/// The parenthesised condition of a loop that starts at (line, at), across lines: "while (a\n && b)" -> "a && b".
std::string LoopCondition(const SourceFile& file, size_t line, size_t at) {
  std::string condition;
  int depth = 0;
  for (size_t last = std::min(line + 8, file.code.size()); line < last; ++line, at = 0) {
    for (size_t i = at; i < file.code[line].size(); ++i) {
      const char c = file.code[line][i];
      if (c == ')' && --depth == 0) return condition;
      if (depth > 0) condition += c;
      if (c == '(') ++depth;
    }
    condition += ' ';
  }
  return condition;
}

bool LoadsAnAtomic(std::string_view condition) {
  const bool load =
      condition.find(".load(") != std::string_view::npos || condition.find("->load(") != std::string_view::npos;
  const bool exchange = condition.find("compare_exchange") != std::string_view::npos;
  const bool flag = condition.find("test_and_set") != std::string_view::npos;
  return (load && !exchange) || flag;
}

/// Rows of env.def that nothing asks for: a variable that does nothing is a lie to its user.
Findings FindUnreadVariables(const Tree& tree) {
  constexpr std::string_view kRow = "MYCEL_ENV(";
  Findings findings;
  for (const SourceFile& table : tree) {
    if (table.path != "core/base/env.def") continue;
    for (size_t i = 0; i < table.lines.size(); ++i) {
      if (!table.lines[i].starts_with(kRow)) continue;
      const std::string name = table.lines[i].substr(kRow.size(), table.lines[i].find(',') - kRow.size());
      const auto reads = [&](const SourceFile& file) {
        return !file.IsTest() && std::any_of(file.code.begin(), file.code.end(), [&](const std::string& line) {
          return FindWord(line, "Env::" + name) != std::string_view::npos;
        });
      };
      if (std::any_of(tree.begin(), tree.end(), reads)) continue;
      findings.push_back({"environment", table.path, i + 1, "nothing reads Env::" + name});
    }
  }
  return findings;
}

}  // namespace

Findings CheckWaiting(const Tree& tree) {
  Findings findings = FindWordsEverywhere(tree, kWaiting);
  for (const SourceFile& file : tree) {
    if (file.IsTest() || Begins(file.path, {"core/base/wait.", "kernels/device/"})) continue;
    for (size_t i = 0; i < file.code.size(); ++i) {
      for (const std::string_view keyword : {"while", "for"}) {
        const size_t at = FindWord(file.code[i], keyword);
        if (at == std::string_view::npos || !LoadsAnAtomic(LoopCondition(file, i, at))) continue;
        findings.push_back({"waiting", file.path, i + 1, "loops on an atomic; use Waiter of core/base/wait.h"});
      }
    }
  }
  return findings;
}

Findings CheckAtomicOrders(const Tree& tree) {
  Findings findings = FindWordsEverywhere(tree, kFences);
  for (const SourceFile& file : tree) {
    if (file.IsTest()) continue;
    for (size_t i = 0; i < file.code.size(); ++i) {
      if (file.code[i].find(".load()") == std::string::npos && file.code[i].find("->load()") == std::string::npos)
        continue;
      findings.push_back({"atomic-order", file.path, i + 1, "load() without its memory order spelled"});
    }
  }
  return findings;
}

Findings CheckLocks(const Tree& tree) { return FindWordsEverywhere(tree, kLocks); }

Findings CheckAbseilNames(const Tree& tree) { return FindWordsEverywhere(tree, kAbseil); }

Findings CheckPrinting(const Tree& tree) { return FindWordsEverywhere(tree, kPrinting); }

Findings CheckEnvironment(const Tree& tree) {
  Findings findings = FindUnreadVariables(tree);
  for (const SourceFile& file : tree) {
    if (file.IsTest() || file.path == "core/base/env.cc") continue;
    for (size_t i = 0; i < file.code.size(); ++i) {
      if (FindWord(file.code[i], "getenv") == std::string_view::npos) continue;
      // The literal is blanked in code, so look at the line itself.
      if (file.lines[i].find("\"MYCEL_") == std::string::npos) continue;
      findings.push_back({"environment", file.path, i + 1, "reads a MYCEL_ variable; add a row to core/base/env.def"});
    }
  }
  return findings;
}

Findings CheckUnfinished(const Tree& tree) {
  Findings findings;
  for (const SourceFile& file : tree) {
    if (!file.IsCode() && !file.path.ends_with(".cmake") && file.FileName() != "CMakeLists.txt") continue;
    if (file.path.starts_with("tests/tidy/rules")) continue;  // names the words it looks for
    for (size_t i = 0; i < file.lines.size(); ++i) {
      for (const std::string_view word : {"TODO", "FIXME", "XXX", "HACK", "GTEST_SKIP"}) {
        if (FindWord(file.lines[i], word) == std::string_view::npos) continue;
        findings.push_back({"unfinished", file.path, i + 1, std::string(word) + ": finish it, or file an issue"});
      }
      if (file.code.size() > i && FindWord(file.code[i], "(") != std::string_view::npos &&
          file.code[i].find("TEST") != std::string::npos && file.code[i].find("DISABLED_") != std::string::npos) {
        findings.push_back({"unfinished", file.path, i + 1, "a disabled test tests nothing"});
      }
    }
  }
  return findings;
}

}  // namespace mycel::tidy
