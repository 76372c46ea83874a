// VectorPlan: how one rank runs one matrix of an alltoallv; VectorPlans: those a communicator remembers.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "core/runtime/call.h"
#include "core/runtime/call_facts.h"
#include "core/runtime/counts.h"
#include "core/spi/launch.h"

namespace mycel {

/// One rank's part of a plan for one matrix, bound. Owner: the thread inside the communicator whose channels it uses.
struct VectorPlan {
  uint64_t key = 0;
  std::vector<uint64_t> send_bytes;  // the rank's row
  std::vector<uint64_t> recv_bytes;  // the rank's column
  uint64_t send_total = 0;
  uint64_t recv_total = 0;
  std::string planner;
  uint64_t plan_hash = 0;
  bool as_messages = false;  // has no program: legs do what the plan says with less
  std::unique_ptr<BoundProgram> program;
  uint64_t last_used = 0;  // operation
};

/// A matrix and its transpose, with the element that displacements count in.
struct VectorPair {
  VectorPlan dispatch;
  VectorPlan combine;
  size_t element_bytes = 1;
};

/// What a communicator keeps for its exchanges, so that one that comes again costs a look-up and allocates nothing.
struct VectorPlans {
  /// Every rank makes the same calls, so every rank forgets the same matrix: ranks agree about what they know.
  static constexpr size_t kMost = 64;

  std::unordered_map<uint64_t, std::unique_ptr<VectorPlan>> known;
  CountsWord word{};
  std::vector<CountsWord> words;
  std::vector<uint64_t> table;   // the rank's row, then its column, in elements
  std::vector<uint64_t> tables;  // of all ranks
  uint64_t key = 0;              // of the matrix at hand
  std::vector<PointCall> legs;
  // Made, and not yet agreed upon.
  std::unique_ptr<VectorPlan> pending;
  VectorPair pending_pair;
  CallFacts last_move;  // of the last exchange
};

}  // namespace mycel
