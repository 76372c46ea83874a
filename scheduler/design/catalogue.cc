#include "scheduler/design/catalogue.h"

#include <cmath>
#include <utility>

namespace mycel::design {
namespace {

/// Directed circulants with two offsets are searched up to so many ranks.
constexpr int32_t kCirculantSearchMax = 36;

/// n with base^n == value, or 0.
int32_t LogOf(int64_t value, int64_t base) {
  int32_t exponent = 0;
  while (base > 1 && value > 1 && value % base == 0) value /= base, ++exponent;
  return value == 1 ? exponent : 0;
}

std::string Text(int64_t value) { return std::to_string(value); }

struct Named {
  const char* recipe;
  int32_t ranks;
  int32_t degree;
  Digraph (*build)();
};

/// Distance-regular graphs: bandwidth-optimal with as many steps as their diameter.
constexpr Named kNamed[] = {
    {"Petersen", 10, 3, Petersen},
    {"Octahedron", 6, 4, Octahedron},
    {"Heawood", 14, 3, Heawood},
    {"K5,5-I", 10, 4, BipartiteMinusMatching5},
    {"L(Petersen)", 15, 4, [] { return UndirectedLineGraph(Petersen()); }},
    {"L(Heawood)", 21, 4, [] { return UndirectedLineGraph(Heawood()); }},
    {"PG(2,3)", 26, 4, ProjectivePlane3},
    {"O4", 35, 4, OddGraph4},
};

void AddCirculants(int32_t n, int32_t d, std::vector<Family>* families) {
  if (d == 2 && n <= kCirculantSearchMax) {
    for (int32_t a = 1; a < n; ++a) {
      for (int32_t b = a + 1; b < n; ++b) {
        families->push_back({"dC(" + Text(n) + ",{" + Text(a) + "," + Text(b) + "})", [n, a, b] {
                               return DirectedCirculant(n, {a, b});
                             }});
      }
    }
  }
  if (d == 4 && n >= 7) {
    const auto a = static_cast<int32_t>(std::sqrt((n - 2) / 2.0));
    families->push_back({"C(" + Text(n) + ",{" + Text(a) + "," + Text(a + 1) + "})", [n, a] {
                           return Circulant(n, {a, a + 1});
                         }});
  }
  if (n == d + 2 && d > 2) {
    families->push_back({"dC(" + Text(n) + ",{1.." + Text(d) + "})", [n, d] {
                           std::vector<int32_t> offsets;
                           for (int32_t offset = 1; offset <= d; ++offset) offsets.push_back(offset);
                           return DirectedCirculant(n, offsets);
                         }});
  }
}

}  // namespace

std::vector<Family> FamiliesOf(int32_t ranks, int32_t degree) {
  const int32_t n = ranks, d = degree;
  std::vector<Family> families;
  if (n == d + 1) families.push_back({"K" + Text(n), [n] { return Complete(n); }});
  if (n == 2 * d) families.push_back({"K" + Text(d) + "," + Text(d), [d] { return CompleteBipartite(d); }});
  for (int32_t letters = 2; letters <= n; ++letters) {
    const int32_t length = LogOf(n, letters);
    if (length < 2 || length * (letters - 1) != d) continue;
    families.push_back(
        {"H(" + Text(length) + "," + Text(letters) + ")", [length, letters] { return Hamming(length, letters); }});
  }
  for (const Named& named : kNamed) {
    if (named.ranks == n && named.degree == d) families.push_back({named.recipe, named.build});
  }
  if (d == 2 && n >= 3) families.push_back({"Ring" + Text(n), [n] { return Ring(n); }});
  AddCirculants(n, d, &families);
  if (d == 1) families.push_back({"OneWayRing" + Text(n), [n] { return OneWayRing(n); }});
  if (d >= 2 && n % (d + 1) == 0) {
    const int32_t length = n == d + 1 ? 1 : 1 + LogOf(n / (d + 1), d);
    if (length > 1) {
      families.push_back({"Kautz(" + Text(d) + "," + Text(length) + ")", [d, length] { return Kautz(d, length); }});
    }
  }
  if (d >= 2) {
    const int32_t length = LogOf(n, d);
    families.push_back({"GenKautz(" + Text(d) + "," + Text(n) + ")", [d, n] { return GeneralizedKautz(d, n); }});
    if (length > 1) {
      families.push_back(
          {"deBruijn(" + Text(d) + "," + Text(length) + ")", [d, length] { return DeBruijn(d, length); }});
    }
  }
  return families;
}

}  // namespace mycel::design
