#include "scheduler/flow/translations.h"

#include <algorithm>
#include <set>
#include <utility>

#include "core/base/check.h"

namespace mycel::flow {
namespace {

/// Looks for radixes, largest first: few digits mean few classes of edges.
class RadixSearch {
 public:
  explicit RadixSearch(const FlowGraph& graph) : graph_(graph) {}

  bool Run(int32_t stride, std::vector<int32_t>* radixes) {
    if (stride == graph_.rank_count) return true;
    if (!tried_.insert(stride).second) return false;
    const int32_t rest = graph_.rank_count / stride;
    for (int32_t radix = rest; radix >= 2; --radix) {
      if (rest % radix != 0 || !IsTranslation(stride, radix)) continue;
      radixes->push_back(radix);
      if (Run(stride * radix, radixes)) return true;
      radixes->pop_back();
    }
    return false;
  }

 private:
  static int32_t Next(int32_t rank, int32_t stride, int32_t radix) {
    return rank / stride % radix == radix - 1 ? rank - stride * (radix - 1) : rank + stride;
  }

  bool IsTranslation(int32_t stride, int32_t radix) const {
    return std::all_of(graph_.edges.begin(), graph_.edges.end(), [&](const FlowGraph::Edge& edge) {
      const int32_t image = graph_.Find(Next(edge.source, stride, radix), Next(edge.target, stride, radix));
      return image >= 0 && graph_.edges[static_cast<size_t>(image)].capacity == edge.capacity;
    });
  }

  const FlowGraph& graph_;
  std::set<int32_t> tried_;  // strides from which there is no way on
};

}  // namespace

std::optional<Translations> Translations::Find(const FlowGraph& graph) {
  if (graph.HasSwitches() || graph.rank_count < 2) return std::nullopt;
  Translations found;
  if (!RadixSearch(graph).Run(1, &found.radixes_)) return std::nullopt;
  return found;
}

int32_t Translations::Add(int32_t rank, int32_t offset) const {
  int32_t sum = 0, stride = 1;
  for (const int32_t radix : radixes_) {
    sum += (rank / stride % radix + offset / stride % radix) % radix * stride;
    stride *= radix;
  }
  return sum;
}

int32_t Translations::Subtract(int32_t other, int32_t rank) const {
  int32_t difference = 0, stride = 1;
  for (const int32_t radix : radixes_) {
    difference += (other / stride % radix + radix - rank / stride % radix) % radix * stride;
    stride *= radix;
  }
  return difference;
}

FlowProblem TranslatedProblem(const FlowGraph& graph, const Demand& demand, const Translations& translations) {
  FlowProblem problem{graph, demand, {0}, {}, {}};
  for (int32_t e = 0; e < graph.first_out[1]; ++e) {
    problem.class_capacity.push_back(graph.edges[static_cast<size_t>(e)].capacity);
  }
  for (const FlowGraph::Edge& edge : graph.edges) {
    const int32_t first = graph.Find(0, translations.Subtract(edge.target, edge.source));
    MYCEL_CHECK_GE(first, 0);
    problem.class_of.push_back(first);  // edges out of rank 0 come first
  }
  return problem;
}

}  // namespace mycel::flow
