// The last calls of a rank, kept on its board, so that two ranks that disagree can name the call they disagree about: a
// rank that only sends may be several calls further when the others find out.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace mycel {

/// What a rank called.
struct CallRecord {
  uint64_t operation = 0;  // sequence number, from 1; 0: no such record
  uint32_t signature = 0;
  uint32_t collective = 0;  // as RankBoard has it
  uint32_t type = 0;
  uint32_t op = 0;
  int32_t root = -1;
  uint64_t count = 0;
  uint32_t counts_hash = 0;  // v-collectives
  // What the call itself asked for (core/runtime/call_settings.h); zeros: nothing.
  uint32_t settings = 0;  // its numbers, packed
  char planner[16] = {};  // its planner, cut off and terminated

  friend bool operator==(const CallRecord&, const CallRecord&) = default;
};

/// Zeros are an empty history. Writer: the board's owner. Readers: all. Number and signature are one word, so that a
/// reader never sees those of two calls mixed; the other fields may be of a later call, harmless in an error text.
class CallHistory {
 public:
  static constexpr size_t kKept = 16;

  void Post(const CallRecord& call) {
    Entry& entry = entries_[call.operation % kKept];
    entry.count.store(call.count, std::memory_order_relaxed);
    entry.what.store(call.collective << 16 | call.type << 8 | call.op, std::memory_order_relaxed);
    entry.root.store(call.root, std::memory_order_relaxed);
    entry.counts_hash.store(call.counts_hash, std::memory_order_relaxed);
    entry.settings.store(call.settings, std::memory_order_relaxed);
    uint64_t name[2];
    std::memcpy(name, call.planner, sizeof(name));
    entry.planner[0].store(name[0], std::memory_order_relaxed);
    entry.planner[1].store(name[1], std::memory_order_relaxed);
    // release: publishes the fields; pairs with the acquire in Find.
    entry.agreement.store(call.operation << 32 | call.signature, std::memory_order_release);
  }

  CallRecord Find(uint64_t operation) const {
    const Entry& entry = entries_[operation % kKept];
    CallRecord call;
    // acquire: pairs with the release in Post.
    const uint64_t agreement = entry.agreement.load(std::memory_order_acquire);
    if (agreement == 0 || agreement >> 32 != (operation & 0xffffffffU)) return call;
    call.operation = operation;
    call.signature = static_cast<uint32_t>(agreement);
    call.count = entry.count.load(std::memory_order_relaxed);
    const uint32_t what = entry.what.load(std::memory_order_relaxed);
    call.collective = what >> 16;
    call.type = what >> 8 & 0xffU;
    call.op = what & 0xffU;
    call.root = entry.root.load(std::memory_order_relaxed);
    call.counts_hash = entry.counts_hash.load(std::memory_order_relaxed);
    call.settings = entry.settings.load(std::memory_order_relaxed);
    const uint64_t name[2] = {entry.planner[0].load(std::memory_order_relaxed),
                              entry.planner[1].load(std::memory_order_relaxed)};
    std::memcpy(call.planner, name, sizeof(name));
    call.planner[sizeof(call.planner) - 1] = 0;
    return call;
  }

 private:
  struct Entry {
    std::atomic<uint64_t> agreement;  // low half of the sequence number, then the signature
    std::atomic<uint64_t> count;
    std::atomic<uint32_t> what;
    std::atomic<int32_t> root;
    std::atomic<uint32_t> counts_hash;
    std::atomic<uint32_t> settings;
    std::atomic<uint64_t> planner[2];
  };
  static_assert(sizeof(Entry) == 48);

  Entry entries_[kKept];
};
static_assert(sizeof(CallHistory) == 768);

}  // namespace mycel
