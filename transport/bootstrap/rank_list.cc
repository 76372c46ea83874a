#include "transport/bootstrap/rank_list.h"

#include <algorithm>

namespace mycel {
namespace {

constexpr size_t kRunsMax = 16;

std::string RunText(Rank first, Rank last) {
  if (first == last) return std::to_string(first.value());
  return std::to_string(first.value()) + "-" + std::to_string(last.value());
}

}  // namespace

std::string RankList(std::vector<Rank> ranks) {
  std::sort(ranks.begin(), ranks.end());
  ranks.erase(std::unique(ranks.begin(), ranks.end()), ranks.end());
  std::vector<std::string> parts;
  size_t named = 0;
  while (named < ranks.size() && parts.size() < kRunsMax) {
    size_t end = named + 1;
    while (end < ranks.size() && ranks[end].value() == ranks[end - 1].value() + 1) ++end;
    // Two neighbours read better as two numbers.
    if (end == named + 2) end = named + 1;
    parts.push_back(RunText(ranks[named], ranks[end - 1]));
    named = end;
  }
  if (named < ranks.size()) parts.push_back(std::to_string(ranks.size() - named) + " more");
  std::string text = ranks.size() == 1 ? "rank " : "ranks ";
  for (size_t i = 0; i < parts.size(); ++i) {
    if (i > 0) text += i + 1 == parts.size() ? " and " : ", ";
    text += parts[i];
  }
  return text;
}

}  // namespace mycel
