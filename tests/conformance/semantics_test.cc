// What reductions promise about their bits, for every planner and 2 to 5 ranks: NaN, zeros and infinities, identical
// results on all ranks, exact averages of integers, reproducible mode, and operations that the program makes.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <string>
#include <tuple>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "bindings/c/mycel.h"
#include "core/base/rng.h"
#include "core/plan/scalar_apply.h"
#include "core/plan/types.h"
#include "tests/conformance/element.h"
#include "tests/conformance/ranks.h"

namespace mycel {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using Bytes = std::vector<std::byte>;

constexpr uint64_t kSeed = 20261130;

mycelDataType_t C(DataType type) { return static_cast<mycelDataType_t>(type); }
mycelRedOp_t C(ReduceOp op) { return static_cast<mycelRedOp_t>(op); }

std::vector<DataType> FloatingTypes() {
  std::vector<DataType> types;
  for (DataType type : AllDataTypes()) {
    if (KindOf(type) == TypeKind::kFloating) types.push_back(type);
  }
  return types;
}

/// The one NaN that results have.
uint64_t QuietNan(DataType type) {
  switch (type) {
    case DataType::kFloat16:
      return 0x7E00;
    case DataType::kBfloat16:
      return 0x7FC0;
    case DataType::kFloat32:
      return 0x7FC00000;
    case DataType::kFloat64:
      return 0x7FF8000000000000;
    case DataType::kFloat8e4m3:
      return 0x7F;
    case DataType::kFloat8e5m2:
      return 0x7E;
    default:
      ADD_FAILURE() << NameOf(type) << " has no NaN that this test knows";
      return 0;
  }
}

/// Random bits of `rank`: integers from the whole range; floating numbers of both signs, of like size, never special.
Bytes RandomElements(DataType type, int rank, size_t count, uint64_t seed = kSeed) {
  Rng rng(seed + static_cast<uint64_t>(rank) * 1009);
  Bytes bytes(count * SizeOf(type));
  for (size_t e = 0; e < count; ++e) {
    std::byte* at = bytes.data() + e * SizeOf(type);
    const uint64_t random = rng.Next();
    if (KindOf(type) != TypeKind::kFloating) {
      std::memcpy(at, &random, SizeOf(type));
    } else {
      StoreElement(type, (static_cast<double>(random % 4000) + 1) / 64 * ((random >> 40) % 2 == 0 ? 1 : -1), at);
    }
  }
  return bytes;
}

/// The contributions of all ranks combined in rank order, rounded once.
Bytes InRankOrder(DataType type, ReduceOp op, const std::vector<Bytes>& of_ranks) {
  std::vector<const std::byte*> inputs;
  for (const Bytes& bytes : of_ranks) inputs.push_back(bytes.data());
  Bytes result(of_ranks[0].size());
  ScalarApply({type, op, true, static_cast<int32_t>(of_ranks.size())}, inputs, result.data(),
              static_cast<int64_t>(result.size() / SizeOf(type)));
  return result;
}

std::vector<Bytes> Contributions(DataType type, int n, size_t count) {
  std::vector<Bytes> all;
  for (int rank = 0; rank < n; ++rank) all.push_back(RandomElements(type, rank, count));
  return all;
}

/// An allreduce of all ranks' bytes; every rank's result.
std::vector<Bytes> AllReduce(const Ranks& ranks, DataType type, ReduceOp op, const std::vector<Bytes>& of_ranks) {
  std::vector<Bytes> results(of_ranks.size());
  ranks.Each([&](int rank, mycelComm_t comm) {
    const Bytes& mine = of_ranks[static_cast<size_t>(rank)];
    Bytes& result = results[static_cast<size_t>(rank)];
    result.resize(mine.size());
    EXPECT_EQ(mycelAllReduce(mine.data(), result.data(), mine.size() / SizeOf(type), C(type), C(op), comm, nullptr),
              mycelSuccess)
        << mycelGetLastError(comm);
  });
  return results;
}

class Semantics : public ::testing::TestWithParam<std::tuple<const char*, int>> {
 protected:
  Semantics() : environment_({{"MYCEL_PLANNER", std::get<0>(GetParam())}}) {}
  int n() const { return std::get<1>(GetParam()); }

 private:
  const Environment environment_;
  const ::testing::ScopedTrace trace_{__FILE__, __LINE__, "seed " + std::to_string(kSeed)};
};

TEST_P(Semantics, NanReachesEveryRankWhoeverHoldsIt) {
  const Ranks ranks(n());
  constexpr size_t kCount = 65;
  for (DataType type : FloatingTypes()) {
    const size_t bytes = SizeOf(type);
    for (ReduceOp op : {ReduceOp::kMin, ReduceOp::kMax, ReduceOp::kSum}) {
      for (int holder = 0; holder < n(); ++holder) {
        const size_t place = (static_cast<size_t>(holder) * 31 + 17) % kCount;
        std::vector<Bytes> data = Contributions(type, n(), kCount);
        std::memset(data[static_cast<size_t>(holder)].data() + place * bytes, 0xFF, bytes);  // a NaN of every format
        const std::vector<Bytes> results = AllReduce(ranks, type, op, data);
        for (const Bytes& result : results) EXPECT_EQ(result, results[0]) << NameOf(type) << " " << NameOf(op);
        // Scalar and vector parts alike: the other elements are what they are without NaN.
        std::vector<Bytes> nan_free = data;
        std::memset(nan_free[static_cast<size_t>(holder)].data() + place * bytes, 0, bytes);
        const Bytes expected = AllReduce(ranks, type, op, nan_free)[0];
        for (size_t e = 0; e < kCount; ++e) {
          const bool same = std::memcmp(results[0].data() + e * bytes, expected.data() + e * bytes, bytes) == 0;
          EXPECT_EQ(same, e != place) << NameOf(type) << " " << NameOf(op) << " element " << e;
        }
        const uint64_t quiet = QuietNan(type);
        EXPECT_EQ(std::memcmp(results[0].data() + place * bytes, &quiet, bytes), 0)
            << NameOf(type) << " " << NameOf(op) << ": another NaN than the one of the header";
      }
    }
  }
}

TEST_P(Semantics, ZerosAndInfinitiesAreOrdered) {
  const Ranks ranks(n());
  const Bytes negative = {std::byte{0x00}, std::byte{0x00}, std::byte{0x00}, std::byte{0x80}};
  const Bytes positive(4);
  for (int holder = 0; holder < n(); ++holder) {
    std::vector<Bytes> zeros(static_cast<size_t>(n()), positive);
    zeros[static_cast<size_t>(holder)] = negative;
    for (const Bytes& result : AllReduce(ranks, DataType::kFloat32, ReduceOp::kMin, zeros)) EXPECT_EQ(result, negative);
    for (const Bytes& result : AllReduce(ranks, DataType::kFloat32, ReduceOp::kMax, zeros)) EXPECT_EQ(result, positive);
    std::vector<Bytes> infinite(static_cast<size_t>(n()), Bytes(1));
    infinite[static_cast<size_t>(holder)] = {std::byte{0xFC}};  // f8e5m2's -infinity
    for (const Bytes& result : AllReduce(ranks, DataType::kFloat8e5m2, ReduceOp::kMin, infinite)) {
      EXPECT_EQ(result, Bytes{std::byte{0xFC}});
    }
  }
}

TEST_P(Semantics, AllRanksGetIdenticalBits) {
  const Ranks ranks(n());
  for (DataType type : FloatingTypes()) {
    for (ReduceOp op : {ReduceOp::kSum, ReduceOp::kAvg, ReduceOp::kProd}) {
      for (size_t count : {1, 1000, 30011}) {
        const std::vector<Bytes> results = AllReduce(ranks, type, op, Contributions(type, n(), count));
        for (const Bytes& result : results) {
          EXPECT_TRUE(result == results[0]) << NameOf(type) << " " << NameOf(op) << " count " << count;
        }
      }
    }
  }
}

TEST_P(Semantics, IntegersWrapAndTheirAveragesAreExact) {
  const Ranks ranks(n());
  for (DataType type : AllDataTypes()) {
    if (KindOf(type) == TypeKind::kFloating) continue;
    for (ReduceOp op : ReduceOpsFor(type)) {
      for (size_t count : {3, 5003}) {
        const std::vector<Bytes> data = Contributions(type, n(), count);
        const Bytes expected = InRankOrder(type, op, data);
        for (const Bytes& result : AllReduce(ranks, type, op, data)) {
          EXPECT_TRUE(result == expected) << NameOf(type) << " " << NameOf(op) << " count " << count;
        }
      }
    }
  }
}

TEST_P(Semantics, AveragesOfReduceAndReduceScatterDivideOnce) {
  const Ranks ranks(n());
  const auto ranks_count = static_cast<size_t>(n());
  constexpr size_t kCount = 6;
  const std::vector<Bytes> data = Contributions(DataType::kInt64, n(), kCount * ranks_count);
  const Bytes expected = InRankOrder(DataType::kInt64, ReduceOp::kAvg, data);
  ranks.Each([&](int rank, mycelComm_t comm) {
    const auto me = static_cast<size_t>(rank);
    Bytes part(kCount * 8);
    EXPECT_EQ(mycelReduceScatter(data[me].data(), part.data(), kCount, mycelInt64, mycelAvg, comm, nullptr),
              mycelSuccess);
    EXPECT_EQ(std::memcmp(part.data(), expected.data() + me * part.size(), part.size()), 0);
    Bytes whole(expected.size());
    EXPECT_EQ(
        mycelReduce(data[me].data(), whole.data(), kCount * ranks_count, mycelInt64, mycelAvg, n() - 1, comm, nullptr),
        mycelSuccess);
    if (rank == n() - 1) {
      EXPECT_TRUE(whole == expected);
    }
    std::vector<size_t> counts(ranks_count, kCount - 1);
    counts.back() = kCount * ranks_count - (kCount - 1) * (ranks_count - 1);
    Bytes mine(counts[me] * 8);
    EXPECT_EQ(mycelReduceScatterv(data[me].data(), mine.data(), counts.data(), mycelInt64, mycelAvg, comm, nullptr),
              mycelSuccess)
        << mycelGetLastError(comm);
    EXPECT_EQ(std::memcmp(mine.data(), expected.data() + me * (kCount - 1) * 8, mine.size()), 0);
  });
}

TEST_P(Semantics, ReproducibleBitsFollowFromTheValuesAlone) {
  const Environment environment({{"MYCEL_REPRODUCIBLE", "on"}});
  const Ranks ranks(n());
  constexpr size_t kCount = 12007;
  for (DataType type : FloatingTypes()) {
    const size_t bytes = SizeOf(type);
    for (ReduceOp op : {ReduceOp::kSum, ReduceOp::kAvg, ReduceOp::kProd}) {
      const std::vector<Bytes> data = Contributions(type, n(), kCount);
      const Bytes expected = InRankOrder(type, op, data);
      const auto check = [&](const Bytes& result, const char* how) {
        EXPECT_TRUE(result == expected) << NameOf(type) << " " << NameOf(op) << " " << how;
      };
      for (const Bytes& result : AllReduce(ranks, type, op, data)) check(result, "whole");
      ranks.Each([&](int rank, mycelComm_t comm) {
        Bytes sliced = data[static_cast<size_t>(rank)];
        // Uneven pieces, in place.
        const size_t ends[] = {1, 2, 71, 1000, 1017, 9000, kCount};
        size_t begin = 0;
        for (size_t end : ends) {
          std::byte* at = sliced.data() + begin * bytes;
          EXPECT_EQ(mycelAllReduce(at, at, end - begin, C(type), C(op), comm, nullptr), mycelSuccess);
          begin = end;
        }
        check(sliced, "in pieces");
        Bytes root = data[static_cast<size_t>(rank)];
        EXPECT_EQ(mycelReduce(root.data(), root.data(), kCount, C(type), C(op), 0, comm, nullptr), mycelSuccess);
        if (rank == 0) check(root, "reduce");
      });
    }
  }
}

TEST_P(Semantics, PreMulSumMultipliesByEachRanksOwnFactor) {
  const Ranks ranks(n());
  for (DataType type : AllDataTypes()) {
    for (size_t count : {0, 1, 777, 20011}) {
      std::vector<Bytes> data;
      std::vector<Bytes> scaled;
      for (int rank = 0; rank < n(); ++rank) {
        data.push_back(Bytes(count * SizeOf(type)));
        scaled.push_back(data.back());
        for (size_t e = 0; e < count; ++e) {
          // Small enough to be exact in f8e5m2: at most 8 in all.
          const double value = (e + static_cast<size_t>(rank)) % 3 == 0 ? 1 : 0;
          StoreElement(type, value, data.back().data() + e * SizeOf(type));
          StoreElement(type, value * (1 + rank % 2), scaled.back().data() + e * SizeOf(type));
        }
      }
      const Bytes expected = InRankOrder(type, ReduceOp::kSum, scaled);
      ranks.Each([&](int rank, mycelComm_t comm) {
        const auto me = static_cast<size_t>(rank);
        Bytes factor(8);
        StoreElement(type, 1 + rank % 2, factor.data());
        mycelRedOp_t op = mycelSum;
        const auto residence = rank % 2 == 0 ? mycelScalarHostImmediate : mycelScalarDevice;
        ASSERT_EQ(mycelRedOpCreatePreMulSum(&op, factor.data(), C(type), residence, comm), mycelSuccess);
        Bytes result = data[me];
        EXPECT_EQ(mycelAllReduce(result.data(), result.data(), count, C(type), op, comm, nullptr), mycelSuccess)
            << mycelGetLastError(comm);
        EXPECT_TRUE(result == expected) << NameOf(type) << " count " << count;
        EXPECT_EQ(mycelRedOpDestroy(op, comm), mycelSuccess);
      });
    }
  }
}

/// inout = in * 10^digits(inout) + inout: appends decimal digits, associative and not commutative.
void AppendDigits(const void* in, void* inout, size_t count, void* context) {
  const auto* left = static_cast<const uint64_t*>(in);
  auto* right = static_cast<uint64_t*>(inout);
  for (size_t e = 0; e < count; ++e) {
    uint64_t shift = 10;
    while (shift <= right[e]) shift *= 10;
    right[e] += left[e] * shift;
  }
  *static_cast<int*>(context) += 1;
}

TEST_P(Semantics, UserFunctionThatDoesNotCommuteSeesRankOrder) {
  const Ranks ranks(n());
  uint64_t expected = 0;
  for (int rank = 0; rank < n(); ++rank) expected = expected * 10 + static_cast<uint64_t>(rank) + 1;
  for (size_t count : {1, 100, 50001}) {
    ranks.Each([&](int rank, mycelComm_t comm) {
      int calls = 0;
      mycelRedOp_t op = mycelSum;
      ASSERT_EQ(mycelRedOpCreateUser(&op, AppendDigits, &calls, 0, comm), mycelSuccess);
      std::vector<uint64_t> data(count, static_cast<uint64_t>(rank) + 1);
      EXPECT_EQ(mycelAllReduce(data.data(), data.data(), count, mycelUint64, op, comm, nullptr), mycelSuccess)
          << mycelGetLastError(comm);
      EXPECT_EQ(std::count(data.begin(), data.end(), expected), static_cast<ptrdiff_t>(count));
      EXPECT_TRUE(calls > 0 || count < 100);
    });
  }
}

/// The value of larger magnitude; of equal ones the positive.
void LargerMagnitude(const void* in, void* inout, size_t count, void*) {
  const auto* a = static_cast<const float*>(in);
  auto* b = static_cast<float*>(inout);
  for (size_t e = 0; e < count; ++e) {
    if (std::fabs(a[e]) > std::fabs(b[e]) || (std::fabs(a[e]) == std::fabs(b[e]) && a[e] > b[e])) b[e] = a[e];
  }
}

TEST_P(Semantics, UserFunctionThatCommutes) {
  const Ranks ranks(n());
  constexpr size_t kCount = 10007;
  ranks.Each([&](int rank, mycelComm_t comm) {
    mycelRedOp_t op = mycelSum;
    ASSERT_EQ(mycelRedOpCreateUser(&op, LargerMagnitude, nullptr, 1, comm), mycelSuccess);
    std::vector<float> data(kCount);
    for (size_t e = 0; e < kCount; ++e) {
      const auto winner = static_cast<int>(e % static_cast<size_t>(n()));
      data[e] = rank == winner ? -100.0F - static_cast<float>(e) : static_cast<float>(rank);
    }
    EXPECT_EQ(mycelAllReduce(data.data(), data.data(), kCount, mycelFloat, op, comm, nullptr), mycelSuccess)
        << mycelGetLastError(comm);
    for (size_t e = 0; e < kCount; ++e) ASSERT_EQ(data[e], -100.0F - static_cast<float>(e)) << e;
  });
}

std::string NameOfCase(const ::testing::TestParamInfo<std::tuple<const char*, int>>& info) {
  return std::string(std::get<0>(info.param)) + "_" + std::to_string(std::get<1>(info.param));
}
INSTANTIATE_TEST_SUITE_P(Planners, Semantics,
                         ::testing::Combine(::testing::ValuesIn(PlannersHere()), ::testing::Values(2, 3, 5)),
                         NameOfCase);

TEST(Reproducible, WhereNoPlanKeepsTheOrderReductionsSaySoAndTheRestRuns) {
  const Environment environment({{"MYCEL_REPRODUCIBLE", "on"}, {"MYCEL_TOPO", "ring4"}});
  const Ranks ranks(4);
  ranks.Each([](int rank, mycelComm_t comm) {
    EXPECT_EQ(mycelBarrier(comm, nullptr), mycelSuccess) << mycelGetLastError(comm);
    std::vector<float> all(4);
    const auto mine = static_cast<float>(rank);
    EXPECT_EQ(mycelAllGather(&mine, all.data(), 1, mycelFloat, comm, nullptr), mycelSuccess) << mycelGetLastError(comm);
    EXPECT_EQ(all, (std::vector<float>{0, 1, 2, 3}));
  });
  // Not at once: the error of a rank that has gone on would end the others' allgather.
  ranks.Each([](int rank, mycelComm_t comm) {
    std::vector<float> all(4);
    const auto mine = static_cast<float>(rank);
    EXPECT_NE(mycelAllReduce(&mine, all.data(), 1, mycelFloat, mycelSum, comm, nullptr), mycelSuccess);
    EXPECT_THAT(mycelGetLastError(comm), HasSubstr("no planner serves reproducible allreduce"));
  });
}

// ---- Operations as things that live and die ------------------------------------------------------------------------

TEST(RedOps, BitwiseOperationsRefuseFloatsNamingWhatTheyTake) {
  const Ranks ranks(1);
  float data = 0;
  for (mycelRedOp_t op : {mycelBand, mycelBor, mycelBxor}) {
    EXPECT_EQ(mycelAllReduce(&data, &data, 1, mycelFloat, op, ranks.comm(0), nullptr), mycelInvalidArgument);
    EXPECT_THAT(mycelGetLastError(nullptr),
                AllOf(HasSubstr("int8 uint8 int32 uint32 int64 uint64 int16 uint16, not for float"),
                      HasSubstr("mycelAllReduce")));
  }
  EXPECT_EQ(mycelAllReduce(&data, &data, 1, static_cast<mycelDataType_t>(12), mycelSum, ranks.comm(0), nullptr),
            mycelInvalidArgument);
  EXPECT_EQ(mycelAllReduce(&data, &data, 1, mycelFloat, static_cast<mycelRedOp_t>(5), ranks.comm(0), nullptr),
            mycelInvalidArgument);
}

TEST(RedOps, ArgumentsAreChecked) {
  const Ranks ranks(1);
  mycelComm_t comm = ranks.comm(0);
  float factor = 2;
  mycelRedOp_t op = mycelSum;
  EXPECT_EQ(mycelRedOpCreatePreMulSum(nullptr, &factor, mycelFloat, mycelScalarDevice, comm), mycelInvalidArgument);
  EXPECT_EQ(mycelRedOpCreatePreMulSum(&op, nullptr, mycelFloat, mycelScalarDevice, comm), mycelInvalidArgument);
  EXPECT_EQ(mycelRedOpCreatePreMulSum(&op, &factor, static_cast<mycelDataType_t>(60), mycelScalarDevice, comm),
            mycelInvalidArgument);
  EXPECT_EQ(mycelRedOpCreateUser(&op, nullptr, nullptr, 1, comm), mycelInvalidArgument);
  EXPECT_EQ(mycelRedOpCreateUser(&op, LargerMagnitude, nullptr, 1, nullptr), mycelInvalidArgument);
  EXPECT_EQ(op, mycelSum) << "outputs are set on success only";
  EXPECT_EQ(mycelRedOpDestroy(mycelAvg, comm), mycelInvalidArgument);
  EXPECT_THAT(mycelGetLastError(nullptr), HasSubstr("the library's own"));
}

TEST(RedOps, BelongToOneCommunicatorAndEndWithIt) {
  float factor = 2;
  float data = 1;
  mycelRedOp_t op = mycelSum;
  mycelRedOp_t orphan = mycelSum;
  {
    const Ranks gone(1);
    ASSERT_EQ(mycelRedOpCreatePreMulSum(&orphan, &factor, mycelFloat, mycelScalarHostImmediate, gone.comm(0)),
              mycelSuccess);
  }
  const Ranks ranks(1);
  const Ranks others(1);
  ASSERT_EQ(mycelRedOpCreatePreMulSum(&op, &factor, mycelFloat, mycelScalarHostImmediate, ranks.comm(0)), mycelSuccess);
  EXPECT_EQ(mycelAllReduce(&data, &data, 1, mycelFloat, op, others.comm(0), nullptr), mycelInvalidArgument);
  EXPECT_THAT(mycelGetLastError(nullptr), HasSubstr("another communicator"));
  EXPECT_EQ(mycelAllReduce(&data, &data, 1, mycelInt32, op, ranks.comm(0), nullptr), mycelInvalidArgument);
  EXPECT_THAT(mycelGetLastError(nullptr), HasSubstr("multiplies float, the call is of int32"));
  EXPECT_EQ(mycelRedOpDestroy(op, others.comm(0)), mycelInvalidArgument);
  EXPECT_EQ(mycelAllReduce(&data, &data, 1, mycelFloat, op, ranks.comm(0), nullptr), mycelSuccess);
  EXPECT_EQ(data, 2) << "one rank multiplies too";
  EXPECT_EQ(mycelRedOpDestroy(op, ranks.comm(0)), mycelSuccess);
  for (mycelRedOp_t dead : {op, orphan}) {
    EXPECT_EQ(mycelAllReduce(&data, &data, 1, mycelFloat, dead, ranks.comm(0), nullptr), mycelInvalidArgument);
    EXPECT_THAT(mycelGetLastError(nullptr), HasSubstr("was destroyed"));
  }
  EXPECT_EQ(mycelRedOpDestroy(op, ranks.comm(0)), mycelInvalidArgument);
}

TEST(RedOps, MayBeDestroyedWhileCallsAreQueued) {
  const Ranks ranks(2);
  ranks.Each([](int rank, mycelComm_t comm) {
    mycelStream_t stream = nullptr;
    ASSERT_EQ(mycelStreamCreate(&stream), mycelSuccess);
    const int32_t factor = 10 * (rank + 1);
    int32_t copy = factor;
    mycelRedOp_t op = mycelSum;
    ASSERT_EQ(mycelRedOpCreatePreMulSum(&op, &copy, mycelInt32, mycelScalarHostImmediate, comm), mycelSuccess);
    std::vector<int32_t> first(1000, 1), second(1000, 2);
    EXPECT_EQ(mycelAllReduce(first.data(), first.data(), 1000, mycelInt32, op, comm, stream), mycelSuccess);
    EXPECT_EQ(mycelGroupStart(), mycelSuccess);
    EXPECT_EQ(mycelAllReduce(second.data(), second.data(), 1000, mycelInt32, op, comm, stream), mycelSuccess);
    EXPECT_EQ(mycelRedOpDestroy(op, comm), mycelSuccess);
    EXPECT_EQ(mycelGroupEnd(), mycelSuccess);
    copy = 0;
    EXPECT_EQ(mycelStreamSynchronize(stream), mycelSuccess);
    EXPECT_EQ(first, std::vector<int32_t>(1000, 30));
    EXPECT_EQ(second, std::vector<int32_t>(1000, 60));
    EXPECT_EQ(mycelStreamDestroy(stream), mycelSuccess);
  });
}

TEST(RedOps, RanksInUnlikeOperationsDisagree) {
  for (const bool user : {false, true}) {
    const Ranks ranks(2);
    ranks.Each([user](int rank, mycelComm_t comm) {
      float factor = 2;
      mycelRedOp_t op = mycelSum;
      if (rank == 1 && user) {
        EXPECT_EQ(mycelRedOpCreateUser(&op, LargerMagnitude, nullptr, 1, comm), mycelSuccess);
      }
      if (rank == 1 && !user) {
        EXPECT_EQ(mycelRedOpCreatePreMulSum(&op, &factor, mycelFloat, mycelScalarHostImmediate, comm), mycelSuccess);
      }
      std::vector<float> data(100, 1);
      EXPECT_EQ(mycelAllReduce(data.data(), data.data(), 100, mycelFloat, op, comm, nullptr), mycelInvalidUsage);
      EXPECT_THAT(mycelGetLastError(comm), AllOf(HasSubstr("float, sum)"), HasSubstr(user ? "user)" : "premulsum)")));
    });
  }
}

}  // namespace
}  // namespace mycel
