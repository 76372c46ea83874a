#include "core/base/cancel.h"

#include <utility>

namespace mycel {
namespace {

constinit thread_local const std::atomic<uint64_t>* t_word = nullptr;
constinit thread_local uint64_t t_running = 0;

}  // namespace

CancelScope::CancelScope(const std::atomic<uint64_t>* word, uint64_t running)
    : outer_word_(std::exchange(t_word, word)), outer_running_(std::exchange(t_running, running)) {}

CancelScope::~CancelScope() {
  t_word = outer_word_;
  t_running = outer_running_;
}

bool Cancellable() { return t_word != nullptr; }

// relaxed: nothing is published with the word; a late sight ends the wait at the next glance.
bool Cancelled() { return t_word != nullptr && t_word->load(std::memory_order_relaxed) != t_running; }

Status CheckCancelled(const std::string& who) {
  return Cancelled() ? AbortedError(who + ": the communicator was aborted while it was made") : OkStatus();
}

}  // namespace mycel
