#include "transport/ipc/talk.h"

#include <algorithm>
#include <cstring>

#include "core/base/cancel.h"
#include "core/base/check.h"
#include "core/base/wait.h"

namespace mycel {
namespace {

// A rank is at most one round ahead of another: what it says in the next one lies beside what it has said in this.
constexpr uint64_t kSlots = 2;

std::byte* SlotOf(const ChannelEnd& end) { return end.payload + end.step % kSlots * Talk::kTextBytesMax; }

void Say(ChannelEnd* end, const std::string& text) {
  MYCEL_CHECK(text.size() <= Talk::kTextBytesMax);
  SlotHeader& header = end->headers[end->step % kSlotCountMax];
  header.bytes = static_cast<uint32_t>(text.size());
  std::memcpy(SlotOf(*end), text.data(), text.size());
  // release: publishes the text; pairs with the acquire in Hear.
  header.flag.store(++end->step, std::memory_order_release);
}

bool Hear(ChannelEnd* end, std::string* text) {
  const SlotHeader& header = end->headers[end->step % kSlotCountMax];
  // acquire: pairs with the release in Say.
  if (header.flag.load(std::memory_order_acquire) != end->step + 1) return false;
  const size_t bytes = std::min(size_t{header.bytes}, Talk::kTextBytesMax);
  text->assign(reinterpret_cast<const char*>(SlotOf(*end)), bytes);
  ++end->step;
  return true;
}

}  // namespace

StatusOr<Talk> Talk::Open(Transport* transport, const std::vector<Rank>& peers, int32_t index) {
  Talk talk(transport, peers);
  for (const Rank peer : peers) {
    MYCEL_ASSIGN_OR_RETURN(const ChannelEnd out, transport->OpenSend(peer, index));
    MYCEL_ASSIGN_OR_RETURN(const ChannelEnd in, transport->OpenRecv(peer, index));
    MYCEL_CHECK(out.payload_bytes >= kSlots * kTextBytesMax);
    talk.out_.push_back(out);
    talk.in_.push_back(in);
  }
  return talk;
}

StatusOr<std::vector<std::string>> Talk::Round(const std::vector<std::string>& say, Deadline deadline) {
  MYCEL_CHECK_EQ(say.size(), peers_.size());
  for (size_t i = 0; i < peers_.size(); ++i) Say(&out_[i], say[i]);
  std::vector<std::string> heard(peers_.size());
  WaitPolicy policy;
  policy.oversubscribed = true;
  for (size_t i = 0; i < peers_.size(); ++i) {
    Waiter waiter(policy, nullptr);
    Status verdict;
    while (!Hear(&in_[i], &heard[i])) {
      // It may have spoken and left between the two looks.
      MYCEL_RETURN_IF_ERROR(verdict);
      if (!waiter.Pause()) continue;
      MYCEL_RETURN_IF_ERROR(CheckCancelled("connecting devices"));
      verdict = transport_->CheckAlive(peers_[i]);
      if (verdict.ok() && deadline.Passed()) {
        verdict = TimeoutError("waited until the deadline for rank " + std::to_string(peers_[i].value()) +
                               " to connect its device: see why it is late, or raise the timeout");
      }
    }
  }
  return heard;
}

}  // namespace mycel
