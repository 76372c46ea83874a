// Names, sizes and places of files.
#include <algorithm>
#include <array>
#include <cctype>
#include <iomanip>
#include <map>
#include <set>
#include <sstream>
#include <string_view>

#include "tests/tidy/rules.h"

namespace mycel::tidy {
namespace {

constexpr std::array<std::string_view, 10> kBannedWords = {"util",    "utils",   "misc",     "common", "helper",
                                                           "helpers", "manager", "managers", "stuff",  "various"};
constexpr std::array<std::string_view, 7> kLayerFolders = {"core",     "transport", "kernels", "scheduler",
                                                           "bindings", "tests",     "bench"};

bool IsLayerFolder(std::string_view name) {
  return std::find(kLayerFolders.begin(), kLayerFolders.end(), name) != kLayerFolders.end();
}

/// Columns of a UTF-8 line: bytes that do not continue a character.
size_t Columns(std::string_view line) {
  return static_cast<size_t>(
      std::count_if(line.begin(), line.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U; }));
}

bool IsBuildFile(const SourceFile& file) {
  return file.path.ends_with(".cmake") || file.FileName() == "CMakeLists.txt" || file.path.ends_with(".sh") ||
         file.FileName() == "run";
}

/// The text of each CMakeLists.txt without comments, by folder.
std::map<std::string, std::string, std::less<>> CMakeTexts(const Tree& tree) {
  std::map<std::string, std::string, std::less<>> texts;
  for (const SourceFile& file : tree) {
    if (file.FileName() != "CMakeLists.txt") continue;
    std::string& text = texts[std::string(file.Folder())];
    for (const std::string& line : file.lines) text += line.substr(0, line.find('#')) + "\n";
  }
  return texts;
}

/// A file name as a whole word: "env.cc" does not occur in "no_env.cc" nor in "env.cc.in".
bool Names(std::string_view text, std::string_view name) {
  const auto part_of_name = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '.';
  };
  for (size_t at = text.find(name); at != std::string_view::npos; at = text.find(name, at + 1)) {
    const size_t end = at + name.size();
    if ((at == 0 || !part_of_name(text[at - 1])) && (end == text.size() || !part_of_name(text[end]))) return true;
  }
  return false;
}

/// Whether the file is named in its folder's CMakeLists.txt, or with the folder's name in one further up, and the
/// folder with that CMakeLists.txt is named by its parents in turn.
bool InCMake(const std::map<std::string, std::string, std::less<>>& texts, std::string_view folder, std::string name) {
  while (true) {
    const auto text = texts.find(folder);
    if (text != texts.end()) {
      if (!Names(text->second, name)) return false;
      if (folder.empty()) return true;
      name.clear();
    }
    if (folder.empty()) return false;
    const size_t slash = folder.rfind('/');
    const std::string_view last = folder.substr(slash == std::string_view::npos ? 0 : slash + 1);
    name = name.empty() ? std::string(last) : std::string(last) + "/" + name;
    folder = folder.substr(0, slash == std::string_view::npos ? 0 : slash);
  }
}

bool IsTranslationUnit(const SourceFile& file) {
  return file.path.ends_with(".cc") || file.path.ends_with(".c") || file.path.ends_with(".cu") ||
         file.path.ends_with(".hip");
}

}  // namespace

Findings CheckNames(const Tree& tree) {
  Findings findings;
  for (const SourceFile& file : tree) {
    std::string word;
    for (const char c : file.path + "/") {
      if (std::isalpha(static_cast<unsigned char>(c)) != 0) {
        word += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
        continue;
      }
      if (std::find(kBannedWords.begin(), kBannedWords.end(), word) != kBannedWords.end()) {
        findings.push_back({"name", file.path, 0, "\"" + word + "\" says nothing; name the concept"});
      }
      word.clear();
    }
  }
  return findings;
}

Findings CheckLineLength(const Tree& tree) {
  Findings findings;
  for (const SourceFile& file : tree) {
    if (!file.IsCode() && !IsBuildFile(file)) continue;
    for (size_t i = 0; i < file.lines.size(); ++i) {
      const size_t columns = Columns(file.lines[i]);
      if (columns <= kLineColumnsMax) continue;
      findings.push_back({"line-length", file.path, i + 1,
                          std::to_string(columns) + " columns, at most " + std::to_string(kLineColumnsMax)});
    }
  }
  return findings;
}

Findings CheckSizes(const Tree& tree) {
  Findings findings;
  for (const SourceFile& file : tree) {
    if (!file.IsCode()) continue;
    if (file.lines.size() > kFileLinesMax) {
      findings.push_back(
          {"size", file.path, 0, std::to_string(file.lines.size()) + " lines: which second noun lives here?"});
    }
    for (const Function& function : file.functions) {
      if (function.lines <= kFunctionLinesMax) continue;
      findings.push_back(
          {"size", file.path, function.line, function.name + " has " + std::to_string(function.lines) + " lines"});
    }
  }
  return findings;
}

Findings CheckPragmaOnce(const Tree& tree) {
  Findings findings;
  for (const SourceFile& file : tree) {
    // Highway's -inl.h files are meant to be included once per target and say so with its own guard.
    if (!file.IsHeader() || file.path.ends_with("-inl.h")) continue;
    const auto has = [&](std::string_view line) {
      return std::find(file.lines.begin(), file.lines.end(), line) != file.lines.end();
    };
    const bool c_header = has("extern \"C\" {") && has("#ifdef __cplusplus");
    if (c_header || has("#pragma once")) continue;  // C headers have guards
    findings.push_back({"pragma-once", file.path, 0, "has no #pragma once"});
  }
  return findings;
}

Findings CheckTargets(const Tree& tree) {
  const auto texts = CMakeTexts(tree);
  std::map<std::string_view, const SourceFile*> by_path;
  std::vector<const SourceFile*> reached;
  for (const SourceFile& file : tree) {
    by_path[file.path] = &file;
    if (IsTranslationUnit(file) && InCMake(texts, file.Folder(), std::string(file.FileName())))
      reached.push_back(&file);
  }
  // A header is used when something used includes it.
  std::set<const SourceFile*> used(reached.begin(), reached.end());
  while (!reached.empty()) {
    const SourceFile* file = reached.back();
    reached.pop_back();
    for (const Include& include : file->includes) {
      const auto found = by_path.find(include.path);
      if (found != by_path.end() && used.insert(found->second).second) reached.push_back(found->second);
    }
  }
  Findings findings;
  for (const SourceFile& file : tree) {
    const bool ours = file.IsCode() && !file.path.ends_with(".in") && IsLayerFolder(file.Part(0));
    if (!ours || used.count(&file) != 0) continue;
    if (InCMake(texts, file.Folder(), std::string(file.FileName()))) continue;
    findings.push_back({"target", file.path, 0,
                        IsTranslationUnit(file) ? "is in no CMake target" : "is included by nothing that is built"});
  }
  return findings;
}

Findings CheckReadmes(const Tree& tree) {
  std::set<std::string> folders;
  std::set<std::string, std::less<>> paths;
  for (const SourceFile& file : tree) {
    paths.insert(file.path);
    if (!IsLayerFolder(file.Part(0))) continue;
    folders.insert(std::string(file.Part(0)));
    if (!file.Part(2).empty()) folders.insert(std::string(file.Part(0)) + "/" + std::string(file.Part(1)));
  }
  Findings findings;
  for (const std::string& folder : folders) {
    if (paths.count(folder + "/README.md") == 0) findings.push_back({"readme", folder, 0, "has no README.md"});
  }
  return findings;
}

Findings CheckAll(const Tree& tree) {
  Findings all;
  for (const auto check :
       {CheckLayerLaw, CheckCoreOrder, CheckIncludePaths, CheckOwnHeaderFirst, CheckVendorHeaders, CheckWaiting,
        CheckAtomicOrders, CheckLocks, CheckAbseilNames, CheckEnvironment, CheckPrinting, CheckUnfinished, CheckNames,
        CheckLineLength, CheckDeviceTwins, CheckSizes, CheckPragmaOnce, CheckTargets, CheckReadmes}) {
    for (Finding& finding : check(tree)) all.push_back(std::move(finding));
  }
  return all;
}

std::string LargestReport(const Tree& tree) {
  struct Row {
    size_t lines;
    std::string name;
  };
  std::vector<Row> files;
  std::vector<Row> functions;
  for (const SourceFile& file : tree) {
    if (!file.IsCode()) continue;
    files.push_back({file.lines.size(), file.path});
    for (const Function& f : file.functions)
      functions.push_back({f.lines, f.name + "  " + file.path + ":" + std::to_string(f.line)});
  }
  std::ostringstream out;
  for (auto& [title, rows] : {std::pair("files", &files), std::pair("functions", &functions)}) {
    std::stable_sort(rows->begin(), rows->end(), [](const Row& a, const Row& b) { return a.lines > b.lines; });
    out << "largest " << title << " (of " << rows->size();
    if (!rows->empty())
      out << ", median " << (*rows)[rows->size() / 2].lines << ", p90 " << (*rows)[rows->size() / 10].lines;
    out << " lines)\n";
    for (size_t i = 0; i < std::min<size_t>(10, rows->size()); ++i) {
      out << std::setw(6) << (*rows)[i].lines << "  " << (*rows)[i].name << "\n";
    }
  }
  return out.str();
}

std::string ToText(const Findings& findings) {
  std::string text;
  for (const Finding& f : findings) {
    text += f.path + (f.line == 0 ? "" : ":" + std::to_string(f.line)) + ": [" + f.rule + "] " + f.text + "\n";
  }
  return text;
}

}  // namespace mycel::tidy
