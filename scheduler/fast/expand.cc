#include "scheduler/fast/expand.h"

#include <algorithm>

#include "core/base/check.h"
#include "core/base/int128.h"

namespace mycel::fast {

StageMatrix TrafficOf(const Cluster& cluster, const int64_t* demand) {
  const auto n = static_cast<size_t>(cluster.rank_count());
  StageMatrix traffic(cluster.server_count());
  for (size_t g = 0; g < n; ++g) {
    const int64_t* row = demand + g * n;
    int64_t* sums = traffic.entries.data() + traffic.Index(cluster.server_of[g], 0);
    const int32_t* server_of = cluster.server_of.data();
    for (size_t h = 0; h < n; ++h) sums[server_of[h]] += row[h];
  }
  for (int32_t a = 0; a < traffic.size; ++a) traffic.At(a, a) = 0;
  return traffic;
}

void Expander::CopyTile(int32_t a, int32_t b) {
  const Server& from = exchange_.cluster->at(a);
  const Server& to = exchange_.cluster->at(b);
  const auto n = static_cast<size_t>(exchange_.cluster->rank_count());
  cells_.clear();
  for (const Rank g : from.ranks) {
    const int64_t* row = exchange_.demand + g.index() * n;
    for (const Rank h : to.ranks) cells_.push_back(row[h.index()]);
  }
}

void Expander::AddTile(int32_t a, int32_t b, std::vector<Path>* paths) {
  MYCEL_DCHECK(a != b);
  if (exchange_.traffic.At(a, b) == 0) return;
  const Server& from = exchange_.cluster->at(a);
  const Server& to = exchange_.cluster->at(b);
  JoinServers(*exchange_.cluster, a, b, &pair_);
  CopyTile(a, b);
  const auto columns = static_cast<int32_t>(to.ranks.size());
  balancer_.Balance(pair_, exchange_.stages.unit_bytes, a + b, cells_.data(), static_cast<int32_t>(from.ranks.size()),
                    columns, columns);
  moved_ += balancer_.moved();
  const int64_t units = exchange_.stages.matrix.At(a, b);
  const int64_t unit_bytes = exchange_.stages.unit_bytes;
  int32_t sender = -1;
  const Piece* piece = nullptr;
  int64_t used = 0;  // of `piece`
  for (size_t l = 0; l < pair_.legs.size(); ++l) {
    const Leg& leg = pair_.legs[l];
    const int64_t quota = balancer_.quotas()[l];
    if (leg.sender != sender) {
      sender = leg.sender;
      piece = balancer_.QueueBegin(sender);
      used = 0;
    }
    int64_t sent = 0;  // of the quota
    for (const Cut* cut = cuts_.Begin(a, b); cut != cuts_.End(a, b); ++cut) {
      int64_t until = quota;
      if (cut->end < units) {
        until = static_cast<int64_t>(static_cast<int128>(quota) * cut->end / units) / unit_bytes * unit_bytes;
      }
      while (sent < until) {
        const int64_t bytes = std::min(until - sent, piece->bytes - used);
        const int64_t begin = piece->offset + used;
        paths->push_back({cut->stage, from.ranks[static_cast<size_t>(piece->row)],
                          from.ranks[static_cast<size_t>(leg.sender)], to.ranks[static_cast<size_t>(leg.receiver)],
                          to.ranks[static_cast<size_t>(piece->column)], begin, begin + bytes});
        sent += bytes;
        used += bytes;
        if (used == piece->bytes) {
          ++piece;
          used = 0;
        }
      }
    }
    MYCEL_DCHECK(sent == quota);
  }
}

void Expander::AddServer(int32_t server, std::vector<Path>* paths) {
  for (int32_t other = 0; other < exchange_.cluster->server_count(); ++other) {
    if (other == server) continue;
    AddTile(server, other, paths);
    AddTile(other, server, paths);
  }
}

}  // namespace mycel::fast
