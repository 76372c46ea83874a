#include "scheduler/lp/prime_field.h"

#include <algorithm>
#include <utility>

#include "core/base/check.h"

namespace mycel {

uint64_t PrimeField::Inverse(uint64_t a) const {
  uint64_t result = 1;
  for (uint64_t exponent = prime_ - 2; exponent != 0; exponent >>= 1) {
    if ((exponent & 1) != 0) result = Multiply(result, a);
    a = Multiply(a, a);
  }
  return result;
}

namespace {

/// One equation: entries by ascending column, none of them 0.
struct Equation {
  std::vector<std::pair<int32_t, uint64_t>> entries;
  uint64_t right = 0;
};

const uint64_t* Find(const Equation& equation, int32_t column) {
  const auto at = std::lower_bound(equation.entries.begin(), equation.entries.end(), column,
                                   [](const auto& entry, int32_t wanted) { return entry.first < wanted; });
  return at != equation.entries.end() && at->first == column ? &at->second : nullptr;
}

/// target -= factor * source.
void Subtract(const Equation& source, uint64_t factor, const PrimeField& field, Equation* target) {
  std::vector<std::pair<int32_t, uint64_t>> merged;
  merged.reserve(source.entries.size() + target->entries.size());
  auto a = target->entries.begin();
  auto b = source.entries.begin();
  while (a != target->entries.end() || b != source.entries.end()) {
    if (b == source.entries.end() || (a != target->entries.end() && a->first < b->first)) {
      merged.push_back(*a++);
      continue;
    }
    const uint64_t part = field.Multiply(factor, b->second);
    const bool both = a != target->entries.end() && a->first == b->first;
    const uint64_t value = field.Subtract(both ? a->second : 0, part);
    if (value != 0) merged.emplace_back(b->first, value);
    if (both) ++a;
    ++b;
  }
  target->entries = std::move(merged);
  target->right = field.Subtract(target->right, field.Multiply(factor, source.right));
}

}  // namespace

std::optional<std::vector<uint64_t>> SolveModulo(const SparseSystem& system, const PrimeField& field) {
  const size_t size = system.rows.size();
  MYCEL_CHECK_EQ(system.right.size(), size);
  std::vector<Equation> equations(size);
  std::vector<int32_t> uses(size, 0);  // of each column in equations that are left
  for (size_t i = 0; i < size; ++i) {
    for (const SparseSystem::Entry& entry : system.rows[i]) {
      const uint64_t value = field.FromInt(entry.coefficient);
      if (value == 0) continue;
      equations[i].entries.emplace_back(entry.column, value);
      ++uses[static_cast<size_t>(entry.column)];
    }
    std::sort(equations[i].entries.begin(), equations[i].entries.end());
    equations[i].right = field.FromInt(system.right[i]);
  }
  std::vector<bool> done(size, false);
  std::vector<std::pair<size_t, int32_t>> pivots;  // equation, column
  for (size_t step = 0; step < size; ++step) {
    // The thinnest equation, and in it the column that the fewest others use.
    size_t pivot = size;
    for (size_t i = 0; i < size; ++i) {
      if (!done[i] && (pivot == size || equations[i].entries.size() < equations[pivot].entries.size())) pivot = i;
    }
    const Equation& chosen = equations[pivot];
    if (chosen.entries.empty()) return std::nullopt;
    int32_t column = chosen.entries.front().first;
    for (const auto& [other, value] : chosen.entries) {
      --uses[static_cast<size_t>(other)];
      if (uses[static_cast<size_t>(other)] < uses[static_cast<size_t>(column)]) column = other;
    }
    done[pivot] = true;
    pivots.emplace_back(pivot, column);
    const uint64_t inverse = field.Inverse(*Find(chosen, column));
    for (size_t i = 0; i < size; ++i) {
      if (done[i]) continue;
      const uint64_t* value = Find(equations[i], column);
      if (value == nullptr) continue;
      for (const auto& [other, unused] : equations[i].entries) --uses[static_cast<size_t>(other)];
      Subtract(chosen, field.Multiply(*value, inverse), field, &equations[i]);
      for (const auto& [other, unused] : equations[i].entries) ++uses[static_cast<size_t>(other)];
    }
  }
  std::vector<uint64_t> unknowns(size, 0);
  for (size_t step = size; step-- > 0;) {
    const auto [at, column] = pivots[step];
    uint64_t value = equations[at].right;
    for (const auto& [other, coefficient] : equations[at].entries) {
      if (other != column) {
        value = field.Subtract(value, field.Multiply(coefficient, unknowns[static_cast<size_t>(other)]));
      }
    }
    unknowns[static_cast<size_t>(column)] = field.Multiply(value, field.Inverse(*Find(equations[at], column)));
  }
  return unknowns;
}

}  // namespace mycel
