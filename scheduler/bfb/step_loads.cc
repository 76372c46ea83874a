#include "scheduler/bfb/step_loads.h"

#include <algorithm>
#include <unordered_map>

#include "scheduler/bfb/arrivals.h"

namespace mycel::bfb {
std::vector<Rational> StepLoads(const RankGraph& graph, const std::vector<uint16_t>& distances) {
  std::vector<Rational> loads;
  std::unordered_map<ProblemKey, Rational, ProblemKeyHash> known;
  ArrivalReader reader(graph, distances);
  ProblemKey key;
  for (int32_t rank = 0; rank < graph.rank_count; ++rank) {
    for (const Arrival& arrival : reader.Read(rank)) {
      reader.WriteKey(arrival, &key);
      auto at = known.find(key);
      if (at == known.end()) at = known.emplace(key, LeastLoad(reader.ProblemOf(arrival))).first;
      const auto step = static_cast<size_t>(arrival.step);
      if (loads.size() < step) loads.resize(step);
      loads[step - 1] = std::max(loads[step - 1], at->second);
    }
  }
  return loads;
}

StatusOr<Rational> NsPerByte(const std::vector<Rational>& loads, const Rational& unit) {
  Rational sum;
  for (const Rational& load : loads) {
    MYCEL_ASSIGN_OR_RETURN(sum, Rational::TryAdd(sum, load));
  }
  return Rational::TryMultiply(sum, Rational(1) / unit);
}

}  // namespace mycel::bfb
