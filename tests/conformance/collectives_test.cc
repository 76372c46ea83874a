// Every collective, type and operation through the C API, on threads of one process, against plain loops. Data is small
// integers, so every order of reduction gives the same bits.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "bindings/c/mycel.h"
#include "core/base/rng.h"
#include "core/plan/contract.h"
#include "core/plan/types.h"
#include "core/topo/gallery.h"
#include "tests/conformance/element.h"
#include "tests/conformance/ranks.h"

namespace mycel {
namespace {

constexpr unsigned char kPoison = 0xA5;
constexpr size_t kMargin = 64;  // poisoned bytes on both sides of a recv buffer

/// What is called.
struct Case {
  Collective collective;
  DataType type;
  ReduceOp op;
  size_t count;
  int root;
  bool in_place;
  std::string Text() const {
    return std::string(NameOf(collective)) + " " + std::string(NameOf(type)) + " " + std::string(NameOf(op)) +
           " count " + std::to_string(count) + " root " + std::to_string(root) + (in_place ? " in place" : "");
  }
};

/// Rank `rank`'s contribution to element `index` of logical block `block`: exact in every type, also as a product, and
/// so is every partial result of up to 8 ranks.
double ValueOf(const Case& it, int rank, int block, size_t index) {
  const auto mix = static_cast<size_t>(rank * 7 + block * 3) + index;
  const bool adds = it.op == ReduceOp::kSum || it.op == ReduceOp::kAvg;
  // f8e5m2 counts to 8.
  if (adds && KindOf(it.type) == TypeKind::kFloating && SizeOf(it.type) == 1) return static_cast<double>(mix % 2);
  if (it.op == ReduceOp::kProd) return (mix % 5 == 0) ? 2 : 1;
  if (it.op == ReduceOp::kAvg) return static_cast<double>(mix % 5);
  return static_cast<double>(mix % 6);
}

double Combine(ReduceOp op, double a, double b) {
  const auto x = static_cast<int64_t>(a);
  const auto y = static_cast<int64_t>(b);
  switch (op) {
    case ReduceOp::kSum:
    case ReduceOp::kAvg:
      return a + b;
    case ReduceOp::kProd:
      return a * b;
    case ReduceOp::kMax:
      return std::max(a, b);
    case ReduceOp::kMin:
      return std::min(a, b);
    case ReduceOp::kBand:
      return static_cast<double>(x & y);
    case ReduceOp::kBor:
      return static_cast<double>(x | y);
    case ReduceOp::kBxor:
      return static_cast<double>(x ^ y);
    case ReduceOp::kPreMulSum:
    case ReduceOp::kUser:
      break;  // semantics_test.cc
  }
  ADD_FAILURE() << "no such operation here";
  return 0;
}

double Expected(const Case& it, int n, const std::vector<Rank>& contributors, int block, size_t index) {
  double result = ValueOf(it, contributors.at(0).value(), block, index);
  for (size_t i = 1; i < contributors.size(); ++i) {
    result = Combine(it.op, result, ValueOf(it, contributors[i].value(), block, index));
  }
  if (it.op != ReduceOp::kAvg) return result;
  return KindOf(it.type) == TypeKind::kFloating ? result / n : std::trunc(result / n);
}

mycelResult_t Call(const Case& it, const void* send, void* recv, mycelComm_t comm, mycelStream_t stream) {
  const auto type = static_cast<mycelDataType_t>(it.type);
  const auto op = static_cast<mycelRedOp_t>(it.op);
  switch (it.collective) {
    case Collective::kAllReduce:
      return mycelAllReduce(send, recv, it.count, type, op, comm, stream);
    case Collective::kAllGather:
      return mycelAllGather(send, recv, it.count, type, comm, stream);
    case Collective::kReduceScatter:
      return mycelReduceScatter(send, recv, it.count, type, op, comm, stream);
    case Collective::kBroadcast:
      return mycelBroadcast(send, recv, it.count, type, it.root, comm, stream);
    case Collective::kReduce:
      return mycelReduce(send, recv, it.count, type, op, it.root, comm, stream);
    case Collective::kAllToAll:
      return mycelAllToAll(send, recv, it.count, type, comm, stream);
    case Collective::kGather:
      return mycelGather(send, recv, it.count, type, it.root, comm, stream);
    case Collective::kScatter:
      return mycelScatter(send, recv, it.count, type, it.root, comm, stream);
    case Collective::kAllToAllV:
      break;
  }
  return mycelInternalError;
}

/// Where a rank's buffers lie: one arena, so that in place follows NCCL's pointer rules.
struct Arena {
  std::vector<unsigned char> bytes;
  unsigned char* send = nullptr;
  unsigned char* recv = nullptr;
  size_t recv_bytes = 0;
};

Arena MakeArena(const Case& it, const Contract& contract, Rank rank, size_t misalign) {
  const size_t element = SizeOf(it.type);
  const size_t block = it.count * element;
  const size_t send_bytes = contract.SendBlocks(rank).size() * block;
  Arena arena;
  arena.recv_bytes = contract.RecvBlocks(rank).size() * block;
  const size_t larger = std::max(send_bytes, arena.recv_bytes);
  arena.bytes.assign(2 * larger + 4 * kMargin, kPoison);
  unsigned char* base = arena.bytes.data() + kMargin + misalign * element;
  arena.send = send_bytes == 0 ? nullptr : base;
  arena.recv = arena.recv_bytes == 0 ? nullptr : base + (it.in_place ? 0 : larger + kMargin);
  if (it.in_place && arena.send != nullptr && arena.recv != nullptr) {
    const int64_t offset = contract.InPlaceOffset(rank) * static_cast<int64_t>(block);
    if (offset >= 0) {
      arena.recv = arena.send + offset;
    } else {
      arena.send = arena.recv - offset;
    }
  }
  return arena;
}

void RunCase(const Ranks& ranks, const Case& it, size_t misalign = 0) {
  const int n = ranks.count();
  const Contract contract{it.collective, n, Rank(it.root)};
  std::vector<std::string> problems(static_cast<size_t>(n));
  ranks.Each([&](int rank, mycelComm_t comm) {
    std::string& problem = problems[static_cast<size_t>(rank)];
    Arena arena = MakeArena(it, contract, Rank(rank), misalign);
    const std::vector<int32_t> send_blocks = contract.SendBlocks(Rank(rank));
    const size_t element = SizeOf(it.type);
    for (size_t place = 0; place < send_blocks.size(); ++place) {
      for (size_t i = 0; i < it.count; ++i) {
        StoreElement(it.type, ValueOf(it, rank, send_blocks[place], i), arena.send + (place * it.count + i) * element);
      }
    }
    const mycelResult_t result = Call(it, arena.send, arena.recv, comm, nullptr);
    if (result != mycelSuccess) {
      problem = mycelGetLastError(comm);
      return;
    }
    const std::vector<int32_t> recv_blocks = contract.RecvBlocks(Rank(rank));
    for (size_t place = 0; place < recv_blocks.size(); ++place) {
      const std::vector<Rank> contributors = contract.Contributors(recv_blocks[place]);
      for (size_t i = 0; i < it.count; ++i) {
        unsigned char want[8];
        StoreElement(it.type, Expected(it, n, contributors, recv_blocks[place], i), want);
        const unsigned char* got = arena.recv + (place * it.count + i) * element;
        if (std::memcmp(want, got, element) != 0 && problem.empty()) {
          problem = "rank " + std::to_string(rank) + " block " + std::to_string(recv_blocks[place]) + " element " +
                    std::to_string(i) + ": got " + std::to_string(LoadElement(it.type, got)) + ", expected " +
                    std::to_string(LoadElement(it.type, want));
        }
      }
    }
    if (it.in_place || arena.recv == nullptr) return;
    for (size_t i = 0; i < kMargin / 2; ++i) {
      if (arena.recv[arena.recv_bytes + i] != kPoison || *(arena.recv - 1 - i) != kPoison) {
        problem = "wrote outside the result";
      }
    }
  });
  for (const std::string& problem : problems) EXPECT_EQ(problem, "") << it.Text() << " n " << n;
}

std::vector<Collective> Regular() {
  std::vector<Collective> all;
  for (const CollectiveInfo& info : AllCollectives()) {
    if (info.collective != Collective::kAllToAllV) all.push_back(info.collective);
  }
  return all;
}

class EveryCollective : public ::testing::TestWithParam<int> {};

TEST_P(EveryCollective, EverySmallCountInAndOutOfPlaceFromEveryRoot) {
  Ranks ranks(GetParam());
  for (Collective collective : Regular()) {
    const int roots = InfoOf(collective).rooted ? ranks.count() : 1;
    for (int root = 0; root < roots; ++root) {
      for (bool in_place : {false, true}) {
        for (size_t count : {0, 1, 2, 3, 7, 13, 100, 1009}) {
          RunCase(ranks, {collective, DataType::kInt32, ReduceOp::kSum, count, InfoOf(collective).rooted ? root : -1,
                          in_place});
        }
      }
    }
  }
}

TEST_P(EveryCollective, LargeCountsThatDivideByNothing) {
  Ranks ranks(GetParam());
  for (Collective collective : Regular()) {
    for (size_t count : {10007, 100003}) {
      for (bool in_place : {false, true}) {
        RunCase(ranks, {collective, DataType::kFloat32, ReduceOp::kSum, count,
                        InfoOf(collective).rooted ? ranks.count() - 1 : -1, in_place});
      }
    }
  }
}

TEST_P(EveryCollective, EveryTypeAndOperation) {
  Ranks ranks(GetParam());
  for (Collective collective : Regular()) {
    for (DataType type : AllDataTypes()) {
      for (ReduceOp op : ReduceOpsFor(type)) {
        if (!InfoOf(collective).reduces && op != ReduceOp::kSum) continue;
        RunCase(ranks, {collective, type, op, 137, InfoOf(collective).rooted ? 0 : -1, false});
      }
    }
  }
}

TEST_P(EveryCollective, AnyElementAlignment) {
  Ranks ranks(GetParam());
  for (DataType type : {DataType::kInt8, DataType::kBfloat16, DataType::kFloat32, DataType::kFloat64}) {
    for (size_t misalign = 1; misalign < 8; ++misalign) {
      RunCase(ranks, {Collective::kAllReduce, type, ReduceOp::kSum, 555, -1, false}, misalign);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Ranks, EveryCollective, ::testing::ValuesIn(FewUnderThreadSanitizer<int>({2, 5, 1, 3, 4, 8})));

/// Planner bfb where ranks must relay and cut shards: direct-connect machines of 2 to 9 ranks.
class BreadthFirst : public ::testing::TestWithParam<const char*> {};

TEST_P(BreadthFirst, CollectivesItServesInAndOutOfPlace) {
  const Environment environment({{"MYCEL_TOPO", GetParam()}, {"MYCEL_PLANNER", "bfb"}});
  const Ranks ranks(GalleryTopology(GetParam())->rank_count());
  for (const Collective collective : {Collective::kAllGather, Collective::kReduceScatter, Collective::kAllReduce}) {
    for (const size_t count : {0, 1, 5, 97, 10007}) {
      for (const bool in_place : {false, true}) {
        RunCase(ranks, {collective, DataType::kInt32, ReduceOp::kSum, count, -1, in_place});
      }
    }
    RunCase(ranks, {collective, DataType::kFloat32, ReduceOp::kSum, 50021, -1, false});
  }
}

INSTANTIATE_TEST_SUITE_P(
    Topologies, BreadthFirst,
    ::testing::ValuesIn(FewUnderThreadSanitizer<const char*>({"fullmesh-2", "ring3", "mesh-2x2", "ring5", "torus-3x2",
                                                              "ring7", "hypercube-3", "dgx1-v100", "mesh-3x3"})));

/// Planner flow, whose blocks are cut and relayed; barriers and what else it does not serve go to the chooser.
class Flow : public ::testing::TestWithParam<const char*> {};

TEST_P(Flow, AllToAllInAndOutOfPlace) {
  const Environment environment({{"MYCEL_TOPO", GetParam()}, {"MYCEL_PLANNER", "flow"}});
  const Ranks ranks(GalleryTopology(GetParam())->rank_count());
  for (const size_t count : {0, 1, 5, 97, 10007}) {
    for (const bool in_place : {false, true}) {
      RunCase(ranks, {Collective::kAllToAll, DataType::kInt32, ReduceOp::kSum, count, -1, in_place});
    }
  }
  RunCase(ranks, {Collective::kAllReduce, DataType::kInt32, ReduceOp::kSum, 97, -1, false});
}

INSTANTIATE_TEST_SUITE_P(
    Topologies, Flow,
    ::testing::ValuesIn(FewUnderThreadSanitizer<const char*>({"fullmesh-2", "ring3", "star-4-4-2-2", "ring5",
                                                              "torus-3x2", "ring7", "hypercube-3", "mesh-3x3"})));

TEST(Collectives, RandomMixOfEverythingInOneOrder) {
  Ranks ranks(4);
  const uint64_t seed = 20240611;
  Rng rng(seed);
  SCOPED_TRACE("seed " + std::to_string(seed));
  const std::vector<Collective> all = Regular();
  for (int i = 0; i < 300; ++i) {
    Case it;
    it.collective = all[rng.Below(all.size())];
    it.type = AllDataTypes()[rng.Below(AllDataTypes().size())];
    const std::vector<ReduceOp> ops = ReduceOpsFor(it.type);
    it.op = InfoOf(it.collective).reduces ? ops[rng.Below(ops.size())] : ReduceOp::kSum;
    it.count = rng.Below(rng.Below(4) == 0 ? 40000 : 300);
    it.root = InfoOf(it.collective).rooted ? static_cast<int>(rng.Below(4)) : -1;
    it.in_place = rng.Below(2) == 0;
    RunCase(ranks, it, rng.Below(3));
  }
}

}  // namespace
}  // namespace mycel
