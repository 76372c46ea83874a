// Runs clang-tidy over the product's sources and remembers what was clean: a file is looked at again only when it, a
// header of ours that it includes, .clang-tidy or clang-tidy itself has changed. Usage:
//   mycel_lint CLANG_TIDY ROOT BUILD     (BUILD has compile_commands.json)
// Most of clang-tidy's time goes into the system's headers, once per run. Sources with the same flags that declare no
// name twice are therefore looked at together, as one source that includes them. Where such a bundle has findings or
// does not compile, its halves are looked at, down to the single source, whose findings are printed.
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
#include <nlohmann/json.hpp>
#include <regex>
#include <set>
#include <span>
#include <string>
#include <thread>
#include <utility>
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
  fs::path stamp;               // exists when the file was found clean
  nlohmann::json command;       // its entry in compile_commands.json
  std::string flags;            // that entry's command without the names of source and object
  std::set<std::string> names;  // what it declares; empty: it must stay alone
};

using Bundle = std::vector<const Job*>;

inline constexpr size_t kBundleSources = 8;

/// What the file declares outside functions and classes: what can clash when two files are one source. Empty when the
/// file defines macros or is C.
std::set<std::string> DeclaredNames(const SourceFile& file) {
  static const std::regex kMacro(R"(\s*#\s*(define|undef)\b.*)");
  static const std::regex kDeclared(R"(^(?:struct|class|enum|enum class|using) (\w+)|^[^(]*\b(k[A-Z]\w*)\b)");
  if (!file.path.ends_with(".cc")) return {};
  std::set<std::string> names = {file.path};
  for (const Function& function : file.functions) names.insert(function.name);
  for (const std::string& line : file.lines) {
    if (std::regex_match(line, kMacro)) return {};
  }
  for (const std::string& line : file.code) {
    std::smatch match;
    if (line.empty() || line.front() == ' ' || !std::regex_search(line, match, kDeclared)) continue;
    names.insert(match[1].matched ? match[1].str() : match[2].str());
  }
  return names;
}

std::vector<Job> JobsOf(const Tree& tree, const std::string& tool, const std::string& root, const std::string& build) {
  std::map<std::string, nlohmann::json> commands;
  for (nlohmann::json& entry : nlohmann::json::parse(ReadFile(fs::path(build) / "compile_commands.json"))) {
    const auto source = entry.at("file").get<std::string>();
    commands[source] = std::move(entry);
  }
  const std::string configuration = ReadFile(fs::path(root) / ".clang-tidy") + Run(tool + " --version").first;
  Files files;
  for (const SourceFile& file : tree) files[file.path] = &file;
  std::vector<Job> jobs;
  for (const SourceFile& file : tree) {
    const auto command = commands.find(root + "/" + file.path);
    if (file.IsTest() || command == commands.end()) continue;
    Hash hash;
    hash.Add(configuration);
    std::set<std::string> paths;  // by name: pointers have no order that stays
    for (const SourceFile* part : Closure(files, file)) paths.insert(part->path);
    for (const std::string& path : paths) {
      hash.Add(path);
      for (const std::string& line : files.find(path)->second->lines) hash.Add(line);
    }
    const auto text = command->second.at("command").get<std::string>();
    jobs.push_back({file.path, CacheFolder(build) / hash.Text(), command->second, text.substr(0, text.rfind(" -o ")),
                    DeclaredNames(file)});
  }
  return jobs;
}

/// First fit, in the order of the tree, so that neighbours come together.
std::vector<Bundle> Bundles(const std::vector<Job>& jobs) {
  struct Open {
    Bundle bundle;
    std::set<std::string> names;
  };
  std::vector<Open> all;
  for (const Job& job : jobs) {
    const auto fits = [&](const Open& open) {
      return !job.names.empty() && !open.names.empty() && open.bundle.size() < kBundleSources &&
             open.bundle.front()->flags == job.flags &&
             std::none_of(job.names.begin(), job.names.end(),
                          [&](const std::string& name) { return open.names.count(name) != 0; });
    };
    auto open = std::find_if(all.begin(), all.end(), fits);
    if (open == all.end()) open = all.insert(all.end(), Open{});
    open->bundle.push_back(&job);
    open->names.insert(job.names.begin(), job.names.end());
  }
  std::vector<Bundle> bundles;
  for (Open& open : all) bundles.push_back(std::move(open.bundle));
  // The large ones first: the last to end is then a small one.
  std::stable_sort(bundles.begin(), bundles.end(),
                   [](const Bundle& a, const Bundle& b) { return a.size() > b.size(); });
  return bundles;
}

/// The workers' shared state.
struct Work {
  std::string tool;
  std::string root;
  fs::path scratch;  // of bundles: one folder each
  std::atomic<size_t> next{0};
  std::atomic<size_t> bundle{0};
  std::atomic<size_t> bad{0};
  std::mutex printing;
};

/// clang-tidy over `jobs` as one source.
std::pair<std::string, int> LintTogether(Work& work, std::span<const Job* const> jobs) {
  // relaxed: only its uniqueness matters.
  const fs::path folder = work.scratch / std::to_string(work.bundle.fetch_add(1, std::memory_order_relaxed));
  fs::create_directories(folder);
  std::string source = work.root + "/" + jobs.front()->path;
  nlohmann::json entry = jobs.front()->command;
  if (jobs.size() > 1) {
    source = (folder / "bundle.cc").string();
    std::ofstream bundle(source);
    for (const Job* job : jobs) bundle << "#include \"" << work.root << "/" << job->path << "\"\n";
    fs::copy_file(fs::path(work.root) / ".clang-tidy", folder / ".clang-tidy", fs::copy_options::overwrite_existing);
    entry["file"] = source;
    entry["command"] = jobs.front()->flags + " -c " + source;
  }
  std::ofstream(folder / "compile_commands.json") << nlohmann::json::array({entry});
  return Run(work.tool + " --quiet -p '" + folder.string() + "' --extra-arg=-Wno-unknown-warning-option '" + source +
             "' 2>/dev/null");
}

void Lint(Work& work, std::span<const Job* const> jobs) {
  const auto [output, status] = LintTogether(work, jobs);
  if (status == 0) {
    for (const Job* job : jobs) std::ofstream(job->stamp) << job->path << "\n";
  } else if (jobs.size() > 1) {
    Lint(work, jobs.first(jobs.size() / 2));
    Lint(work, jobs.subspan(jobs.size() / 2));
  } else {
    work.bad.fetch_add(1, std::memory_order_relaxed);  // relaxed: read after join
    const std::lock_guard<std::mutex> lock(work.printing);
    std::cout << output << std::flush;
  }
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
  const std::vector<Bundle> bundles = Bundles(jobs);
  std::cout << all << " sources, " << all - jobs.size() << " known to be clean, the others in " << bundles.size()
            << " bundles" << std::endl;
  if (!jobs.empty()) fs::create_directories(jobs.front().stamp.parent_path());

  Work work;
  work.tool = tool;
  work.root = root;
  work.scratch = fs::path(build) / "lint-bundles";
  fs::remove_all(work.scratch);
  const auto run = [&] {
    // relaxed: a ticket counter; join publishes the results.
    for (size_t i = work.next.fetch_add(1, std::memory_order_relaxed); i < bundles.size();
         i = work.next.fetch_add(1, std::memory_order_relaxed)) {
      Lint(work, bundles[i]);
    }
  };
  std::vector<std::thread> workers;
  for (size_t i = 0; i < std::max(1U, std::thread::hardware_concurrency()); ++i) workers.emplace_back(run);
  for (std::thread& worker : workers) worker.join();
  const size_t bad = work.bad.load(std::memory_order_relaxed);
  std::cout << bad << " of " << jobs.size() << " sources have findings; clang-tidy ran "
            << work.bundle.load(std::memory_order_relaxed) << " times\n";
  return bad == 0 ? 0 : 1;
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
