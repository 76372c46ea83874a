// Steps: divide into cells; lay out each cell along x and along the depth from the spine; choose rows of cells; place
// cells, then the spine over their ports; at last the links.
#include "bindings/cli/server_layout.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "bindings/cli/bar_stack.h"
#include "bindings/cli/direct_layout.h"
#include "bindings/cli/layout_cells.h"

namespace mycel::cli {
namespace {

constexpr double kPitch = 52;        // between ranks of a row
constexpr double kRowStep = 50;      // between rows of ranks
constexpr size_t kRowRanks = 8;      // in a row, where there are several
constexpr size_t kOneRowRanks = 10;  // up to so many stand in one row
constexpr double kPad = 18;          // inside a box
constexpr double kLabelStrip = 24;   // for a server's name
constexpr double kBarGap = 44;       // between ranks and bars
constexpr double kCellGap = 36;
constexpr double kSpineGap = 58;
constexpr double kArcStep = 15;  // depth of an arc for each rank it passes
constexpr double kArcLean = 0.2;
constexpr double kMargin = 24;
constexpr double kOneRowWidth = 2300;  // cells up to this stand in one row
constexpr double kAspect = 2.2;

/// A cell with places relative to its left edge and to its edge at the spine.
struct PlacedCell {
  double width = 0;
  double depth = 0;
};

class ServerLayout {
 public:
  ServerLayout(const Topology& topology, double bar_height)
      : topology_(topology),
        bar_height_(bar_height),
        neighbours_(NeighboursOf(topology)),
        division_(DivideIntoCells(topology)),
        x_(neighbours_.size()),
        depth_(neighbours_.size()),
        row_(neighbours_.size(), -1),
        column_(neighbours_.size(), -1) {
    layout_.nodes.resize(neighbours_.size());
  }

  FabricLayout Make() {
    for (const Cell& cell : division_.cells) cells_.push_back(PlaceInCell(cell));
    ChooseRows();
    PlaceCells();
    PlaceSpine();
    DrawLinks();
    Normalize();
    return std::move(layout_);
  }

 private:
  bool IsRank(NodeId node) const { return topology_.node(node).type == NodeType::kRank; }
  int32_t CellOf(NodeId node) const { return division_.cell_of[node.index()]; }
  bool Boxed(size_t cell) const { return !division_.cells[cell].server.empty(); }

  /// The side of a rank on which it meets a switch.
  bool IsNear(NodeId bar) const {
    if (CellOf(bar) < 0) return true;
    const std::vector<NodeId>& near = division_.cells[static_cast<size_t>(CellOf(bar))].bars_near;
    return std::find(near.begin(), near.end(), bar) != near.end();
  }

  /// Where links of `rank` to `bars` leave it: beside each other when there are several on one side.
  void AddRankPorts(NodeId rank) {
    for (const bool near : {true, false}) {
      std::vector<NodeId> bars;
      for (const NodeId other : neighbours_[rank.index()]) {
        const bool own = !IsRank(other) && (CellOf(other) < 0 || CellOf(other) == CellOf(rank));
        if (own && IsNear(other) == near) bars.push_back(other);
      }
      const double step = std::min(8.0, 2 * (kRankRadius - 4) / std::max<double>(1, static_cast<double>(bars.size())));
      for (size_t i = 0; i < bars.size(); ++i) {
        const double aside = (static_cast<double>(i) - static_cast<double>(bars.size() - 1) / 2) * step;
        ports_[PairOf(rank, bars[i])] = {x_[rank.index()] + aside, rank};
      }
    }
  }

  PlacedCell PlaceInCell(const Cell& cell) {
    PlacedCell placed;
    const double pad = cell.server.empty() ? 0 : kPad;
    int32_t longest = 0;
    PlaceRanks(cell, &longest);
    // Bars reach over the ports of the ranks below them.
    const BarStack near(topology_, neighbours_, cell.bars_near, division_.spine, &ports_);
    const BarStack far(topology_, neighbours_, cell.bars_far, {}, &ports_);
    double depth = pad + near.Height(bar_height_) + (near.empty() ? 0 : kBarGap);
    near.Place(pad, bar_height_, /*level0_last=*/true, &depth_);
    for (const NodeId rank : cell.ranks) depth_[rank.index()] = depth + row_[rank.index()] * kRowStep + kRankRadius;
    const int32_t rows = cell.ranks.empty() ? 0 : row_[cell.ranks.back().index()] + 1;
    depth += (rows - 1) * kRowStep + 2 * kRankRadius;
    if (longest > 1) depth += kArcStep * (longest - 1) + 6;
    if (!far.empty()) {
      depth += longest > 1 ? 12 : kBarGap;
      far.Place(depth, bar_height_, /*level0_last=*/false, &depth_);
      depth += far.Height(bar_height_);
    }
    placed.depth = depth + (cell.server.empty() ? 0 : kLabelStrip + 6);
    FitWidth(cell, near, far, pad, &placed);
    return placed;
  }

  void PlaceRanks(const Cell& cell, int32_t* longest) {
    bool direct = false;
    for (const NodeId rank : cell.ranks) {
      for (const NodeId other : neighbours_[rank.index()]) {
        direct = direct || (IsRank(other) && CellOf(other) == CellOf(rank));
      }
    }
    const size_t n = cell.ranks.size();
    const size_t rows = direct || n <= kOneRowRanks ? 1 : (n + kRowRanks - 1) / kRowRanks;
    const size_t columns = (n + rows - 1) / rows;
    for (size_t i = 0; i < n; ++i) {
      const NodeId rank = cell.ranks[i];
      const size_t row = i / columns;
      row_[rank.index()] = static_cast<int32_t>(row);
      column_[rank.index()] = static_cast<int32_t>(i % columns);
      // Rows are shifted so that vertical links of one pass between the ranks of the next.
      x_[rank.index()] =
          (static_cast<double>(i % columns) + static_cast<double>(row) / static_cast<double>(rows)) * kPitch;
      AddRankPorts(rank);
    }
    for (const NodeId rank : cell.ranks) {
      for (const NodeId other : neighbours_[rank.index()]) {
        if (!IsRank(other) || CellOf(other) != CellOf(rank)) continue;
        *longest = std::max(*longest, std::abs(column_[rank.index()] - column_[other.index()]));
      }
    }
  }

  /// Shifts the cell's places so that its left edge is at 0.
  void FitWidth(const Cell& cell, const BarStack& near, const BarStack& far, double pad, PlacedCell* placed) {
    double left = std::numeric_limits<double>::max();
    double right = std::numeric_limits<double>::lowest();
    for (const NodeId rank : cell.ranks) {
      left = std::min(left, x_[rank.index()] - kRankRadius);
      right = std::max(right, x_[rank.index()] + kRankRadius);
    }
    for (const BarStack* stack : {&near, &far}) {
      for (const BarSpan& bar : stack->bars()) {
        left = std::min(left, bar.left);
        right = std::max(right, bar.right);
        layout_.nodes[bar.node.index()] = {bar.left, 0, bar.right - bar.left, bar_height_};
      }
    }
    Shift(cell, pad - left);
    placed->width = right - left + 2 * pad;
  }

  void Shift(const Cell& cell, double by) {
    for (const NodeId rank : cell.ranks) x_[rank.index()] += by;
    for (const std::vector<NodeId>* bars : {&cell.bars_near, &cell.bars_far}) {
      for (const NodeId bar : *bars) layout_.nodes[bar.index()].left += by;
    }
    for (const std::vector<NodeId>* nodes : {&cell.ranks, &cell.bars_near, &cell.bars_far}) {
      for (const NodeId node : *nodes) {
        for (const NodeId other : neighbours_[node.index()]) {
          const auto port = ports_.find(PairOf(node, other));
          if (port != ports_.end() && port->second.lower == node) port->second.x += by;
        }
      }
    }
  }

  void ChooseRows() {
    double widest = 0;
    double deepest = 0;
    double total = 0;
    for (const PlacedCell& cell : cells_) {
      widest = std::max(widest, cell.width);
      deepest = std::max(deepest, cell.depth);
      total += cell.width + kCellGap;
    }
    rows_ = 1;
    if (total <= kOneRowWidth) return;
    double best = std::numeric_limits<double>::max();
    const auto n = static_cast<double>(cells_.size());
    for (int rows = 1; rows <= static_cast<int>(cells_.size()); ++rows) {
      const double width = std::ceil(n / rows) * (widest + kCellGap);
      const double misfit = std::abs(std::log(width / (rows * (deepest + kCellGap)) / kAspect));
      if (misfit < best) {
        best = misfit;
        rows_ = rows;
      }
    }
  }

  /// Rows of one side are shifted against each other like the rows of a cell.
  void PlaceCells() {
    const int columns = (static_cast<int>(cells_.size()) + rows_ - 1) / rows_;
    rows_ = (static_cast<int>(cells_.size()) + columns - 1) / columns;
    const int above = rows_ / 2;
    double deepest = 0;
    for (const PlacedCell& cell : cells_) deepest = std::max(deepest, cell.depth);
    double x = 0;
    for (size_t i = 0; i < cells_.size(); ++i) {
      const int row = static_cast<int>(i) / columns;
      if (static_cast<int>(i) % columns == 0) {
        const int from_spine = row < above ? above - 1 - row : row - above;
        x = rows_ > 2 ? from_spine * kPitch / std::max(1, rows_ - above) : 0;
      }
      Shift(division_.cells[i], x);
      Box box{x, 0, cells_[i].width, cells_[i].depth};
      const bool flipped = row < above;
      const int from_spine = flipped ? above - 1 - row : row - above;
      const double edge = kSpineGap + from_spine * (deepest + kCellGap);
      box.top = flipped ? -edge - box.height : edge;
      PlaceDepths(division_.cells[i], flipped, edge);
      if (Boxed(i)) layout_.servers.push_back({division_.cells[i].server, box, flipped});
      x += cells_[i].width + kCellGap;
    }
  }

  /// Depths become heights: the spine's lower edge is at 0 for now, and cells above it stand on their heads.
  void PlaceDepths(const Cell& cell, bool flipped, double edge) {
    const auto y_of = [&](NodeId node) { return (edge + depth_[node.index()]) * (flipped ? -1 : 1); };
    for (const NodeId rank : cell.ranks) {
      layout_.nodes[rank.index()] = Box{x_[rank.index()], y_of(rank), 0, 0}.Grown(kRankRadius);
    }
    for (const std::vector<NodeId>* bars : {&cell.bars_near, &cell.bars_far}) {
      for (const NodeId bar : *bars) layout_.nodes[bar.index()].top = y_of(bar) - bar_height_ / 2;
    }
    for (const NodeId rank : cell.ranks) upside_down_[rank] = flipped;
  }

  void PlaceSpine() {
    const BarStack spine(topology_, neighbours_, division_.spine, {}, &ports_);
    const double height = spine.Height(bar_height_);
    spine.Place(0, bar_height_, /*level0_last=*/true, &depth_);
    for (const BarSpan& bar : spine.bars()) {
      layout_.nodes[bar.node.index()] = {bar.left, depth_[bar.node.index()] - bar_height_ / 2 - height,
                                         bar.right - bar.left, bar_height_};
    }
    // Room for the spine between the rows of both sides; without a spine they come closer.
    const double up = spine.empty() && rows_ > 1 ? 2 * kSpineGap - kCellGap : -height;
    for (const NodeId node : Ids<NodeId>(topology_.node_count())) {
      if (CellOf(node) >= 0 && Above(node)) {
        layout_.nodes[node.index()].top += up;
      }
    }
    for (ServerBox& server : layout_.servers) {
      if (server.label_above) server.box.top += up;
    }
  }

  bool Above(NodeId node) const {
    const Cell& cell = division_.cells[static_cast<size_t>(CellOf(node))];
    return !cell.ranks.empty() && upside_down_.at(cell.ranks.front());
  }

  void DrawLinks() {
    std::vector<Point> ranks;
    for (const Rank rank : Ids<Rank>(topology_.rank_count())) {
      ranks.push_back(layout_.nodes[topology_.NodeOf(rank).index()].center());
    }
    for (const NodeId a : Ids<NodeId>(topology_.node_count())) {
      for (const NodeId b : neighbours_[a.index()]) {
        if (a < b) layout_.links[{a, b}] = LinkCurve(a, b, ranks);
      }
    }
  }

  Curve LinkCurve(NodeId a, NodeId b, const std::vector<Point>& ranks) const {
    const Box& from = layout_.nodes[a.index()];
    const Box& to = layout_.nodes[b.index()];
    const auto port = ports_.find(PairOf(a, b));
    if (port != ports_.end()) {
      return StraightCurve({port->second.x, from.center().y}, {port->second.x, to.center().y});
    }
    if (IsRank(a) && IsRank(b)) return RankLink(a, b, ranks);
    return BarLink(from, to, IsRank(a), IsRank(b));
  }

  Curve RankLink(NodeId a, NodeId b, const std::vector<Point>& ranks) const {
    const Point from = layout_.nodes[a.index()].center();
    const Point to = layout_.nodes[b.index()].center();
    if (CellOf(a) != CellOf(b) || row_[a.index()] != row_[b.index()]) return CurveAround(from, to, ranks, kPitch);
    const int32_t passed = std::abs(column_[a.index()] - column_[b.index()]);
    if (passed == 1) return StraightCurve(from, to);
    const double sign = upside_down_.at(a) ? -1 : 1;
    // Leaning apart, so that the arcs of one rank do not leave it on top of each other.
    const double depth = (kRankRadius + kArcStep * (passed - 1)) * sign;
    const Point lean = (to - from) * kArcLean;
    const Point away = {0, depth * 4 / 3};  // a cubic reaches three quarters of the way to its controls
    return {from, from + lean + away, to - lean + away, to};
  }

  /// A link that is not between neighbouring tiers: up or down between the places that lie closest, else an S.
  static Curve BarLink(const Box& from, const Box& to, bool from_rank, bool to_rank) {
    const double low = std::max(from.left, to.left) + 12;
    const double high = std::min(from.right(), to.right()) - 12;
    const bool beside = std::abs(from.center().y - to.center().y) < 1;
    if (beside) {
      const bool forward = from.left < to.left;
      return StraightCurve({forward ? from.right() : from.left, from.center().y},
                           {forward ? to.left : to.right(), to.center().y});
    }
    double x0 = std::clamp(to.center().x, from.left + 12, from.right() - 12);
    double x1 = std::clamp(from.center().x, to.left + 12, to.right() - 12);
    if (low <= high) x0 = x1 = (low + high) / 2;
    if (from_rank) x0 = from.center().x;
    if (to_rank) x1 = to.center().x;
    const double middle = (from.center().y + to.center().y) / 2;
    return {{x0, from.center().y}, {x0, middle}, {x1, middle}, {x1, to.center().y}};
  }

  void Normalize() {
    Box bounds = layout_.nodes.front();
    for (const Box& node : layout_.nodes) bounds = Union(bounds, node);
    for (const ServerBox& server : layout_.servers) bounds = Union(bounds, server.box);
    for (const auto& [pair, curve] : layout_.links) {
      for (const double t : {0.25, 0.5, 0.75}) bounds = Union(bounds, {curve.At(t).x, curve.At(t).y, 0, 0});
    }
    const Point by = Point{kMargin - bounds.left, kMargin - bounds.top};
    for (Box& node : layout_.nodes) node = {node.left + by.x, node.top + by.y, node.width, node.height};
    for (ServerBox& server : layout_.servers) {
      server.box.left += by.x;
      server.box.top += by.y;
    }
    for (auto& [pair, c] : layout_.links) c = {c.from + by, c.control1 + by, c.control2 + by, c.to + by};
    layout_.width = bounds.width + 2 * kMargin;
    layout_.height = bounds.height + 2 * kMargin;
  }

  const Topology& topology_;
  const double bar_height_;
  std::vector<std::vector<NodeId>> neighbours_;
  CellDivision division_;
  FabricLayout layout_;
  std::vector<PlacedCell> cells_;
  PortMap ports_;              // x of vertical links
  std::vector<double> x_;      // of ranks
  std::vector<double> depth_;  // of centres, from the spine's edge
  std::vector<int32_t> row_;
  std::vector<int32_t> column_;
  std::map<NodeId, bool> upside_down_;  // ranks
  int rows_ = 1;
};

}  // namespace

FabricLayout LayOutServers(const Topology& topology, double bar_height) {
  return ServerLayout(topology, bar_height).Make();
}

}  // namespace mycel::cli
