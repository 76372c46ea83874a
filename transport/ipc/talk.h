// Talk: what the ranks of a server say to each other while they connect, over a channel of a transport that is
// connected already. In rounds: every rank says something to every other, then hears what each has said.
#pragma once

#include <string>
#include <vector>

#include "core/spi/transport.h"

namespace mycel {

class Talk {
 public:
  static constexpr size_t kTextBytesMax = 2048;

  /// `index`: of the channel of each pair, which nobody else uses. `peers`: whom `transport` reaches, without `self`.
  static StatusOr<Talk> Open(Transport* transport, const std::vector<Rank>& peers, int32_t index);

  /// `say[i]` goes to peers[i]; returns what each has said. RemoteError: one died or left. Timeout names who is late.
  StatusOr<std::vector<std::string>> Round(const std::vector<std::string>& say, Deadline deadline);

 private:
  Talk(Transport* transport, std::vector<Rank> peers) : transport_(transport), peers_(std::move(peers)) {}

  Transport* transport_;
  std::vector<Rank> peers_;
  std::vector<ChannelEnd> out_;
  std::vector<ChannelEnd> in_;
};

}  // namespace mycel
