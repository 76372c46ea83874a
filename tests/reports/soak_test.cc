// C9, D12, D13: what goes wrong only after a while. Mixed small calls with random roots, sizes and delays, whose data
// follow from the iteration; exchanges of random matrices. REPORTS_SCALE lengthens them.
#include <algorithm>
#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "bindings/c/mycel.h"
#include "core/base/rng.h"
#include "tests/conformance/exchange.h"
#include "tests/reports/exact_call.h"
#include "tests/reports/ways.h"

namespace mycel::reports {
namespace {

#if defined(__SANITIZE_THREAD__)
constexpr int kSlower = 20;
#elif defined(__SANITIZE_ADDRESS__)
constexpr int kSlower = 4;
#else
constexpr int kSlower = 1;
#endif

constexpr uint64_t kSeed = 541;

/// Now and then a rank is late.
void Straggle(Rng* own) {
  if (own->OneIn(50)) std::this_thread::sleep_for(std::chrono::microseconds(own->Below(300)));
}

// C9: rings of the least size, so that slots are used again all the time.
TEST(SoakOfCollectives, MixedSmallCallsWithRandomRootsSizesAndDelays) {
  const NothingLeft nothing_left;
  const Environment environment({{"MYCEL_PAYLOAD_BYTES", "4096"}});
  for (const std::string& planner : Planners()) {
    for (const RanksLive live : WaysToLive()) {
      if (live == RanksLive::kSharedMemory) continue;
      const int ranks = planner == "auto" ? 4 : 3;
      std::vector<Collective> served;
      for (const Collective collective : RegularCollectives()) {
        const std::vector<std::string> able = PlannersFor(collective, ranks);
        if (std::find(able.begin(), able.end(), planner) != able.end()) served.push_back(collective);
      }
      ExpectRight({live, planner, ranks}, [&](mycelComm_t comm, int rank) {
        Rng rng(kSeed);
        Rng own(kSeed + static_cast<uint64_t>(rank) + 1);
        const int calls = Scaled(2000) / kSlower;
        for (int i = 0; i < calls; ++i) {
          ExactCall it;
          it.collective = served[rng.Below(served.size())];
          it.count = rng.Below(rng.OneIn(30) ? 3000 : 24);
          it.root = InfoOf(it.collective).rooted ? static_cast<int>(rng.Below(static_cast<uint64_t>(ranks))) : -1;
          it.in_place = rng.OneIn(3);
          it.seed = static_cast<uint64_t>(i);
          Straggle(&own);
          const std::string wrong = CheckCall(it, comm, rank, ranks);
          if (!wrong.empty()) return "seed " + std::to_string(kSeed) + ", call " + std::to_string(i) + ": " + wrong;
        }
        return std::string();
      });
    }
  }
}

// D12, D13: exchanges of random matrices, as messages and by plan, with stragglers.
TEST(SoakOfExchanges, RandomMatricesWithStragglers) {
  const NothingLeft nothing_left;
  struct Machine {
    const char* topology;
    int ranks;
  };
  for (const Machine& machine :
       {Machine{"", 3}, Machine{"", 5}, Machine{"servers-3x2", 6}, Machine{"servers-2x4", 8}}) {
    const Environment environment({{"MYCEL_TOPO", machine.topology}});
    const int n = machine.ranks;
    ExpectRight({RanksLive::kLoopback, "auto", n}, [n](mycelComm_t comm, int rank) {
      Rng rng(kSeed);
      Rng own(kSeed + static_cast<uint64_t>(rank) + 1);
      CountMatrix matrix(n);
      const int calls = Scaled(400) / kSlower;
      for (int i = 0; i < calls; ++i) {
        if (i % 3 == 0) {  // now and then the same matrix again
          const uint64_t most = rng.OneIn(8) ? 3000 : 30;
          for (size_t& count : matrix.counts) count = rng.OneIn(2) ? 0 : rng.Below(most);
        }
        Straggle(&own);
        const std::string wrong =
            CheckExchange(matrix, rank, mycelInt32, static_cast<uint64_t>(i), PlainExchange(comm));
        if (!wrong.empty()) return "seed " + std::to_string(kSeed) + ", call " + std::to_string(i) + ": " + wrong;
      }
      return std::string();
    });
  }
}

// I4, I3: every size up to 260 bytes, every seventh up to a few slots of the smallest ring, then primes: no size meets
// a slot's edge wrongly.
TEST(SoakOfSizes, SizesUpTo4KiBThroughTheSmallestRings) {
  const Environment environment({{"MYCEL_PAYLOAD_BYTES", "4096"}});
  for (const std::string& planner : Planners()) {
    ExpectRight({RanksLive::kLoopback, planner, 3}, [](mycelComm_t comm, int rank) {
      std::string wrong;
      const size_t step = kSlower == 1 ? 7 : 101;  // every residue of 64
      for (size_t count = 1; count <= 4096 && wrong.empty(); count += count < 260 ? 1 : step) {
        wrong = CheckCall({Collective::kAllReduce, DataType::kUint8, ReduceOp::kMax, count}, comm, rank, 3);
        if (count % 3 == 0 && wrong.empty()) {
          wrong = CheckCall({Collective::kAllGather, DataType::kUint8, ReduceOp::kSum, count}, comm, rank, 3);
        }
      }
      for (const size_t count : {8191, 12'289, 65'537, 262'147}) {  // several times round every ring
        if (wrong.empty()) {
          wrong = CheckCall({Collective::kAllReduce, DataType::kInt32, ReduceOp::kSum, count}, comm, rank, 3);
        }
      }
      return wrong;
    });
  }
}

}  // namespace
}  // namespace mycel::reports
