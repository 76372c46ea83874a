// Expansion: from stages to the paths of bytes. A rank needs those that begin, pass or end at it: its server's row and
// column of tiles.
#pragma once

#include <cstdint>
#include <vector>

#include "core/base/ids.h"
#include "scheduler/fast/cluster.h"
#include "scheduler/fast/stages.h"
#include "scheduler/fast/tile.h"

namespace mycel::fast {

/// Bytes [begin, end) of what `source` has for `target`: source -> sender -> receiver -> target, where equal neighbours
/// are one rank. Sender and receiver are the ends of a leg.
struct Path {
  int32_t stage = 0;
  Rank source;
  Rank sender;
  Rank receiver;
  Rank target;
  int64_t begin = 0;
  int64_t end = 0;
};

/// Everything that is known after ChooseStages, for all ranks; plain data to expand from.
struct Exchange {
  const Cluster* cluster = nullptr;
  const int64_t* demand = nullptr;  // ranks x ranks bytes, row = sender
  Stages stages;
  StageMatrix traffic;  // bytes from server to server
};

/// Bytes from server to server; the diagonal is left at zero. O(ranks^2). The total of `demand` must fit 62 bits.
StageMatrix TrafficOf(const Cluster& cluster, const int64_t* demand);

class Expander {
 public:
  explicit Expander(const Exchange& exchange) : exchange_(exchange), cuts_(exchange.stages.list) {}

  /// Appends the paths from server `a` to server `b` (different), by leg, then stage.
  void AddTile(int32_t a, int32_t b, std::vector<Path>* paths);
  /// Appends the paths of one server's ranks and those to them: all that its ranks' programs consist of, but for what
  /// stays within the server.
  void AddServer(int32_t server, std::vector<Path>* paths);

  /// Of all tiles so far: bytes that moved within their source servers.
  int64_t moved() const { return moved_; }

 private:
  void CopyTile(int32_t a, int32_t b);

  const Exchange& exchange_;
  Cuts cuts_;
  Pair pair_;
  TileBalancer balancer_;
  std::vector<int64_t> cells_;
  int64_t moved_ = 0;
};

}  // namespace mycel::fast
