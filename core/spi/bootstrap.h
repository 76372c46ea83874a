// Bootstrap: how ranks meet before channels exist. Blocking, used at communicator creation only.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/base/clock.h"
#include "core/base/ids.h"
#include "core/base/status.h"

namespace mycel {

/// One communicator's meeting point. Owned and used by one thread at a time.
class Bootstrap {
 public:
  virtual ~Bootstrap() = default;
  virtual Rank rank() const = 0;
  virtual int32_t rank_count() const = 0;
  /// Collective: every rank gives `mine`, gets everyone's in rank order. TimeoutError names the ranks that are missing;
  /// RemoteError one that left.
  virtual StatusOr<std::vector<std::string>> AllGather(const std::string& mine, Deadline deadline) = 0;
  /// What this rank has sent and received so far. An exchange is one message each way for a rank, so n ranks that make
  /// a communicator in a constant number of exchanges send O(n) messages in all.
  int64_t messages() const { return messages_; }
  /// Collective without data.
  Status Barrier(Deadline deadline) { return AllGather(std::string(), deadline).status(); }

 protected:
  int64_t messages_ = 0;
};

}  // namespace mycel
