// -J: the run as JSON, in nccl-tests' schema (version 3) plus what is ours.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "bench/perf/report.h"

namespace mycel::perf {

/// Writes one file. The name is taken at once, so that a long run never finds it gone at the end: `path`, or
/// `path`.0, `path`.1, ... if it exists.
class JsonFile {
 public:
  /// SystemError names the path and the reason.
  static StatusOr<JsonFile> Create(const std::string& path);
  JsonFile(JsonFile&&) noexcept;
  JsonFile& operator=(JsonFile&&) noexcept;
  ~JsonFile();

  const std::string& path() const { return path_; }

  void Start(int argc, const char* const* argv);
  void Config(const Options& options, const std::string& job, const std::vector<DeviceLine>& devices);
  void AddRoofline(const Roofline& roofline);
  void AddRow(const Collective& collective, const Options& options, const Row& row);
  void AddLatency(const Collective& collective, const LatencyRow& row);
  /// `errors`: what went wrong, if anything. Writes everything.
  Status Finish(const Totals& totals, const std::vector<std::string>& errors);

 private:
  struct Document;
  JsonFile();

  std::string path_;
  int fd_ = -1;
  std::unique_ptr<Document> document_;
};

}  // namespace mycel::perf
