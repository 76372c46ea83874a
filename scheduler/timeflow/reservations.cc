#include "scheduler/timeflow/reservations.h"

#include <algorithm>

#include "core/base/check.h"

namespace mycel::timeflow {

bool Reservations::LinkFits(int32_t edge, int32_t epoch) const {
  const EpochGraph::Edge& link = graph_.edges[static_cast<size_t>(edge)];
  const std::vector<int32_t>& used = used_[static_cast<size_t>(edge)];
  const auto end = static_cast<int32_t>(used.size());
  if (link.window == 1) return epoch >= end || used[static_cast<size_t>(epoch)] < link.burst;
  // A chunk keeps a slow link for the whole window: none may start in the windows around it.
  for (int32_t at = std::max(0, epoch - link.window + 1); at < std::min(end, epoch + link.window); ++at) {
    if (used[static_cast<size_t>(at)] > 0) return false;
  }
  return true;
}

bool Reservations::Fits(const EpochGraph::Hop& hop, int32_t epoch, size_t first) const {
  for (size_t i = 0; i < hop.edges.size(); ++i) {
    if (i >= first && !LinkFits(hop.edges[i], epoch)) return false;
    epoch += graph_.edges[static_cast<size_t>(hop.edges[i])].delay;
  }
  return true;
}

int32_t Reservations::Earliest(const EpochGraph::Hop& hop, int32_t epoch) {
  for (;; ++epoch) {
    ++probes_;
    if (Fits(hop, epoch)) return epoch;
  }
}

void Reservations::Add(const EpochGraph::Hop& hop, int32_t epoch, size_t first, int32_t chunks) {
  for (size_t i = 0; i < hop.edges.size(); ++i) {
    const auto at = static_cast<size_t>(epoch);
    if (i >= first) {
      std::vector<int32_t>& used = used_[static_cast<size_t>(hop.edges[i])];
      if (used.size() <= at) used.resize(at + 1);
      used[at] += chunks;
      MYCEL_DCHECK(used[at] >= 0);
    }
    epoch += graph_.edges[static_cast<size_t>(hop.edges[i])].delay;
  }
}

void Reservations::Clear() {
  for (std::vector<int32_t>& used : used_) used.clear();
}

}  // namespace mycel::timeflow
