#include "bench/perf/demand.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <numeric>

#include "core/base/check.h"
#include "core/base/rng.h"

namespace mycel::perf {
namespace {

constexpr int kZipfValues = 1024;

// FAST's generator: each pair's flow is a value drawn from Zipf(s) on 1..1024; nobody sends to itself.
std::vector<double> ZipfWeights(double s, uint64_t seed, size_t ranks) {
  std::vector<double> cumulative(kZipfValues);
  double total = 0;
  for (int k = 0; k < kZipfValues; ++k) cumulative[k] = total += std::pow(k + 1, -s);
  Rng rng(seed);
  std::vector<double> weights(ranks * ranks, 0);
  for (size_t i = 0; i < ranks; ++i) {
    for (size_t j = 0; j < ranks; ++j) {
      if (i == j) continue;
      const double draw = rng.Unit() * total;
      const auto at = std::upper_bound(cumulative.begin(), cumulative.end() - 1, draw);
      weights[i * ranks + j] = static_cast<double>(at - cumulative.begin()) + 1;
    }
  }
  return weights;
}

StatusOr<std::vector<double>> ParseZipf(const std::string& spec, size_t ranks) {
  const std::string form =
      "demand '" + spec + "' is not gen:zipf:S:SEED: S is a skew from 0 to 10, SEED a whole number";
  const std::string rest = spec.substr(std::string("gen:zipf:").size());
  const size_t colon = rest.find(':');
  if (colon == std::string::npos || colon == 0 || colon + 1 == rest.size()) return InvalidArgument(form);
  char* end = nullptr;
  const double s = std::strtod(rest.c_str(), &end);
  if (end != rest.c_str() + colon || !(s >= 0 && s <= 10)) return InvalidArgument(form);
  const std::string seed_text = rest.substr(colon + 1);
  if (seed_text.find_first_not_of("0123456789") != std::string::npos || seed_text.size() > 19) {
    return InvalidArgument(form);
  }
  return ZipfWeights(s, std::strtoull(seed_text.c_str(), nullptr, 10), ranks);
}

constexpr const char* kForms = "gen:uniform, gen:zipf:S:SEED, gen:moe:EXPERTS,TOPK,TOKENS,HIDDEN,SKEW or a CSV file";

// The dispatch of one layer of a mixture of experts, as Megatron-LM sends it: one copy of a token for each of its
// experts. Experts lie on the ranks in order, as evenly as they go. How popular an expert is follows Zipf(skew); which
// ones are popular, and every token's choice among them, is drawn from a fixed seed.
struct Mixture {
  int64_t experts = 0;
  int64_t top_k = 0;
  int64_t tokens = 0;  // of each rank
  int64_t hidden = 0;  // bytes of a token
  double skew = 0;
};

StatusOr<Mixture> ParseMixture(const std::string& spec) {
  Mixture mixture;
  struct Field {
    const char* name;
    int64_t most;
    int64_t* value;
  };
  const Field fields[] = {{"EXPERTS", 1 << 16, &mixture.experts},
                          {"TOPK", 1 << 10, &mixture.top_k},
                          {"TOKENS", 1 << 20, &mixture.tokens},
                          {"HIDDEN", 1 << 24, &mixture.hidden}};
  const auto refuse = [&spec](const std::string& why) {
    return InvalidArgument("demand '" + spec + "': " + why +
                           "; write gen:moe:EXPERTS,TOPK,TOKENS,HIDDEN,SKEW (tokens of a rank, bytes of a token, skew "
                           "of the experts' popularity)");
  };
  const char* at = spec.c_str() + std::strlen("gen:moe:");
  for (const Field& field : fields) {
    char* end = nullptr;
    const bool digit = *at >= '0' && *at <= '9';
    *field.value = digit ? std::strtoll(at, &end, 10) : 0;
    if (!digit || *end != ',' || *field.value < 1 || *field.value > field.most) {
      return refuse(std::string(field.name) + " is not a whole number from 1 to " + std::to_string(field.most));
    }
    at = end + 1;
  }
  char* end = nullptr;
  mixture.skew = std::strtod(at, &end);
  if (end == at || *end != '\0' || !(mixture.skew >= 0 && mixture.skew <= 10)) {
    return refuse("SKEW is not a number from 0 to 10");
  }
  if (mixture.top_k > mixture.experts) return refuse("TOPK is larger than EXPERTS");
  return mixture;
}

StatusOr<std::vector<double>> MixtureWeights(const std::string& spec, size_t ranks) {
  constexpr double kDrawsMost = 1e10;
  constexpr uint64_t kSeed = 1;
  MYCEL_ASSIGN_OR_RETURN(const Mixture mixture, ParseMixture(spec));
  const double work = static_cast<double>(mixture.experts) * static_cast<double>(mixture.top_k) *
                      static_cast<double>(mixture.tokens) * static_cast<double>(ranks);
  if (work > kDrawsMost) {
    return InvalidArgument("demand '" + spec + "': EXPERTS x TOPK x TOKENS x " + std::to_string(ranks) +
                           " ranks is more than 10^10; use fewer tokens");
  }
  Rng rng(kSeed);
  std::vector<double> popularity;
  for (int64_t k = 1; k <= mixture.experts; ++k) {
    popularity.push_back(std::pow(static_cast<double>(k), -mixture.skew));
  }
  rng.Shuffle(popularity);
  const double whole = std::accumulate(popularity.begin(), popularity.end(), 0.0);
  std::vector<double> weights(ranks * ranks, 0);
  std::vector<double> left;
  for (size_t sender = 0; sender < ranks; ++sender) {
    for (int64_t token = 0; token < mixture.tokens; ++token) {
      left = popularity;
      double total = whole;
      for (int64_t choice = 0; choice < mixture.top_k; ++choice) {
        // By the weights of the experts not taken yet; rounding must not lead past the last of them.
        double draw = rng.Unit() * total;
        size_t expert = 0;
        size_t last = 0;
        for (; expert < left.size() && draw >= left[expert]; ++expert) {
          draw -= left[expert];
          if (left[expert] > 0) last = expert;
        }
        if (expert == left.size()) expert = last;
        total -= left[expert];
        left[expert] = 0;
        const size_t receiver = expert * ranks / static_cast<size_t>(mixture.experts);
        weights[sender * ranks + receiver] += static_cast<double>(mixture.hidden);
      }
    }
  }
  return weights;
}

// One row of `ranks` byte counts.
Status ParseRow(const std::string& line, const std::string& where, size_t ranks, std::vector<double>* weights) {
  size_t entries = 0;
  const char* at = line.c_str();
  while (true) {
    char* end = nullptr;
    const double bytes = std::strtod(at, &end);
    if (end == at || !(bytes >= 0 && bytes < 1e15) || bytes != std::floor(bytes)) {
      return InvalidArgument(where + ": '" + std::string(at).substr(0, 20) + "' is not a number of bytes");
    }
    weights->push_back(bytes);
    ++entries;
    at = end + std::strspn(end, " \t\r");
    if (*at == '\0') break;
    if (*at != ',') return InvalidArgument(where + ": expected a comma at '" + std::string(at).substr(0, 20) + "'");
    ++at;
  }
  if (entries != ranks) {
    return InvalidArgument(where + ": " + std::to_string(entries) + " entries for " + std::to_string(ranks) +
                           " ranks: a row holds one byte count per receiver");
  }
  return OkStatus();
}

StatusOr<std::vector<double>> ReadMatrix(const std::string& path, size_t ranks) {
  std::ifstream file(path);
  if (!file) {
    return InvalidArgument("demand '" + path + "' is no readable file: give " + kForms);
  }
  std::vector<double> weights;
  std::string line;
  for (int number = 1; std::getline(file, line); ++number) {
    if (line.find_first_not_of(" \t\r") == std::string::npos || line[0] == '#') continue;
    if (weights.size() == ranks * ranks) {
      return InvalidArgument(path + ":" + std::to_string(number) + ": more than " + std::to_string(ranks) +
                             " rows for as many ranks");
    }
    MYCEL_RETURN_IF_ERROR(ParseRow(line, path + ":" + std::to_string(number), ranks, &weights));
  }
  if (weights.size() != ranks * ranks) {
    return InvalidArgument(path + ": " + std::to_string(weights.size() / ranks) + " rows for " + std::to_string(ranks) +
                           " ranks: one row per sender is needed");
  }
  return weights;
}

// The largest row or column sum.
template <typename T>
T BusiestOf(const std::vector<T>& matrix, size_t ranks) {
  T busiest = 0;
  for (size_t i = 0; i < ranks; ++i) {
    T row = 0;
    T column = 0;
    for (size_t j = 0; j < ranks; ++j) {
      row += matrix[i * ranks + j];
      column += matrix[j * ranks + i];
    }
    busiest = std::max({busiest, row, column});
  }
  return busiest;
}

}  // namespace

size_t PairCounts::send_total() const { return std::accumulate(send.begin(), send.end(), size_t{0}); }
size_t PairCounts::recv_total() const { return std::accumulate(recv.begin(), recv.end(), size_t{0}); }

size_t PairCounts::SendAt(size_t sender, size_t target) const {
  const auto row = matrix.begin() + static_cast<ptrdiff_t>(sender * ranks());
  return std::accumulate(row, row + static_cast<ptrdiff_t>(target), size_t{0});
}

StatusOr<Demand> Demand::Parse(const std::string& spec, size_t ranks) {
  Demand demand;
  demand.ranks_ = ranks;
  if (spec == "gen:uniform") {
    demand.uniform_ = true;
    demand.weights_.assign(ranks * ranks, 1);
  } else if (spec.rfind("gen:zipf:", 0) == 0) {
    MYCEL_ASSIGN_OR_RETURN(demand.weights_, ParseZipf(spec, ranks));
  } else if (spec.rfind("gen:moe:", 0) == 0) {
    MYCEL_ASSIGN_OR_RETURN(demand.weights_, MixtureWeights(spec, ranks));
    demand.has_own_size_ = true;
  } else if (spec.rfind("gen:", 0) == 0) {
    return InvalidArgument("demand '" + spec + "' is unknown: write " + kForms);
  } else {
    MYCEL_ASSIGN_OR_RETURN(demand.weights_, ReadMatrix(spec, ranks));
    demand.has_own_size_ = true;
  }
  demand.busiest_ = BusiestOf(demand.weights_, ranks);
  return demand;
}

std::vector<size_t> Demand::Scaled(uint64_t bytes, size_t element_bytes) const {
  std::vector<size_t> matrix(ranks_ * ranks_, 0);
  if (busiest_ == 0) return matrix;
  for (size_t pair = 0; pair < matrix.size(); ++pair) {
    // A file's own size must give the file's own numbers, whatever division rounds.
    const bool exact = static_cast<double>(bytes) == busiest_;
    const double share = exact ? weights_[pair] : static_cast<double>(bytes) * (weights_[pair] / busiest_);
    matrix[pair] = static_cast<size_t>(share) / element_bytes;
    if (uniform_) matrix[pair] = bytes / ranks_ / 16 * 16 / element_bytes;
  }
  return matrix;
}

size_t Demand::Busiest(const std::vector<size_t>& matrix, size_t ranks) { return BusiestOf(matrix, ranks); }

PairCounts Demand::ForRank(std::vector<size_t> matrix, size_t ranks, size_t rank) {
  MYCEL_CHECK_EQ(matrix.size(), ranks * ranks);
  PairCounts pairs;
  size_t send_at = 0;
  size_t recv_at = 0;
  for (size_t peer = 0; peer < ranks; ++peer) {
    pairs.send.push_back(matrix[rank * ranks + peer]);
    pairs.recv.push_back(matrix[peer * ranks + rank]);
    pairs.send_at.push_back(send_at);
    pairs.recv_at.push_back(recv_at);
    send_at += pairs.send.back();
    recv_at += pairs.recv.back();
  }
  pairs.matrix = std::move(matrix);
  return pairs;
}

}  // namespace mycel::perf
