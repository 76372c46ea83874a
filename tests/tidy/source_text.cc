#include "tests/tidy/source_text.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "tests/tidy/blank.h"
#include "tests/tidy/functions.h"

namespace mycel::tidy {
namespace {

constexpr std::array<std::string_view, 8> kCodeEndings = {".h", ".cc", ".c", ".def", ".cu", ".hip", ".cuh", ".in"};

std::vector<std::string> SplitLines(std::string_view text) {
  std::vector<std::string> lines;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    lines.emplace_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

std::vector<Include> FindIncludes(const std::vector<std::string>& lines) {
  std::vector<Include> includes;
  for (size_t i = 0; i < lines.size(); ++i) {
    std::string_view line = lines[i];
    const auto skip = [&line](std::string_view prefix) {
      line.remove_prefix(std::min(line.find_first_not_of(" \t"), line.size()));
      if (!line.starts_with(prefix)) return false;
      line.remove_prefix(prefix.size());
      return true;
    };
    if (!skip("#") || !skip("include") || !skip("") || line.empty()) continue;
    const char open = line.front();
    if (open != '"' && open != '<') continue;
    const size_t close = line.find(open == '"' ? '"' : '>', 1);
    if (close == std::string_view::npos) continue;
    includes.push_back({std::string(line.substr(1, close - 1)), open == '"', i + 1});
  }
  return includes;
}

bool IsIdentifierCharacter(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

}  // namespace

bool SourceFile::IsCode() const {
  return std::any_of(kCodeEndings.begin(), kCodeEndings.end(),
                     [this](std::string_view ending) { return path.ends_with(ending); });
}

bool SourceFile::IsTest() const {
  return path.starts_with("tests/") || path.ends_with("_test.cc") || path.ends_with("_test.c") ||
         path.ends_with("_fuzz.cc") || path.ends_with("_testing.h");
}

std::string_view SourceFile::Folder() const {
  const size_t slash = path.rfind('/');
  return std::string_view(path).substr(0, slash == std::string::npos ? 0 : slash);
}

std::string_view SourceFile::FileName() const {
  const size_t slash = path.rfind('/');
  return std::string_view(path).substr(slash == std::string::npos ? 0 : slash + 1);
}

std::string_view SourceFile::Part(size_t n) const {
  std::string_view rest = path;
  for (; n > 0; --n) {
    const size_t slash = rest.find('/');
    if (slash == std::string_view::npos) return {};
    rest.remove_prefix(slash + 1);
  }
  return rest.substr(0, rest.find('/'));
}

SourceFile ReadSource(std::string path, std::string_view text) {
  SourceFile file;
  file.path = std::move(path);
  file.lines = SplitLines(text);
  if (file.IsCode()) {
    file.code = SplitLines(BlankComments(text));
    file.includes = FindIncludes(file.lines);
    file.functions = FindFunctions(file.code);
  }
  return file;
}

Tree ReadTree(const std::string& root) {
  namespace fs = std::filesystem;
  Tree files;
  const auto add = [&](const fs::path& path) {
    std::ifstream in(path, std::ios::binary);
    const std::string text((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
    files.push_back(ReadSource(fs::relative(path, root).generic_string(), text));
  };
  for (const fs::directory_entry& top : fs::directory_iterator(root)) {
    const std::string name = top.path().filename().string();
    const bool hidden_folder = top.is_directory() && (name.starts_with(".") || name.starts_with("build"));
    if (hidden_folder || name == ".git") continue;
    if (top.is_regular_file()) {
      add(top.path());
    } else if (top.is_directory()) {
      for (const fs::directory_entry& entry : fs::recursive_directory_iterator(top.path())) {
        if (entry.is_regular_file()) add(entry.path());
      }
    }
  }
  std::sort(files.begin(), files.end(), [](const SourceFile& a, const SourceFile& b) { return a.path < b.path; });
  return files;
}

size_t FindWord(std::string_view text, std::string_view word, size_t from) {
  for (size_t at = text.find(word, from); at != std::string_view::npos; at = text.find(word, at + 1)) {
    const size_t end = at + word.size();
    const bool starts = at == 0 || !IsIdentifierCharacter(word.front()) || !IsIdentifierCharacter(text[at - 1]);
    const bool ends = end == text.size() || !IsIdentifierCharacter(word.back()) || !IsIdentifierCharacter(text[end]);
    if (starts && ends) return at;
  }
  return std::string_view::npos;
}

}  // namespace mycel::tidy
