#include "scheduler/bfb/arrivals.h"

#include <algorithm>
#include <bit>

#include "core/base/check.h"

namespace mycel::bfb {
namespace {

/// Keys are step << kPatternBits | pattern; the pattern is a bit for each way, or a number where that is not enough.
constexpr int32_t kPatternBits = 48;
constexpr uint64_t kPatternMask = (uint64_t{1} << kPatternBits) - 1;
static_assert(kRankCountMax <= 1 << 16);

size_t HashOf(uint64_t key) {
  key *= 0x9E3779B97F4A7C15ULL;
  return static_cast<size_t>(key ^ (key >> 29));
}

}  // namespace

size_t ProblemKeyHash::operator()(const ProblemKey& key) const {
  uint64_t hash = 0xCBF29CE484222325ULL;
  for (const uint64_t word : key) hash = (hash ^ word) * 0x9E3779B97F4A7C15ULL + (hash >> 32);
  return static_cast<size_t>(hash ^ (hash >> 29));
}

ArrivalReader::ArrivalReader(const RankGraph& graph, const std::vector<uint16_t>& distances)
    : graph_(graph),
      distances_(distances),
      key_of_source_(static_cast<size_t>(graph.rank_count)),
      table_(std::bit_ceil(2 * static_cast<size_t>(graph.rank_count) + 2)) {}

uint64_t ArrivalReader::PatternOf(int32_t source, uint16_t distance) {
  const auto s = static_cast<size_t>(source);
  if (ways_.size() <= kPatternBits) {
    uint64_t pattern = 0;
    for (size_t w = 0; w < ways_.size(); ++w) pattern |= uint64_t{ways_[w][s] + 1 == distance} << w;
    return pattern;
  }
  std::vector<int32_t> ways;
  for (size_t w = 0; w < ways_.size(); ++w) {
    if (ways_[w][s] + 1 == distance) ways.push_back(static_cast<int32_t>(w));
  }
  const auto [at, fresh] = wide_.try_emplace(ways, wide_ways_.size());
  if (fresh) wide_ways_.push_back(std::move(ways));
  return at->second;
}

const std::vector<Arrival>& ArrivalReader::Read(int32_t rank) {
  const auto n = static_cast<size_t>(graph_.rank_count);
  rank_ = rank;
  ways_.clear();
  for (int32_t e = graph_.first_in[static_cast<size_t>(rank)]; e < graph_.first_in[static_cast<size_t>(rank) + 1]; ++e)
    ways_.push_back(&distances_[static_cast<size_t>(graph_.edges[static_cast<size_t>(e)].source) * n]);
  const uint16_t* own = &distances_[static_cast<size_t>(rank) * n];
  for (const uint64_t key : keys_) {
    for (size_t at = HashOf(key) & (table_.size() - 1); table_[at].key != 0; at = (at + 1) & (table_.size() - 1))
      table_[at] = {};
  }
  keys_.clear();
  for (size_t source = 0; source < n; ++source) {
    const uint16_t distance = own[source];
    key_of_source_[source] = 0;
    if (distance == 0) continue;
    const uint64_t key = uint64_t{distance} << kPatternBits | PatternOf(static_cast<int32_t>(source), distance);
    key_of_source_[source] = key;
    size_t at = HashOf(key) & (table_.size() - 1);
    while (table_[at].key != 0 && table_[at].key != key) at = (at + 1) & (table_.size() - 1);
    if (table_[at].key == 0) {
      table_[at].key = key;
      keys_.push_back(key);
    }
    ++table_[at].count;
  }
  std::sort(keys_.begin(), keys_.end());
  arrivals_.clear();
  for (const uint64_t key : keys_) {
    const auto step = static_cast<int32_t>(key >> kPatternBits);
    if (arrivals_.empty() || arrivals_.back().step != step) arrivals_.emplace_back().step = step;
    size_t at = HashOf(key) & (table_.size() - 1);
    while (table_[at].key != key) at = (at + 1) & (table_.size() - 1);
    arrivals_.back().patterns.push_back(key & kPatternMask);
    arrivals_.back().counts.push_back(table_[at].count);
  }
  return arrivals_;
}

HallProblem ArrivalReader::ProblemOf(const Arrival& arrival) const {
  HallProblem problem;
  const auto rank = static_cast<size_t>(rank_);
  for (int32_t e = graph_.first_in[rank]; e < graph_.first_in[rank + 1]; ++e)
    problem.capacities.push_back(graph_.edges[static_cast<size_t>(e)].capacity);
  for (size_t g = 0; g < arrival.patterns.size(); ++g) {
    HallProblem::Group& group = problem.groups.emplace_back();
    group.sources = arrival.counts[g];
    const uint64_t pattern = arrival.patterns[g];
    if (ways_.size() > kPatternBits) {
      group.ways = wide_ways_[pattern];
      continue;
    }
    for (size_t w = 0; w < ways_.size(); ++w) {
      if ((pattern >> w & 1) != 0) group.ways.push_back(static_cast<int32_t>(w));
    }
  }
  return problem;
}

void ArrivalReader::WriteKey(const Arrival& arrival, ProblemKey* key) const {
  const auto rank = static_cast<size_t>(rank_);
  key->assign(1, ways_.size());
  for (int32_t e = graph_.first_in[rank]; e < graph_.first_in[rank + 1]; ++e)
    key->push_back(static_cast<uint64_t>(graph_.edges[static_cast<size_t>(e)].capacity));
  for (size_t g = 0; g < arrival.patterns.size(); ++g) {
    key->push_back(arrival.patterns[g]);
    key->push_back(static_cast<uint64_t>(arrival.counts[g]));
  }
}

std::vector<std::vector<int32_t>> ArrivalReader::SourcesOf(const Arrival& arrival) const {
  std::vector<std::vector<int32_t>> sources(arrival.patterns.size());
  for (size_t source = 0; source < key_of_source_.size(); ++source) {
    const uint64_t key = key_of_source_[source];
    if (key == 0 || static_cast<int32_t>(key >> kPatternBits) != arrival.step) continue;
    const auto at = std::lower_bound(arrival.patterns.begin(), arrival.patterns.end(), key & kPatternMask);
    MYCEL_CHECK(at != arrival.patterns.end() && *at == (key & kPatternMask));
    sources[static_cast<size_t>(at - arrival.patterns.begin())].push_back(static_cast<int32_t>(source));
  }
  return sources;
}

}  // namespace mycel::bfb
