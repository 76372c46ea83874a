// Shared memory: ranks of one server, as processes or as threads, work on one anonymous piece of memory (segment.h)
// that the lowest of them makes and hands to the others (handover.h). What each rank's Connect does, in order:
//
//   1 group    the ranks on this server, by the hints in their addresses; the lowest is the leader
//   2 watch    a pidfd for each peer process
//   3 map      leader: make the segment, hand it over; others: receive it, map it, read the token
//   4 take     the pages of the region of one's own inbound channels
//   5 probe    read a random word in each peer's memory (process_vm_readv)
//   6 agree    wait until all have come so far; direct reads are on when everybody's probes worked
//
// Afterwards no socket is open and no descriptor but one pidfd for each peer process, shared by all communicators.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/spi/transport.h"
#include "transport/bootstrap/sockets.h"
#include "transport/shm/handover.h"
#include "transport/shm/peer_process.h"
#include "transport/shm/segment.h"
#include "transport/shm/shared_block.h"

namespace mycel {

enum class DirectMode : uint8_t {
  kAuto,  // where it works
  kOn,    // an error where it does not
  kOff,   // never, not even between threads of one process
};

struct ShmOptions {
  HugePages huge_pages = HugePages::kAuto;
  DirectMode direct = DirectMode::kAuto;
};

class ShmTransport final : public Transport {
 public:
  explicit ShmTransport(const ShmOptions& shm_options = ShmOptions()) : shm_options_(shm_options) {}
  ~ShmTransport() override;
  ShmTransport(const ShmTransport&) = delete;
  ShmTransport& operator=(const ShmTransport&) = delete;

  std::string_view name() const override { return "shm"; }
  StatusOr<std::string> Prepare(const TransportOptions& options) override;
  Status Connect(const std::vector<std::string>& addresses, Deadline deadline) override;
  bool Reaches(Rank peer) const override { return MemberOf(peer) >= 0; }
  StatusOr<ChannelEnd> OpenSend(Rank target, int32_t index) override;
  StatusOr<ChannelEnd> OpenRecv(Rank source, int32_t index) override;
  RankBoard* BoardOf(Rank rank) override;
  Status CheckAlive(Rank peer) override;
  std::string ConditionOf(Rank peer) override;
  bool AllReadDirectly() const override { return direct_read_; }
  std::string WhyNotDirectly() const override { return direct_read_ ? std::string() : direct_refusal_; }
  Status DirectRead(Rank peer, uint64_t address, void* target, size_t bytes) override;
  int32_t MapWindow(uint64_t window, const std::vector<WindowPart>& parts) override;
  void UnmapWindow(uint64_t window) override;
  uint64_t WindowReads() const override { return window_reads_; }
  size_t MemoryBytes() const override;

 private:
  struct Member {
    HandoverMember who;
    ProcessIdentity identity;
    bool same_process = false;
    std::shared_ptr<PeerProcess> process;  // null for threads of this process and where its id means nothing here
    std::vector<std::pair<uint64_t, PeerWindow>> windows;  // by number
  };

  int32_t MemberOf(Rank rank) const;
  Member& Self() { return members_[static_cast<size_t>(self_)]; }
  Status Group(const std::vector<std::string>& addresses);
  Status Watch();
  Status Map(Deadline deadline);
  void PublishMapped();
  Status AfterMapping(Deadline deadline);
  StatusOr<uint32_t> Probe();
  Status WaitForAll(MemberPhase phase, const char* what, Deadline deadline);
  Status AgreeOnDirect();
  std::string WhyNoDirectReads();
  void WriteText(const std::string& text);
  Status CheckMember(int32_t member) const;
  Status CheckAllAlive() const;
  void SetPhase(MemberPhase phase);
  Status Fail(const Status& status);
  StatusOr<ChannelEnd> Open(Rank source, Rank target, int32_t index);

  const ShmOptions shm_options_;
  TransportOptions options_;
  // Prepare
  Fd listener_;
  std::string address_;
  const std::unique_ptr<uint64_t> probe_word_ = std::make_unique<uint64_t>(0);
  // Connect
  std::vector<Member> members_;
  std::vector<int32_t> member_of_;  // per rank; -1: on another server
  int32_t self_ = -1;
  std::string direct_refusal_ = "no other rank is on this server";
  std::string leader_socket_;
  HandoverKey key_;
  Fd memory_;  // until Connect ends
  std::shared_ptr<Segment> segment_;
  std::unique_ptr<RankBoard> solo_board_;  // instead of a segment when no other rank is on this server
  bool connected_ = false;
  bool same_address_space_ = false;  // threads of one process may use each other's pointers
  bool direct_read_ = false;
  uint64_t window_reads_ = 0;
};

}  // namespace mycel
