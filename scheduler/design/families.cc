// The base families of digraph.h.
#include <algorithm>
#include <map>

#include "core/base/check.h"
#include "scheduler/design/digraph.h"

namespace mycel::design {
namespace {

int32_t Power(int32_t base, int32_t exponent) {
  int32_t power = 1;
  for (int32_t i = 0; i < exponent; ++i) power *= base;
  return power;
}

/// Both directions of every pair for which joined(i, j).
template <typename Joined>
Digraph Undirected(int32_t count, int32_t degree, const Joined& joined) {
  Digraph graph{count, degree, {}};
  for (int32_t i = 0; i < count; ++i) {
    for (int32_t j = 0; j < count; ++j) {
      if (i != j && joined(i, j)) graph.links.emplace_back(i, j);
    }
  }
  return graph;
}

}  // namespace

Digraph OneWayRing(int32_t count) { return DirectedCirculant(count, {1}); }

Digraph Ring(int32_t count) {
  MYCEL_CHECK_GE(count, 3);
  return Circulant(count, {1});
}

Digraph Torus(const std::vector<int32_t>& sides) {
  Digraph torus{1, 0, {}};
  for (const int32_t side : sides) {
    if (side > 1) torus = Product(torus, side == 2 ? Complete(2) : Ring(side));
  }
  return torus;
}

Digraph Mesh(int32_t rows, int32_t columns) {
  return Undirected(rows * columns, 4, [&](int32_t i, int32_t j) {
    return std::abs(i / columns - j / columns) + std::abs(i % columns - j % columns) == 1;
  });
}

Digraph Complete(int32_t count) {
  return Undirected(count, count - 1, [](int32_t, int32_t) { return true; });
}

Digraph CompleteBipartite(int32_t degree) {
  return Undirected(2 * degree, degree, [&](int32_t i, int32_t j) { return (i < degree) != (j < degree); });
}

Digraph BipartiteMinusMatching5() {
  return Undirected(10, 4, [](int32_t i, int32_t j) { return (i < 5) != (j < 5) && i % 5 != j % 5; });
}

Digraph Hamming(int32_t length, int32_t letters) {
  Digraph graph{1, 0, {}};
  for (int32_t i = 0; i < length; ++i) graph = Product(graph, Complete(letters));
  return graph;
}

Digraph DirectedCirculant(int32_t count, const std::vector<int32_t>& offsets) {
  Digraph graph{count, static_cast<int32_t>(offsets.size()), {}};
  for (int32_t i = 0; i < count; ++i) {
    for (const int32_t offset : offsets) {
      MYCEL_CHECK_NE(offset % count, 0);
      graph.links.emplace_back(i, (i + offset) % count);
    }
  }
  return graph;
}

Digraph Circulant(int32_t count, const std::vector<int32_t>& offsets) {
  std::vector<int32_t> both;
  for (const int32_t offset : offsets) {
    both.push_back(offset);
    if (2 * offset != count) both.push_back(count - offset);
  }
  return DirectedCirculant(count, both);
}

Digraph Kautz(int32_t degree, int32_t length) {
  // Letters of a word as differences to the letter before, 1..degree: every word once.
  std::vector<std::vector<int32_t>> words;
  std::map<std::vector<int32_t>, int32_t> numbers;
  const int32_t tails = Power(degree, length - 1);
  for (int32_t first = 0; first <= degree; ++first) {
    for (int32_t tail = 0; tail < tails; ++tail) {
      std::vector<int32_t> word = {first};
      for (int32_t i = 1, rest = tail; i < length; ++i, rest /= degree) {
        word.push_back((word.back() + 1 + rest % degree) % (degree + 1));
      }
      numbers.emplace(word, static_cast<int32_t>(words.size()));
      words.push_back(std::move(word));
    }
  }
  Digraph graph{static_cast<int32_t>(words.size()), degree, {}};
  for (const std::vector<int32_t>& word : words) {
    for (int32_t letter = 0; letter <= degree; ++letter) {
      if (letter == word.back()) continue;
      std::vector<int32_t> next(word.begin() + 1, word.end());
      next.push_back(letter);
      graph.links.emplace_back(numbers.at(word), numbers.at(next));
    }
  }
  return graph;
}

Digraph GeneralizedKautz(int32_t degree, int32_t count) {
  MYCEL_CHECK(count > 1 && degree < count);
  Digraph graph{count, degree, {}};
  for (int64_t x = 0; x < count; ++x) {
    for (int64_t a = 1; a <= degree; ++a) {
      const int64_t y = ((-degree * x - a) % count + count) % count;
      if (x != y) graph.links.emplace_back(static_cast<int32_t>(x), static_cast<int32_t>(y));
    }
  }
  return graph;
}

Digraph DeBruijn(int32_t degree, int32_t length) {
  const int32_t count = Power(degree, length);
  Digraph graph{count, degree, {}};
  for (int32_t x = 0; x < count; ++x) {
    for (int32_t a = 0; a < degree; ++a) {
      const auto y = static_cast<int32_t>((int64_t{x} * degree + a) % count);
      if (x != y) graph.links.emplace_back(x, y);
    }
  }
  return graph;
}

namespace {

/// Subsets of `size` out of `letters`, as bit masks.
std::vector<uint32_t> Subsets(int32_t letters, int32_t size) {
  std::vector<uint32_t> sets;
  for (uint32_t set = 0; set < uint32_t{1} << letters; ++set) {
    if (__builtin_popcount(set) == size) sets.push_back(set);
  }
  return sets;
}

Digraph DisjointSubsets(int32_t letters, int32_t size, int32_t degree) {
  const std::vector<uint32_t> sets = Subsets(letters, size);
  return Undirected(static_cast<int32_t>(sets.size()), degree, [&](int32_t i, int32_t j) {
    return (sets[static_cast<size_t>(i)] & sets[static_cast<size_t>(j)]) == 0;
  });
}

/// Points and lines of a cyclic projective plane: point i lies on line j when i + j is in the difference set.
Digraph Incidence(const std::vector<int32_t>& difference_set, int32_t points) {
  return Undirected(2 * points, static_cast<int32_t>(difference_set.size()), [&](int32_t i, int32_t j) {
    if ((i < points) == (j < points)) return false;
    const int32_t sum = (i + j - points) % points;
    return std::find(difference_set.begin(), difference_set.end(), sum) != difference_set.end();
  });
}

}  // namespace

Digraph Petersen() { return DisjointSubsets(5, 2, 3); }
Digraph OddGraph4() { return DisjointSubsets(7, 3, 4); }
Digraph Octahedron() {
  return Undirected(6, 4, [](int32_t i, int32_t j) { return i % 3 != j % 3; });
}
Digraph Heawood() { return Incidence({0, 1, 3}, 7); }
Digraph ProjectivePlane3() { return Incidence({0, 1, 3, 9}, 13); }

}  // namespace mycel::design
