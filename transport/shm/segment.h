// Segment: the one piece of shared memory of a communicator on a server. Anonymous (memfd): it has no name anywhere and
// is gone when the last mapping is, however its holders end.
//
//   control   SegmentHeader | MemberState per member | RankBoard per member      (filled by the leader)
//   region 0  the channels towards member 0: source 1 index 0, 1, ..., source 2 index 0, 1, ...
//   region 1  ...
//
// A *member* is a rank's place among the communicator's ranks on this server, in rank order; the leader is member 0.
// A region is allocated by its own member, so that its pages lie near the core that reads them.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "core/spi/board.h"
#include "core/spi/channel.h"
#include "transport/bootstrap/sockets.h"

namespace mycel {

enum class HugePages : uint8_t {
  kOff,
  kAuto,  // ask for transparent huge pages; do without where the kernel refuses
  kOn,    // from the pool of vm.nr_hugepages; an error when it is too small
};

/// Nobody else can know it: whoever reads it through a mapping has mapped the leader's memory.
struct SegmentToken {
  uint64_t words[2] = {0, 0};
  static SegmentToken Random();
  friend bool operator==(const SegmentToken&, const SegmentToken&) = default;
};

struct SegmentHeader {
  SegmentToken token;
};

/// How far a member's Connect has come. Only ever grows; kFailed and kLeft are final.
enum class MemberPhase : uint32_t { kAbsent = 0, kMapped = 1, kReady = 2, kFailed = 3, kLeft = 4 };

/// Bits of what a member allows and can do; the members do what all of them can.
enum DirectAbility : uint32_t {
  kDirectAllowed = 1,  // the user did not switch direct reads off
  kDirectReads = 2,    // this member could read every other member's probe word
};

/// Written by its member, read by all.
struct alignas(128) MemberState {
  std::atomic<uint32_t> phase;  // MemberPhase; a release store publishes what follows
  uint32_t direct;              // from kReady: DirectAbility
  uint64_t probe_address;       // from kMapped: where the probe word lies in the member's address space
  uint64_t probe_word;          // its value
  uint32_t failure_code;        // with kFailed: the StatusCode ...
  char failure_text[484];       // ... and why; from kReady without kDirectReads: why not. Zero terminated
};
static_assert(sizeof(MemberState) == 512);

/// Where everything lies; every member computes the same numbers.
struct SegmentLayout {
  int32_t members = 0;
  int32_t channels_per_pair = 0;
  size_t payload_bytes = 0;
  size_t page_bytes = 4096;

  size_t ControlBytes() const;
  size_t RegionBytes() const;
  size_t RegionAt(int32_t member) const;
  size_t TotalBytes() const { return RegionAt(members); }
  /// Offset of a channel; source != target.
  size_t ChannelAt(int32_t source, int32_t target, int32_t index) const;
};

/// A mapping. Threads of one process that belong to the same communicator share one.
class Segment {
 public:
  /// Memory and its descriptor, which is needed until every member has mapped and allocated.
  struct Made;

  /// The leader's part: makes the memory, allocates the control part and writes the token. `layout.page_bytes` is set.
  /// `who` opens error texts ("rank 0"). SystemError says how much is needed and available, and the cure.
  static StatusOr<Made> Make(SegmentLayout layout, HugePages huge_pages, const std::string& who);
  /// The others' part: maps the memory behind `fd` and proves it by the token.
  static StatusOr<std::shared_ptr<Segment>> Map(int fd, const SegmentLayout& layout, const SegmentToken& token,
                                                const std::string& who);

  ~Segment();
  Segment(const Segment&) = delete;
  Segment& operator=(const Segment&) = delete;

  /// Takes the pages of `member`'s region, so that touching them later cannot fail.
  Status AllocateRegion(int fd, int32_t member, HugePages huge_pages, const std::string& who);

  const SegmentLayout& layout() const { return layout_; }
  MemberState& StateOf(int32_t member);
  RankBoard& BoardOf(int32_t member);
  std::byte* ChannelAt(int32_t source, int32_t target, int32_t index) {
    return base_ + layout_.ChannelAt(source, target, index);
  }

 private:
  Segment(std::byte* base, const SegmentLayout& layout) : base_(base), layout_(layout) {}
  static StatusOr<std::shared_ptr<Segment>> MapFd(int fd, const SegmentLayout& layout, const std::string& who);
  SegmentHeader& header() { return *reinterpret_cast<SegmentHeader*>(base_); }

  std::byte* const base_;
  const SegmentLayout layout_;
};

struct Segment::Made {
  std::shared_ptr<Segment> segment;
  Fd fd;
  SegmentToken token;
};

}  // namespace mycel
