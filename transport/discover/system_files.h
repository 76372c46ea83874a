// The part of /sys that discovery reads, as a small interface: the running system, or a recording of another machine.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace mycel {

/// Paths are relative to /sys and have no leading slash: "class/net/eth0/speed". One thread at a time.
class SystemFiles {
 public:
  virtual ~SystemFiles() = default;
  /// Names in a folder, sorted; numbers by value ("2" before "10"). Empty where there is none.
  virtual std::vector<std::string> List(const std::string& folder) const = 0;
  /// First line of a file without trailing blanks; nullopt where it is missing or the kernel refuses to say (EINVAL).
  virtual std::optional<std::string> Line(const std::string& file) const = 0;
  /// Where a path ends when every link in it is followed; empty where it does not exist.
  virtual std::string RealPath(const std::string& path) const = 0;
};

/// What was read of a system's files, enough to describe it again elsewhere.
struct RecordedFiles final : SystemFiles {
  std::map<std::string, std::string> lines;       // file -> first line
  std::map<std::string, std::string> real_paths;  // link -> path

  std::vector<std::string> List(const std::string& folder) const override;
  std::optional<std::string> Line(const std::string& file) const override;
  std::string RealPath(const std::string& path) const override;
};

/// The files below `root`. What is read is also written into `recording` unless that is null.
class FolderFiles final : public SystemFiles {
 public:
  explicit FolderFiles(std::string root = "/sys", RecordedFiles* recording = nullptr)
      : root_(std::move(root)), recording_(recording) {}

  std::vector<std::string> List(const std::string& folder) const override;
  std::optional<std::string> Line(const std::string& file) const override;
  std::string RealPath(const std::string& path) const override;

 private:
  std::string root_;
  RecordedFiles* recording_;
};

}  // namespace mycel
