#include "scheduler/graph/transit.h"

#include <algorithm>
#include <map>
#include <numeric>

#include "core/base/check.h"
#include "scheduler/graph/max_flow.h"

namespace mycel {
namespace {

using Matrix = std::vector<std::vector<int64_t>>;

/// Rounds of proportional fitting: enough to be fair. What it leaves is placed exactly by a flow.
constexpr int kFittingRounds = 16;

int64_t Sum(const std::vector<int64_t>& values) { return std::accumulate(values.begin(), values.end(), int64_t{0}); }

bool AllEqual(const std::vector<int64_t>& values) {
  return std::all_of(values.begin(), values.end(), [&](int64_t value) { return value == values.front(); });
}

/// All sums equal, nothing on the diagonal: the same amount for everyone, the rest for targets at evenly spaced
/// distances.
Matrix Circulant(size_t n, int64_t sum) {
  Matrix matrix(n, std::vector<int64_t>(n, 0));
  const auto others = static_cast<int64_t>(n) - 1;
  const int64_t rest = sum % others;
  for (size_t row = 0; row < n; ++row) {
    for (size_t distance = 1; distance < n; ++distance) matrix[row][(row + distance) % n] = sum / others;
    for (int64_t i = 0; i < rest; ++i) {
      const auto distance = static_cast<size_t>(1 + i * others / rest);
      ++matrix[row][(row + distance) % n];
    }
  }
  return matrix;
}

/// Fair shares as real numbers: alternately scales rows and columns to their sums. The same steps on every rank.
std::vector<std::vector<double>> Fit(const std::vector<int64_t>& rows, const std::vector<int64_t>& columns,
                                     bool off_diagonal) {
  std::vector<std::vector<double>> shares(rows.size(), std::vector<double>(columns.size(), 1.0));
  for (size_t i = 0; off_diagonal && i < rows.size(); ++i) shares[i][i] = 0;
  for (int round = 0; round < kFittingRounds; ++round) {
    for (size_t i = 0; i < rows.size(); ++i) {
      const double sum = std::accumulate(shares[i].begin(), shares[i].end(), 0.0);
      for (double& share : shares[i]) share *= sum > 0 ? static_cast<double>(rows[i]) / sum : 0;
    }
    for (size_t j = 0; j < columns.size(); ++j) {
      double sum = 0;
      for (size_t i = 0; i < rows.size(); ++i) sum += shares[i][j];
      for (size_t i = 0; i < rows.size(); ++i) shares[i][j] *= sum > 0 ? static_cast<double>(columns[j]) / sum : 0;
    }
  }
  return shares;
}

/// Places what is left of the rows and columns, at most `cell_max` more in a cell.
void PlaceRest(bool off_diagonal, int64_t cell_max, std::vector<int64_t>* rows, std::vector<int64_t>* columns,
               Matrix* matrix) {
  if (Sum(*rows) == 0) return;
  const auto row_count = static_cast<int32_t>(rows->size());
  const auto column_count = static_cast<int32_t>(columns->size());
  MaxFlow<int64_t> flow(row_count + column_count + 2);
  const int32_t source = row_count + column_count;
  const int32_t sink = source + 1;
  flow.MarkSource(source);
  struct Cell {
    FlowEdge edge;
    size_t row;
    size_t column;
  };
  std::vector<Cell> cells;
  for (int32_t i = 0; i < row_count; ++i) {
    const auto row = static_cast<size_t>(i);
    if ((*rows)[row] == 0) continue;
    flow.AddEdge(source, i, (*rows)[row]);
    // Begin behind the diagonal, so that no column is everybody's first.
    for (int32_t step = 1; step <= column_count; ++step) {
      const auto column = static_cast<size_t>((i + step) % column_count);
      if ((*columns)[column] == 0 || (off_diagonal && row == column)) continue;
      const int64_t room = std::min({cell_max, (*rows)[row], (*columns)[column]});
      cells.push_back({flow.AddEdge(i, row_count + static_cast<int32_t>(column), room), row, column});
    }
  }
  for (int32_t j = 0; j < column_count; ++j) {
    if ((*columns)[static_cast<size_t>(j)] > 0) flow.AddEdge(row_count + j, sink, (*columns)[static_cast<size_t>(j)]);
  }
  flow.Run(sink, Sum(*rows));
  for (const Cell& cell : cells) {
    const int64_t amount = flow.FlowOf(cell.edge);
    (*matrix)[cell.row][cell.column] += amount;
    (*rows)[cell.row] -= amount;
    (*columns)[cell.column] -= amount;
  }
}

struct Neighbours {
  std::vector<int32_t> nodes;
  std::vector<int64_t> in;   // into the switch
  std::vector<int64_t> out;  // out of it
};

Neighbours NeighboursOf(const CapacityGraph& graph, int32_t node) {
  std::map<int32_t, std::pair<int64_t, int64_t>> both;
  for (const auto& [source, capacity] : graph.In(node)) both[source].first = capacity;
  for (const auto& [target, capacity] : graph.Out(node)) both[target].second = capacity;
  Neighbours neighbours;
  for (const auto& [other, capacities] : both) {
    neighbours.nodes.push_back(other);
    neighbours.in.push_back(capacities.first);
    neighbours.out.push_back(capacities.second);
  }
  return neighbours;
}

/// Places of the neighbours by group; one group each when there would be only one.
std::vector<std::vector<size_t>> GroupsOf(const Neighbours& neighbours, const std::vector<int32_t>& group_of) {
  std::map<int32_t, std::vector<size_t>> by_group;
  for (size_t i = 0; i < neighbours.nodes.size(); ++i) {
    by_group[std::max(-1, group_of[static_cast<size_t>(neighbours.nodes[i])])].push_back(i);
  }
  std::vector<std::vector<size_t>> groups;
  if (by_group.size() == 1) {
    for (size_t i = 0; i < neighbours.nodes.size(); ++i) groups.push_back({i});
    return groups;
  }
  for (auto& [group, places] : by_group) groups.push_back(std::move(places));
  return groups;
}

std::vector<int64_t> SumsBy(const std::vector<std::vector<size_t>>& groups, const std::vector<int64_t>& values) {
  std::vector<int64_t> sums(groups.size(), 0);
  for (size_t g = 0; g < groups.size(); ++g) {
    for (const size_t place : groups[g]) sums[g] += values[place];
  }
  return sums;
}

std::vector<int64_t> Pick(const std::vector<int64_t>& values, const std::vector<size_t>& places) {
  std::vector<int64_t> picked;
  picked.reserve(places.size());
  for (const size_t place : places) picked.push_back(values[place]);
  return picked;
}

/// First with first until either is used up: few pairs, and equal groups meet along their order.
void PairInOrder(const std::vector<int32_t>& sources, std::vector<int64_t> in, const std::vector<int32_t>& targets,
                 std::vector<int64_t> out, std::vector<Transit>* transits) {
  size_t i = 0;
  size_t j = 0;
  while (i < in.size() && j < out.size()) {
    const int64_t amount = std::min(in[i], out[j]);
    if (amount > 0) transits->push_back({sources[i], targets[j], amount});
    in[i] -= amount;
    out[j] -= amount;
    if (in[i] == 0) {
      ++i;
    } else {
      ++j;
    }
  }
}

}  // namespace

std::vector<std::vector<int64_t>> SpreadEvenly(const std::vector<int64_t>& rows, const std::vector<int64_t>& columns,
                                               bool off_diagonal) {
  MYCEL_CHECK_EQ(Sum(rows), Sum(columns));
  if (off_diagonal) MYCEL_CHECK_EQ(rows.size(), columns.size());
  Matrix matrix(rows.size(), std::vector<int64_t>(columns.size(), 0));
  if (rows.empty()) return matrix;
  if (off_diagonal && rows.size() > 1 && AllEqual(rows) && AllEqual(columns)) return Circulant(rows.size(), rows[0]);
  const int64_t total = Sum(rows);
  Matrix forced = matrix;
  std::vector<int64_t> rows_free = rows;
  std::vector<int64_t> columns_free = columns;
  for (size_t i = 0; off_diagonal && i < rows.size(); ++i) {
    // More than the others together can take.
    forced[i][i] = std::max<int64_t>(0, rows[i] + columns[i] - total);
    rows_free[i] -= forced[i][i];
    columns_free[i] -= forced[i][i];
  }
  matrix = forced;
  std::vector<int64_t> rows_left = rows_free;
  std::vector<int64_t> columns_left = columns_free;
  const auto shares = Fit(rows_left, columns_left, off_diagonal);
  for (size_t i = 0; i < rows.size(); ++i) {
    for (size_t j = 0; j < columns.size(); ++j) {
      const int64_t amount = std::min({static_cast<int64_t>(shares[i][j] + 1e-9), rows_left[i], columns_left[j]});
      matrix[i][j] += amount;
      rows_left[i] -= amount;
      columns_left[j] -= amount;
    }
  }
  PlaceRest(off_diagonal, 1, &rows_left, &columns_left, &matrix);
  PlaceRest(off_diagonal, total, &rows_left, &columns_left, &matrix);
  if (Sum(rows_left) > 0) {
    // The fitting has strayed into a corner; without it everything has its place.
    matrix = std::move(forced);
    PlaceRest(off_diagonal, total, &rows_free, &columns_free, &matrix);
    MYCEL_CHECK_EQ(Sum(rows_free), 0);
  }
  return matrix;
}

std::vector<Transit> FairTransit(const CapacityGraph& graph, int32_t node, const std::vector<int32_t>& group_of) {
  const Neighbours neighbours = NeighboursOf(graph, node);
  const std::vector<std::vector<size_t>> groups = GroupsOf(neighbours, group_of);
  const std::vector<int64_t> group_in = SumsBy(groups, neighbours.in);
  const std::vector<int64_t> group_out = SumsBy(groups, neighbours.out);
  const Matrix between = SpreadEvenly(group_in, group_out, true);
  // How each node shares in what its group exchanges with the others: a row per node, a column per group.
  std::vector<Matrix> sent(groups.size());
  std::vector<Matrix> received(groups.size());
  for (size_t g = 0; g < groups.size(); ++g) {
    std::vector<int64_t> to_g;
    for (size_t h = 0; h < groups.size(); ++h) to_g.push_back(between[h][g]);
    sent[g] = SpreadEvenly(Pick(neighbours.in, groups[g]), between[g], false);
    received[g] = SpreadEvenly(Pick(neighbours.out, groups[g]), to_g, false);
  }
  const auto column = [](const Matrix& matrix, size_t index) {
    std::vector<int64_t> values;
    values.reserve(matrix.size());
    for (const std::vector<int64_t>& row : matrix) values.push_back(row[index]);
    return values;
  };
  std::vector<std::vector<int32_t>> nodes(groups.size());
  for (size_t g = 0; g < groups.size(); ++g) {
    for (const size_t place : groups[g]) nodes[g].push_back(neighbours.nodes[place]);
  }
  std::vector<Transit> transits;
  for (size_t g = 0; g < groups.size(); ++g) {
    for (size_t h = 0; h < groups.size(); ++h) {
      if (between[g][h] == 0) continue;
      const std::vector<int64_t> in = column(sent[g], h);
      const std::vector<int64_t> out = column(received[h], g);
      if (g != h) {
        PairInOrder(nodes[g], in, nodes[h], out, &transits);
        continue;
      }
      const Matrix inside = SpreadEvenly(in, out, true);
      for (size_t i = 0; i < in.size(); ++i) {
        for (size_t j = 0; j < out.size(); ++j) {
          if (inside[i][j] > 0) transits.push_back({nodes[g][i], nodes[g][j], inside[i][j]});
        }
      }
    }
  }
  return transits;
}

}  // namespace mycel
