// Runs clang-tidy over the product's sources and remembers what was clean: a file is looked at again only when it, a
// header of ours that it includes, .clang-tidy or clang-tidy itself has changed. Usage:
//   mycel_lint CLANG_TIDY ROOT BUILD     (BUILD has compile_commands.json)
// Clean results lie in $XDG_CACHE_HOME/mycel-lint, else $HOME/.cache/mycel-lint, else BUILD/lint. Exit 1 on findings.
#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "tests/tidy/source_text.h"

namespace mycel::tidy {
namespace {

namespace fs = std::filesystem;

using Files = std::map<std::string, const SourceFile*, std::less<>>;

std::string ReadFile(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  return std::string((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
}

/// FNV-1a, 64 bits: a cache key, not a signature.
class Hash {
 public:
  void Add(std::string_view text) {
    for (const char c : text) value_ = (value_ ^ static_cast<unsigned char>(c)) * 0x100000001b3U;
    value_ = (value_ ^ 0xffU) * 0x100000001b3U;  // ends the text: "a","b" is not "ab",""
  }
  std::string Text() const {
    std::string text(16, '0');
    for (size_t i = 0; i < 16; ++i) text[i] = "0123456789abcdef"[(value_ >> (60 - 4 * i)) & 15U];
    return text;
  }

 private:
  uint64_t value_ = 0xcbf29ce484222325U;
};

/// The file and all files of the tree that it includes, directly or not.
std::set<const SourceFile*> Closure(const Files& files, const SourceFile& file) {
  std::set<const SourceFile*> seen = {&file};
  std::vector<const SourceFile*> open = {&file};
  while (!open.empty()) {
    const SourceFile* next = open.back();
    open.pop_back();
    for (const Include& include : next->includes) {
      const auto found = files.find(include.path);
      if (found != files.end() && seen.insert(found->second).second) open.push_back(found->second);
    }
  }
  return seen;
}

/// What `command` prints, and its exit status.
std::pair<std::string, int> Run(const std::string& command) {
  std::string output;
  FILE* pipe = popen(command.c_str(), "r");
  if (pipe == nullptr) return {"cannot start: " + command, 1};
  char buffer[4096];
  while (const size_t got = std::fread(buffer, 1, sizeof(buffer), pipe)) output.append(buffer, got);
  return {output, pclose(pipe)};
}

fs::path CacheFolder(const std::string& build) {
  if (const char* cache = std::getenv("XDG_CACHE_HOME"); cache != nullptr && *cache != '\0') {
    return fs::path(cache) / "mycel-lint";
  }
  if (const char* home = std::getenv("HOME"); home != nullptr && *home != '\0') {
    return fs::path(home) / ".cache/mycel-lint";
  }
  return fs::path(build) / "lint";
}

struct Job {
  std::string path;
  fs::path stamp;  // exists when the file was found clean
};

std::vector<Job> JobsOf(const Tree& tree, const std::string& tool, const std::string& root, const std::string& build) {
  const std::string commands = ReadFile(fs::path(build) / "compile_commands.json");
  const std::string configuration = ReadFile(fs::path(root) / ".clang-tidy") + Run(tool + " --version").first;
  Files files;
  for (const SourceFile& file : tree) files[file.path] = &file;
  std::vector<Job> jobs;
  for (const SourceFile& file : tree) {
    if (file.IsTest() || commands.find("\"" + root + "/" + file.path + "\"") == std::string::npos) continue;
    Hash hash;
    hash.Add(configuration);
    std::set<std::string> paths;  // by name: pointers have no order that stays
    for (const SourceFile* part : Closure(files, file)) paths.insert(part->path);
    for (const std::string& path : paths) {
      hash.Add(path);
      for (const std::string& line : files.find(path)->second->lines) hash.Add(line);
    }
    jobs.push_back({file.path, CacheFolder(build) / hash.Text()});
  }
  return jobs;
}

int Main(const std::string& tool, const std::string& root, const std::string& build) {
  const Tree tree = ReadTree(root);
  std::vector<Job> jobs = JobsOf(tree, tool, root, build);
  if (jobs.empty()) {
    std::cerr << "no source of " << root << " is in " << build << "/compile_commands.json\n";
    return 1;
  }
  const size_t all = jobs.size();
  std::erase_if(jobs, [](const Job& job) { return fs::exists(job.stamp); });
  std::cout << all << " sources, " << all - jobs.size() << " known to be clean" << std::endl;
  if (!jobs.empty()) fs::create_directories(jobs.front().stamp.parent_path());

  std::atomic<size_t> next{0};
  std::atomic<int> bad{0};
  std::mutex printing;
  const auto work = [&] {
    // relaxed: a ticket counter; join publishes the results.
    for (size_t i = next.fetch_add(1, std::memory_order_relaxed); i < jobs.size();
         i = next.fetch_add(1, std::memory_order_relaxed)) {
      const auto [output, status] = Run(tool + " --quiet -p '" + build + "' --extra-arg=-Wno-unknown-warning-option '" +
                                        root + "/" + jobs[i].path + "' 2>/dev/null");
      if (status == 0) {
        std::ofstream(jobs[i].stamp) << jobs[i].path << "\n";
        continue;
      }
      bad.fetch_add(1, std::memory_order_relaxed);  // relaxed: read after join
      const std::lock_guard<std::mutex> lock(printing);
      std::cout << output << std::flush;
    }
  };
  std::vector<std::thread> workers;
  for (size_t i = 0; i < std::max(1U, std::thread::hardware_concurrency()); ++i) workers.emplace_back(work);
  for (std::thread& worker : workers) worker.join();
  std::cout << bad.load(std::memory_order_relaxed) << " of " << jobs.size() << " sources have findings\n";
  return bad.load(std::memory_order_relaxed) == 0 ? 0 : 1;
}

}  // namespace
}  // namespace mycel::tidy

int main(int argc, char** argv) {
  if (argc != 4) {
    std::cerr << "usage: mycel_lint CLANG_TIDY ROOT BUILD\n";
    return 2;
  }
  return mycel::tidy::Main(argv[1], argv[2], argv[3]);
}
