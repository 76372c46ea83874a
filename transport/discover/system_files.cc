#include "transport/discover/system_files.h"

#include <algorithm>
#include <filesystem>
#include <set>
#include <sstream>

#include "core/base/system_text.h"

namespace mycel {
namespace {

namespace fs = std::filesystem;

bool IsNumber(const std::string& name) {
  return !name.empty() && std::all_of(name.begin(), name.end(), [](char c) { return c >= '0' && c <= '9'; });
}

/// "mlx5_2" before "mlx5_10", "2" before "10": a run of digits is as long as it is large, without leading zeros.
bool NameOrder(const std::string& a, const std::string& b) {
  if (IsNumber(a) && IsNumber(b) && a.size() != b.size()) return a.size() < b.size();
  return a < b;
}

std::vector<std::string> Sorted(std::vector<std::string> names) {
  std::sort(names.begin(), names.end(), NameOrder);
  return names;
}

}  // namespace

std::vector<std::string> RecordedFiles::List(const std::string& folder) const {
  std::set<std::string> names;
  const std::string prefix = folder + "/";
  const auto collect = [&](const std::map<std::string, std::string>& paths) {
    for (auto at = paths.lower_bound(prefix); at != paths.end() && at->first.starts_with(prefix); ++at) {
      const std::string rest = at->first.substr(prefix.size());
      names.insert(rest.substr(0, rest.find('/')));
    }
  };
  collect(lines);
  collect(real_paths);
  return Sorted({names.begin(), names.end()});
}

std::optional<std::string> RecordedFiles::Line(const std::string& file) const {
  const auto at = lines.find(file);
  if (at == lines.end()) return std::nullopt;
  return at->second;
}

std::string RecordedFiles::RealPath(const std::string& path) const {
  const auto at = real_paths.find(path);
  return at == real_paths.end() ? std::string() : at->second;
}

std::vector<std::string> FolderFiles::List(const std::string& folder) const {
  std::vector<std::string> names;
  std::error_code missing;
  for (const fs::directory_entry& entry : fs::directory_iterator(fs::path(root_) / folder, missing))
    names.push_back(entry.path().filename());
  return Sorted(std::move(names));
}

std::optional<std::string> FolderFiles::Line(const std::string& file) const {
  std::istringstream in(SystemText(fs::path(root_) / file));
  std::string line;
  if (!std::getline(in, line)) return std::nullopt;
  line.erase(line.find_last_not_of(" \t\r") + 1);
  if (recording_ != nullptr) recording_->lines[file] = line;
  return line;
}

std::string FolderFiles::RealPath(const std::string& path) const {
  std::error_code missing;
  const fs::path real = fs::canonical(fs::path(root_) / path, missing);
  if (missing) return {};
  std::string text = real.lexically_relative(fs::canonical(root_, missing));
  if (recording_ != nullptr) recording_->real_paths[path] = text;
  return text;
}

}  // namespace mycel
