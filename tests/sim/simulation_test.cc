// Hundreds of seeds of whole jobs, and planted bugs that the same seeds must find.
#include <cstdlib>
#include <string>

#include <gtest/gtest.h>

#include "tests/sim/sim_device.h"
#include "tests/sim/sim_world.h"

namespace mycel::sim {
namespace {

constexpr uint64_t kSeeds = 300;

WorldResult RunSeed(uint64_t seed, const Device& device, bool drop_messages = false) {
  WorldOptions options;
  options.seed = seed;
  options.device = &device;
  options.drop_messages = drop_messages;
  return RunWorld(options);
}

TEST(Simulation, EverySeedGivesExactData) {
  const SimDevice<SimPolicy> device;
  const char* chosen = std::getenv("MYCEL_SIM_SEED");
  const uint64_t first = chosen != nullptr ? std::strtoull(chosen, nullptr, 10) : 1;
  const uint64_t last = chosen != nullptr ? first : kSeeds;
  uint64_t switches = 0;
  for (uint64_t seed = first; seed <= last; ++seed) {
    const WorldResult result = RunSeed(seed, device);
    ASSERT_EQ(result.failure, "") << "MYCEL_SIM_SEED=" << seed << ", " << result.description;
    switches += result.switches;
  }
  EXPECT_GT(switches, (last - first + 1) * 20) << "the seeds hardly interleave anything";
}

TEST(Simulation, EqualSeedsRunAlike) {
  const SimDevice<SimPolicy> device;
  for (uint64_t seed : {3, 42, 77}) {
    const WorldResult one = RunSeed(seed, device);
    const WorldResult two = RunSeed(seed, device);
    EXPECT_EQ(one.switches, two.switches) << "seed " << seed;
    EXPECT_EQ(one.failure, two.failure) << "seed " << seed;
  }
}

TEST(Simulation, FindsBytesThatMoveAfterTheirStore) {
  const SimDevice<StoreBeforeCopyPolicy> device;
  int found = 0;
  for (uint64_t seed = 1; seed <= 40; ++seed) {
    StoreBeforeCopyPolicy::Late() = {};  // of the world before, whose memory is gone
    if (!RunSeed(seed, device).failure.empty()) ++found;
  }
  EXPECT_GE(found, 30) << "of 40 seeds with the planted bug";
}

TEST(Simulation, ALostMessageStallsAndNeverCorrupts) {
  const SimDevice<SimPolicy> device;
  int stalled = 0;
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    const std::string failure = RunSeed(seed, device, true).failure;
    if (failure.empty()) continue;
    EXPECT_EQ(failure.rfind("stuck", 0), 0U) << "seed " << seed << ": " << failure;
    ++stalled;
  }
  EXPECT_GE(stalled, 5);
}

}  // namespace
}  // namespace mycel::sim
