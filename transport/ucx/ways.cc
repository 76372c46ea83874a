#include "transport/ucx/ways.h"

#include <algorithm>
#include <tuple>

#include "core/base/check.h"

namespace mycel {
namespace {

void PairOneNetwork(const std::vector<size_t>& mine, const std::vector<size_t>& theirs, std::vector<RailPair>* pairs) {
  if (mine.empty() || theirs.empty()) return;
  for (size_t i = 0; i < std::max(mine.size(), theirs.size()); ++i)
    pairs->push_back({mine[i % mine.size()], theirs[i % theirs.size()]});
}

std::vector<size_t> Of(const std::vector<std::string>& networks, const std::string* network) {
  std::vector<size_t> found;
  for (size_t i = 0; i < networks.size(); ++i) {
    if (network == nullptr || networks[i] == *network) found.push_back(i);
  }
  return found;
}

}  // namespace

std::vector<RailPair> PairRails(const std::vector<std::string>& mine, const std::vector<std::string>& theirs) {
  std::vector<RailPair> pairs;
  for (size_t i = 0; i < mine.size(); ++i) {
    const bool first = std::find(mine.begin(), mine.begin() + static_cast<ptrdiff_t>(i), mine[i]) ==
                       mine.begin() + static_cast<ptrdiff_t>(i);
    if (first) PairOneNetwork(Of(mine, &mine[i]), Of(theirs, &mine[i]), &pairs);
  }
  if (pairs.empty()) PairOneNetwork(Of(mine, nullptr), Of(theirs, nullptr), &pairs);
  MYCEL_CHECK(!pairs.empty());
  std::sort(pairs.begin(), pairs.end(), [](const RailPair& a, const RailPair& b) {
    return std::tie(a.mine, a.theirs) < std::tie(b.mine, b.theirs);
  });
  return pairs;
}

size_t ChooseWay(const std::vector<RailPair>& pairs, Rails wanted, size_t index) {
  const auto worth = [&](const RailPair& pair) {
    return (wanted.out == pair.mine + 1 ? 2 : 0) + (wanted.in == pair.theirs + 1 ? 1 : 0);
  };
  int most = 0;
  size_t alike = 0;
  for (const RailPair& pair : pairs) {
    if (worth(pair) > most) alike = 0;
    most = std::max(most, worth(pair));
    if (worth(pair) == most) ++alike;
  }
  size_t skip = index % alike;
  for (size_t i = 0; i < pairs.size(); ++i) {
    if (worth(pairs[i]) == most && skip-- == 0) return i;
  }
  return 0;
}

}  // namespace mycel
