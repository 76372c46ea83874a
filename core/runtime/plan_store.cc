#include "core/runtime/plan_store.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/build_info.h"
#include "core/base/code_id.h"
#include "core/base/env.h"
#include "core/base/hex.h"
#include "core/base/log.h"
#include "core/base/text_hash.h"
#include "core/plan/plan_json.h"
#include "core/plan/verify.h"
#include "core/topo/topology_json.h"

namespace mycel {
namespace {

constexpr std::string_view kMagic = "mycel-plan-store 1 ";
constexpr std::string_view kSuffix = ".plan";
constexpr std::string_view kDraft = ".draft-";  // in the names of files that are being written
constexpr int64_t kDraftSecondsMax = 3600;      // older drafts were left by processes that died
constexpr int64_t kFileBytesMax = int64_t{64} << 20;

std::string ErrorText() { return std::strerror(errno); }

/// A descriptor that closes itself.
class Descriptor {
 public:
  explicit Descriptor(int value) : value_(value) {}
  ~Descriptor() { Close(); }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  bool ok() const { return value_ >= 0; }
  int get() const { return value_; }
  /// False when what was written did not reach the disk's books.
  bool Close() {
    const int value = std::exchange(value_, -1);
    return value < 0 || close(value) == 0;
  }

 private:
  int value_;
};

/// `folder` with all above it; those that are missing are made for this user alone.
bool MakeFolder(const std::string& folder) {
  for (size_t at = folder.find('/', 1);; at = folder.find('/', at + 1)) {
    const std::string part = folder.substr(0, at);
    if (mkdir(part.c_str(), 0700) != 0 && errno != EEXIST && at == std::string::npos) return false;
    if (at == std::string::npos) return true;
  }
}

bool WriteAll(int descriptor, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = write(descriptor, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return false;
    text.remove_prefix(static_cast<size_t>(written));
  }
  return true;
}

/// The whole file; nothing, with the reason, when it is not a plain file of this user.
std::optional<std::string> ReadAll(int descriptor, std::string* why) {
  struct stat facts {};
  if (fstat(descriptor, &facts) != 0) {
    *why = ErrorText();
  } else if (!S_ISREG(facts.st_mode)) {
    *why = "it is no plain file";
  } else if (facts.st_uid != geteuid()) {
    *why = "it belongs to another user";
  } else if (facts.st_size > kFileBytesMax) {
    *why = "it is larger than any that is kept";
  }
  if (!why->empty()) return std::nullopt;
  std::string text(static_cast<size_t>(facts.st_size), '\0');
  size_t done = 0;
  while (done < text.size()) {
    const ssize_t got = read(descriptor, text.data() + done, text.size() - done);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) break;
    done += static_cast<size_t>(got);
  }
  text.resize(done);
  return text;
}

std::string FileText(const std::string& key, const std::string& plan) {
  const std::string body = key + plan;
  return std::string(kMagic) + Hex(HashOfText(body)) + " " + std::to_string(key.size()) + " " +
         std::to_string(plan.size()) + "\n" + body;
}

/// The plan's text in a file's `text`; nothing, with the reason, when the file is damaged or of another key.
std::optional<std::string_view> PlanTextIn(std::string_view text, const std::string& key, std::string* why) {
  const size_t line = text.find('\n');
  if (!text.starts_with(kMagic) || line == std::string_view::npos) {
    *why = "it is no file of this plan store";
    return std::nullopt;
  }
  const std::string_view body = text.substr(line + 1);
  const std::string_view plan = body.substr(std::min(key.size(), body.size()));
  const std::string expected = std::string(kMagic) + Hex(HashOfText(body)) + " " + std::to_string(key.size()) + " " +
                               std::to_string(plan.size());
  if (!body.starts_with(key)) {
    *why = "it is damaged or holds the plan of another request";
  } else if (text.substr(0, line) != expected) {
    *why = "it is damaged: the checksum does not fit";
  } else {
    return plan;
  }
  return std::nullopt;
}

/// OK when `plan` is what `request` on `topology` asks for, and right.
Status CheckServes(const Plan& plan, const Topology& topology, const PlanRequest& request) {
  if (plan.collective != request.collective) return InvalidArgument("its plan is for another collective");
  if (plan.rank_count != topology.rank_count()) return InvalidArgument("its plan is for another number of ranks");
  if (plan.root != (InfoOf(request.collective).rooted ? request.root : Rank())) {
    return InvalidArgument("its plan has another root");
  }
  if (plan.topology_hash != topology.hash()) return InvalidArgument("its plan is for another topology");
  MYCEL_RETURN_IF_ERROR(Verify(plan));
  return request.reproducible ? CheckRankOrder(plan) : OkStatus();
}

struct KeptFile {
  std::string path;
  int64_t bytes = 0;
  int64_t used_ns = 0;
};

/// The store's files, and the drafts that processes which died have left.
std::vector<KeptFile> FilesIn(const std::string& folder, std::vector<std::string>* left_drafts) {
  std::vector<KeptFile> files;
  DIR* list = opendir(folder.c_str());
  if (list == nullptr) return files;
  const int64_t now = time(nullptr);
  while (const dirent* entry = readdir(list)) {
    const std::string_view name = entry->d_name;
    const bool draft = name.starts_with(kDraft);
    if (!draft && !name.ends_with(kSuffix)) continue;
    KeptFile file;
    file.path = folder + "/" + entry->d_name;
    struct stat facts {};
    if (lstat(file.path.c_str(), &facts) != 0 || !S_ISREG(facts.st_mode)) continue;
    if (draft) {
      if (now - facts.st_mtim.tv_sec > kDraftSecondsMax) left_drafts->push_back(file.path);
      continue;
    }
    file.bytes = facts.st_size;
    file.used_ns = facts.st_mtim.tv_sec * 1'000'000'000 + facts.st_mtim.tv_nsec;
    files.push_back(std::move(file));
  }
  closedir(list);
  return files;
}

/// Removes what was not used for longest until the rest is within `bytes_max`.
void Evict(const std::string& folder, int64_t bytes_max) {
  std::vector<std::string> left_drafts;
  std::vector<KeptFile> files = FilesIn(folder, &left_drafts);
  for (const std::string& draft : left_drafts) unlink(draft.c_str());
  int64_t total = 0;
  for (const KeptFile& file : files) total += file.bytes;
  std::sort(files.begin(), files.end(), [](const KeptFile& a, const KeptFile& b) {
    return a.used_ns != b.used_ns ? a.used_ns < b.used_ns : a.path < b.path;
  });
  for (const KeptFile& file : files) {
    if (total <= bytes_max) return;
    if (unlink(file.path.c_str()) == 0) MYCEL_LOG(kInfo) << "plan store: dropped " << file.path;
    total -= file.bytes;
  }
}

}  // namespace

std::string PlanStoreContext(const Topology& topology, const std::string& cost) {
  if (CodeId().empty()) return {};
  const BuildInfo& build = GetBuildInfo();
  // The topology's own hash leaves names out, and a planner may break ties by them.
  return "mycel " + std::string(build.version) + " " + std::string(build.commit) + " (" +
         std::string(build.build_type) + ", " + std::string(build.compiler) + ")\ncode " + CodeId() + "\ntopology " +
         Hex(topology.hash()) + " " + Hex(HashOfText(WriteTopology(topology))) + "\ncost " + cost + "\n";
}

std::string PlanStoreKey(const std::string& context, const PlanRequest& request) {
  if (context.empty()) return {};
  // Every field, so that a new one stops the compiler here.
  const auto& [collective, root, bytes, planner, variant, trees_per_root, lanes, lanes_min, in_place, demand,
               reproducible] = request;
  std::string key = context + "collective " + std::string(NameOf(collective)) + "\nroot " +
                    std::to_string(root.value()) + "\nbytes " + std::to_string(bytes) + "\nplanner " + planner + "/" +
                    variant + "\ntrees_per_root " + std::to_string(trees_per_root) + "\nlanes " +
                    std::to_string(lanes) + (lanes_min > 1 ? "\nlanes_min " + std::to_string(lanes_min) : "") +
                    "\nin_place " + (in_place ? "yes" : "no") + (reproducible ? "\nreproducible" : "") + "\ndemand";
  for (const int64_t amount : demand) key += " " + std::to_string(amount);
  return key + "\n\n";
}

std::string PlanStore::PathOf(const std::string& key) const {
  return folder_ + "/" + Hex(HashOfText(key)) + std::string(kSuffix);
}

std::optional<Plan> PlanStore::Find(const std::string& key, const Topology& topology,
                                    const PlanRequest& request) const {
  if (folder_.empty() || key.empty()) return std::nullopt;
  const std::string path = PathOf(key);
  std::string why;
  {
    const Descriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
    if (!file.ok()) {
      const int error = errno;
      if (error != ELOOP) {  // only a link in the file's place is known to be worthless
        const bool missing = error == ENOENT || error == ENOTDIR;
        if (!missing) MYCEL_LOG(kInfo) << "plan store: cannot read " << path << ": " << std::strerror(error);
        return std::nullopt;
      }
      why = std::strerror(error);
    } else if (const std::optional<std::string> text = ReadAll(file.get(), &why)) {
      if (const std::optional<std::string_view> plan_text = PlanTextIn(*text, key, &why)) {
        StatusOr<Plan> plan = ReadPlanText(*plan_text, path);
        const Status status = plan.ok() ? CheckServes(*plan, topology, request) : plan.status();
        if (status.ok()) {
          futimens(file.get(), nullptr);  // used now: it goes last
          return *std::move(plan);
        }
        why = StatusMessage(status);
      }
    }
  }
  MYCEL_LOG(kWarn) << "plan store: ignored " << path << ": " << why << "; planning anew";
  unlink(path.c_str());
  return std::nullopt;
}

void PlanStore::Keep(const std::string& key, const Plan& plan) const {
  if (folder_.empty() || key.empty()) return;
  const std::string text = FileText(key, WritePlan(plan));
  const auto give_up = [&](const char* what) {
    MYCEL_LOG(kInfo) << "plan store: cannot " << what << " in " << folder_ << ": " << ErrorText() << "; not kept";
  };
  if (static_cast<int64_t>(text.size()) > std::min(kFileBytesMax, bytes_max_)) return;
  if (!MakeFolder(folder_)) return give_up("make a folder");
  std::string draft = folder_ + "/" + std::string(kDraft) + "XXXXXX";
  Descriptor file(mkostemp(draft.data(), O_CLOEXEC));  // mode 0600
  if (!file.ok()) return give_up("write");
  if (!WriteAll(file.get(), text) || !file.Close() || rename(draft.c_str(), PathOf(key).c_str()) != 0) {
    give_up("write");
    unlink(draft.c_str());
    return;
  }
  MYCEL_LOG(kInfo) << "plan store: kept " << PathOf(key);
  Evict(folder_, bytes_max_);
}

PlanStore::Usage PlanStore::Measure() const {
  Usage usage;
  std::vector<std::string> left_drafts;
  for (const KeptFile& file : FilesIn(folder_, &left_drafts)) {
    ++usage.files;
    usage.bytes += file.bytes;
  }
  return usage;
}

std::string PlanStoreFolder() {
  const std::string cache = CacheFolder();
  return cache.empty() ? cache : cache + "/plans";
}

}  // namespace mycel
