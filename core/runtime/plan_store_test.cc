// Every way a kept plan can come back wrong, and writers at once.
#include "core/runtime/plan_store.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <thread>
#include <vector>

#include "core/base/rng.h"
#include "core/plan/plan_json.h"
#include "core/plan/sample_plans.h"
#include "core/topo/gallery.h"

namespace mycel {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

std::string ReadFile(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path, std::ios::binary).rdbuf();
  return text.str();
}

void WriteFile(const std::string& path, const std::string& text) {
  std::ofstream(path, std::ios::binary | std::ios::trunc) << text;
}

mode_t ModeOf(const std::string& path) {
  struct stat facts {};
  EXPECT_EQ(stat(path.c_str(), &facts), 0) << path;
  return facts.st_mode & 0777;
}

class PlanStoreTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (fs::temp_directory_path() / "mycel-plan-store-XXXXXX").string();
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    root_ = pattern;
    folder_ = root_ + "/a/plans";
    topology_ = *GalleryTopology("ring4");
    request_.collective = Collective::kAllReduce;
    request_.bytes = 1 << 20;
    plan_ = RingAllReduce({});
    plan_.topology = topology_.name();
    plan_.topology_hash = topology_.hash();
    key_ = PlanStoreKey(PlanStoreContext(topology_, "some costs"), request_);
    ASSERT_FALSE(key_.empty());
  }
  void TearDown() override { fs::remove_all(root_); }

  PlanStore Store(int64_t bytes_max = PlanStore::kBytesMax) const { return PlanStore(folder_, bytes_max); }
  std::optional<Plan> Find() const { return Store().Find(key_, topology_, request_); }

  /// A file that must be ignored with one warning that says `why`, and go.
  void ExpectIgnored(const std::string& file_text, const std::string& why) {
    const std::string path = Store().PathOf(key_);
    WriteFile(path, file_text);
    testing::internal::CaptureStderr();
    EXPECT_FALSE(Find().has_value());
    const std::string said = testing::internal::GetCapturedStderr();
    EXPECT_THAT(said, HasSubstr(path));
    EXPECT_THAT(said, HasSubstr(why));
    EXPECT_EQ(std::count(said.begin(), said.end(), '\n'), 1) << said;
    EXPECT_FALSE(fs::exists(path));
  }

  std::string root_;
  std::string folder_;
  Topology topology_ = *GalleryTopology("ring2");
  PlanRequest request_;
  Plan plan_;
  std::string key_;
};

TEST_F(PlanStoreTest, GivesBackWhatItKeeps) {
  testing::internal::CaptureStderr();
  EXPECT_FALSE(Find().has_value());  // not even the folder is there
  Store().Keep(key_, plan_);
  const std::optional<Plan> kept = Find();
  ASSERT_TRUE(kept.has_value());
  EXPECT_EQ(HashOf(*kept), HashOf(plan_));
  EXPECT_EQ(WritePlan(*kept), WritePlan(plan_));
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
  EXPECT_EQ(Store().Measure().files, 1);
  EXPECT_EQ(Store().Measure().bytes, static_cast<int64_t>(fs::file_size(Store().PathOf(key_))));
  EXPECT_EQ(ModeOf(Store().PathOf(key_)), 0600U);
  EXPECT_EQ(ModeOf(folder_), 0700U);
  EXPECT_EQ(ModeOf(root_ + "/a"), 0700U);
}

TEST_F(PlanStoreTest, EveryInputHasItsOwnKey) {
  std::vector<PlanRequest> requests(9, request_);
  requests[1].collective = Collective::kAllGather;
  requests[2].root = Rank(1);
  requests[3].bytes *= 2;
  requests[4].planner = "ring";
  requests[5].variant = "two-way";
  requests[6].trees_per_root = 2;
  requests[7].lanes = 2;
  requests[8].in_place = true;
  std::vector<std::string> keys;
  const std::string context = PlanStoreContext(topology_, "some costs");
  for (const PlanRequest& request : requests) keys.push_back(PlanStoreKey(context, request));
  request_.demand = {1, 2};
  keys.push_back(PlanStoreKey(context, request_));
  request_.demand = {12};
  keys.push_back(PlanStoreKey(context, request_));
  request_.demand.clear();
  keys.push_back(PlanStoreKey(PlanStoreContext(topology_, "other costs"), request_));
  keys.push_back(PlanStoreKey(PlanStoreContext(*GalleryTopology("mesh-2x2"), "some costs"), request_));
  // The same graph under other names: the topology's own hash is the same.
  TopologyBuilder renamed("ring4");
  for (const Rank rank : Ids<Rank>(4)) renamed.AddRank("other" + std::to_string(rank.value()), rank);
  for (const Link& link : topology_.links()) {
    renamed.AddLink(link.source, link.target, link.bandwidth, link.latency_us, link.kind);
  }
  keys.push_back(PlanStoreKey(PlanStoreContext(*std::move(renamed).Build(), "some costs"), request_));
  std::sort(keys.begin(), keys.end());
  EXPECT_EQ(std::adjacent_find(keys.begin(), keys.end()), keys.end());
  EXPECT_EQ(PlanStoreKey("", request_), "");
  PlanStore("").Keep(key_, plan_);
  EXPECT_FALSE(PlanStore("").Find(key_, topology_, request_).has_value());
  Store().Keep("", plan_);
  EXPECT_FALSE(fs::exists(folder_));
}

TEST_F(PlanStoreTest, TruncatedFilesAreReplaced) {
  Store().Keep(key_, plan_);
  const std::string whole = ReadFile(Store().PathOf(key_));
  for (const double part : {0.0, 0.001, 0.02, 0.1, 0.5, 0.9}) {
    ExpectIgnored(whole.substr(0, static_cast<size_t>(part * static_cast<double>(whole.size()))), "planning anew");
  }
  ExpectIgnored(whole.substr(0, whole.size() - 1), "damaged");
  ExpectIgnored(whole + "x", "damaged");
  Store().Keep(key_, plan_);
  EXPECT_TRUE(Find().has_value());
}

TEST_F(PlanStoreTest, EveryFlippedBitIsSeen) {
  Store().Keep(key_, plan_);
  const std::string whole = ReadFile(Store().PathOf(key_));
  Rng rng(20260730);
  for (int i = 0; i < 300; ++i) {
    std::string bad = whole;
    const size_t at = rng.Below(bad.size());
    bad[at] = static_cast<char>(bad[at] ^ (1 << rng.Below(8)));
    SCOPED_TRACE("seed 20260730, byte " + std::to_string(at));
    ExpectIgnored(bad, "planning anew");
  }
}

TEST_F(PlanStoreTest, ForeignFilesAreReplaced) {
  Store().Keep(key_, plan_);
  const std::string whole = ReadFile(Store().PathOf(key_));
  ExpectIgnored("", "no file of this plan store");
  ExpectIgnored("hello\n", "no file of this plan store");
  ExpectIgnored(WritePlan(plan_), "no file of this plan store");
  std::string newer = whole;
  newer.replace(newer.find(" 1 "), 3, " 2 ");
  ExpectIgnored(newer, "no file of this plan store");
  // A whole file in the place of another key: what a collision of names would look like.
  PlanRequest other = request_;
  other.bytes = 1;
  const std::string other_key = PlanStoreKey(PlanStoreContext(topology_, "some costs"), other);
  Store().Keep(other_key, plan_);
  ExpectIgnored(ReadFile(Store().PathOf(other_key)), "another request");
  // A folder, a link.
  fs::create_directory(Store().PathOf(key_));
  testing::internal::CaptureStderr();
  EXPECT_FALSE(Find().has_value());
  EXPECT_THAT(testing::internal::GetCapturedStderr(), HasSubstr("no plain file"));
  fs::remove(Store().PathOf(key_));
  WriteFile(root_ + "/elsewhere", whole);
  fs::create_symlink(root_ + "/elsewhere", Store().PathOf(key_));
  testing::internal::CaptureStderr();
  EXPECT_FALSE(Find().has_value());
  EXPECT_THAT(testing::internal::GetCapturedStderr(), HasSubstr("symbolic link"));
  EXPECT_TRUE(fs::exists(root_ + "/elsewhere"));
}

/// The checksum fits, but the plan does not: somebody wrote it so.
TEST_F(PlanStoreTest, PlansThatDoNotServeAreReplaced) {
  const auto refused = [this](const Plan& plan, const std::string& why) {
    Store().Keep(key_, plan);
    ExpectIgnored(ReadFile(Store().PathOf(key_)), why);
  };
  Plan bad = plan_;
  bad.topology_hash ^= 1;
  refused(bad, "another topology");
  SampleOptions options;
  bad = RingAllGather(options);
  bad.topology_hash = topology_.hash();
  refused(bad, "another collective");
  options.ranks = 5;
  bad = RingAllReduce(options);
  bad.topology_hash = topology_.hash();
  refused(bad, "another number of ranks");
  bad = plan_;
  bad.ranks[0].lanes[0].ops.pop_back();
  refused(bad, "planning anew");  // the verifier's words
  request_.collective = Collective::kBroadcast;
  request_.root = Rank(2);
  bad = ChainBroadcast({});
  bad.topology_hash = topology_.hash();
  refused(bad, "another root");
}

TEST_F(PlanStoreTest, AFolderThatCannotBeWrittenIsNoError) {
  const auto expect_silent = [this](const std::string& folder) {
    testing::internal::CaptureStderr();
    const PlanStore store(folder);
    store.Keep(key_, plan_);
    EXPECT_FALSE(store.Find(key_, topology_, request_).has_value());
    EXPECT_EQ(store.Measure().files, 0);
    EXPECT_EQ(testing::internal::GetCapturedStderr(), "") << folder;
  };
  expect_silent("/proc/no/such/folder");
  WriteFile(root_ + "/file", "");
  expect_silent(root_ + "/file/plans");
  fs::create_directories(root_ + "/locked");
  chmod((root_ + "/locked").c_str(), 0500);
  if (geteuid() != 0) expect_silent(root_ + "/locked/plans");  // root writes anywhere
}

TEST_F(PlanStoreTest, WhatAFullDiskCutsOffIsTakenBack) {
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    // The system refuses to write more than so many bytes of a file, as a full disk does.
    signal(SIGXFSZ, SIG_IGN);
    const rlimit limit = {100, 100};
    if (setrlimit(RLIMIT_FSIZE, &limit) != 0) _exit(2);
    Store().Keep(key_, plan_);
    _exit(0);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  EXPECT_TRUE(fs::is_empty(folder_));
}

TEST_F(PlanStoreTest, TheOldestGoFirst) {
  Store().Keep(key_, plan_);
  const auto bytes = static_cast<int64_t>(fs::file_size(Store().PathOf(key_)));
  std::vector<std::string> keys;
  for (int i = 0; i < 5; ++i) {
    request_.bytes = 1 + i;
    keys.push_back(PlanStoreKey(PlanStoreContext(topology_, "some costs"), request_));
  }
  fs::remove(Store().PathOf(key_));
  const PlanStore store = Store(3 * bytes + bytes / 2);
  const auto now = fs::file_time_type::clock::now();
  for (size_t i = 0; i < 3; ++i) {
    store.Keep(keys[i], plan_);
    fs::last_write_time(store.PathOf(keys[i]), now - std::chrono::hours(10 - i));
  }
  WriteFile(folder_ + "/.draft-left", "x");
  fs::last_write_time(folder_ + "/.draft-left", now - std::chrono::hours(2));
  WriteFile(folder_ + "/.draft-new", "x");
  WriteFile(folder_ + "/notes.txt", "not ours");
  request_.bytes = 1;
  ASSERT_TRUE(store.Find(keys[0], topology_, request_).has_value());  // used now: keys[1] is the oldest
  store.Keep(keys[3], plan_);
  EXPECT_TRUE(fs::exists(store.PathOf(keys[0])));
  EXPECT_FALSE(fs::exists(store.PathOf(keys[1])));
  EXPECT_TRUE(fs::exists(store.PathOf(keys[2])));
  EXPECT_TRUE(fs::exists(store.PathOf(keys[3])));
  EXPECT_FALSE(fs::exists(folder_ + "/.draft-left"));
  EXPECT_TRUE(fs::exists(folder_ + "/.draft-new"));
  EXPECT_TRUE(fs::exists(folder_ + "/notes.txt"));
  EXPECT_EQ(store.Measure().files, 3);
  // A plan larger than the whole store is not kept.
  Store(10).Keep(keys[4], plan_);
  EXPECT_FALSE(fs::exists(store.PathOf(keys[4])));
}

TEST_F(PlanStoreTest, WritersAndReadersAtOnceSeeWholeFiles) {
  constexpr int kRounds = 100;
  testing::internal::CaptureStderr();
  std::vector<std::thread> threads;
  std::vector<int> found(4);
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < kRounds; ++i) {
        if (t % 2 == 0) Store().Keep(key_, plan_);
        const std::optional<Plan> plan = Find();
        if (plan.has_value() && HashOf(*plan) == HashOf(plan_)) ++found[static_cast<size_t>(t)];
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
  EXPECT_EQ(found[0], kRounds);
  EXPECT_EQ(found[2], kRounds);
  EXPECT_EQ(Store().Measure().files, 1);
}

TEST_F(PlanStoreTest, ProcessesAtOnceSeeWholeFiles) {
  std::vector<pid_t> children;
  for (int p = 0; p < 4; ++p) {
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      for (int i = 0; i < 50; ++i) {
        Store().Keep(key_, plan_);
        if (!Find().has_value()) _exit(1);
      }
      _exit(0);
    }
    children.push_back(child);
  }
  for (const pid_t child : children) {
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  }
  EXPECT_EQ(Store().Measure().files, 1);
  EXPECT_EQ(std::distance(fs::directory_iterator(folder_), fs::directory_iterator()), 1);
}

}  // namespace
}  // namespace mycel
