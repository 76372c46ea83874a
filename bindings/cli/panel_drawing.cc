#include "bindings/cli/panel_drawing.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "bindings/cli/terminal.h"

namespace mycel::cli {
namespace {

constexpr double kBusStep = 5.5;   // between trees inside a switch
constexpr double kBundleMax = 23;  // all strands of a link, side by side
constexpr double kStrandGap = 1.6;
constexpr double kFaintest = 0.5;   // opacity of the last hop
constexpr size_t kLettersMax = 16;  // of a switch's name
constexpr size_t kPortDotsMax = 1000;

/// A strand as it is drawn.
struct Placed {
  const Strand* strand = nullptr;
  size_t tree = 0;
  Curve curve;  // in the direction of data
  double width = 0;
};

using PairBandwidths = std::map<std::pair<NodeId, NodeId>, std::pair<double, bool>>;  // widest, both directions

std::string Shortened(const std::string& name) {
  return name.size() <= kLettersMax ? name : name.substr(0, kLettersMax - 2) + "..";
}

class Panel {
 public:
  Panel(const Topology& topology, const FabricLayout& layout, const TreeSheet* sheet, const DrawnCut& cut,
        SvgWriter* svg)
      : topology_(topology),
        layout_(layout),
        sheet_(sheet),
        cut_(cut),
        svg_(*svg),
        outlines_(OutlinesOf(layout, topology, cut.nodes)) {}

  void Draw() {
    DrawServers();
    DrawLinks();
    DrawLeader();
    DrawBars();
    if (sheet_ != nullptr) {
      PlaceStrands();
      DrawTrees();
    }
    DrawRanks();
    DrawCut();
  }

 private:
  bool IsRank(NodeId node) const { return topology_.node(node).type == NodeType::kRank; }
  const Box& BoxOf(NodeId node) const { return layout_.nodes[node.index()]; }

  std::string TitleOf(NodeId id) const {
    const Node& node = topology_.node(id);
    return node.id + (IsRank(id) ? ", rank " + std::to_string(node.rank.value()) : ", switch") +
           (node.server.empty() ? "" : ", server " + node.server);
  }

  void DrawServers() {
    for (const ServerBox& server : layout_.servers) {
      const Box& box = server.box;
      svg_.Add("rect",
               {{"class", "server"},
                {"x", XmlNumber(box.left)},
                {"y", XmlNumber(box.top)},
                {"width", XmlNumber(box.width)},
                {"height", XmlNumber(box.height)},
                {"rx", "14"},
                {"fill", "#f6f8fa"},
                {"stroke", "#d0d7de"},
                {"stroke-width", "1.2"}},
               server.name);
      const double y = server.label_above ? box.top + 19 : box.bottom() - 9;
      svg_.AddText({box.left + 14, y}, Shortened(server.name), 12, kFaintInk, "start", true);
    }
  }

  PairBandwidths LinksToDraw() const {
    PairBandwidths pairs;
    for (const Link& link : topology_.links()) {
      auto& [bandwidth, both] = pairs[{std::min(link.source, link.target), std::max(link.source, link.target)}];
      both = bandwidth > 0;
      bandwidth = std::max(bandwidth, link.bandwidth.ToDouble());
    }
    if (pairs.size() <= kLinksDrawnMax) return pairs;
    PairBandwidths used;
    if (sheet_ == nullptr) return used;
    for (const ShownTree& tree : sheet_->trees) {
      for (const Strand& strand : tree.strands) {
        const Link& link = topology_.link(strand.link);
        const std::pair<NodeId, NodeId> pair = {std::min(link.source, link.target), std::max(link.source, link.target)};
        used[pair] = pairs.at(pair);
      }
    }
    return used;
  }

  /// All links of a bandwidth are one path.
  void DrawLinks() {
    const double widest = WidestLink(topology_);
    std::map<double, std::string> paths;
    std::string one_way;
    std::string dots;
    const PairBandwidths pairs = LinksToDraw();
    for (const auto& [pair, facts] : pairs) {
      const Curve& curve = layout_.links.at(pair);
      paths[facts.first] += PathOf(curve);
      if (!facts.second) one_way += ArrowAt(curve, pair);
      if (pairs.size() <= kPortDotsMax) dots += PortDots(curve, pair);
    }
    for (const auto& [bandwidth, path] : paths) {
      svg_.Add("path",
               {{"class", "links"},
                {"d", path},
                {"fill", "none"},
                {"stroke", std::string(kLinkColour)},
                {"stroke-width", XmlNumber(LinkWidth(bandwidth, widest))}},
               Decimal(bandwidth) + " GB/s");
    }
    if (!one_way.empty()) svg_.Add("path", {{"d", one_way}, {"fill", "#8c959f"}});
    port_dots_ = dots;
  }

  /// A small head in the middle of a link that goes one way only.
  std::string ArrowAt(const Curve& curve, const std::pair<NodeId, NodeId>& pair) const {
    const bool forward = topology_.FindLink(pair.first, pair.second).valid();
    return HeadPath(forward ? curve.At(0.5) : curve.At(0.5),
                    forward ? curve.DirectionAt(0.5) : curve.DirectionAt(0.5) * -1, 7);
  }

  std::string PortDots(const Curve& curve, const std::pair<NodeId, NodeId>& pair) const {
    std::string dots;
    for (const bool first : {true, false}) {
      const NodeId node = first ? pair.first : pair.second;
      if (IsRank(node)) continue;
      const Point end = first ? curve.from : curve.to;
      const Point other = first ? curve.to : curve.from;
      const Box& box = BoxOf(node);
      if (std::abs(end.y - box.center().y) > 0.5 || std::abs(other.y - end.y) < 1) continue;
      const double y = other.y > end.y ? box.bottom() : box.top;
      dots += "M" + XmlNumber(end.x - 2.5) + " " + XmlNumber(y) + "a2.5 2.5 0 1 0 5 0a2.5 2.5 0 1 0 -5 0";
    }
    return dots;
  }

  void DrawBars() {
    for (const NodeId node : Ids<NodeId>(topology_.node_count())) {
      if (IsRank(node)) continue;
      const Box& box = BoxOf(node);
      svg_.Open("g", {{"class", "switch"}});
      svg_.AddTitle(TitleOf(node));
      svg_.Add("rect", {{"x", XmlNumber(box.left)},
                        {"y", XmlNumber(box.top)},
                        {"width", XmlNumber(box.width)},
                        {"height", XmlNumber(box.height)},
                        {"rx", "7"},
                        {"fill", "#e9edf2"},
                        {"stroke", "#8c959f"}});
      svg_.AddText({box.left + 9, box.center().y + 4}, Shortened(topology_.node(node).id), 11, kInk);
      svg_.Close();
    }
    if (!port_dots_.empty()) svg_.Add("path", {{"d", port_dots_}, {"fill", "#8c959f"}});
  }

  /// Where the tree runs inside a switch.
  double BusY(NodeId bar, size_t tree) const {
    const double middle = static_cast<double>(sheet_->trees.size() - 1) / 2;
    return BoxOf(bar).center().y + (static_cast<double>(tree) - middle) * kBusStep;
  }

  double WidthOf(const Strand& strand, size_t tree) const {
    const bool rest = sheet_->rest_merged && tree + 1 == sheet_->trees.size();
    const double load = sheet_->load_max > 0 ? std::min(1.0, strand.load / sheet_->load_max) : 0;
    return (rest ? 1.2 : 1.6) + (rest ? 1.2 : 3.4) * std::sqrt(load);
  }

  /// Strands of a link lie side by side, each on the right-hand side of its direction.
  void PlaceStrands() {
    std::map<std::pair<NodeId, NodeId>, std::vector<Placed>> bundles;
    for (size_t tree = 0; tree < sheet_->trees.size(); ++tree) {
      for (const Strand& strand : sheet_->trees[tree].strands) {
        const Link& link = topology_.link(strand.link);
        Placed placed;
        placed.strand = &strand;
        placed.tree = tree;
        placed.width = WidthOf(strand, tree);
        bundles[{std::min(link.source, link.target), std::max(link.source, link.target)}].push_back(placed);
      }
    }
    placed_.resize(sheet_->trees.size());
    for (auto& [pair, bundle] : bundles) PlaceBundle(pair.first, layout_.links.at(pair), &bundle);
  }

  void PlaceBundle(NodeId first, const Curve& middle, std::vector<Placed>* bundle) {
    const auto forward = [&](const Placed& placed) { return topology_.link(placed.strand->link).source == first; };
    std::stable_sort(bundle->begin(), bundle->end(),
                     [&](const Placed& a, const Placed& b) { return forward(a) < forward(b); });
    double total = -kStrandGap;
    for (const Placed& placed : *bundle) total += placed.width + kStrandGap;
    const double scale = std::min(1.0, kBundleMax / total);
    double at = -total * scale / 2;
    for (Placed& placed : *bundle) {
      placed.width *= scale;
      const Curve aside = MovedAside(middle, at + placed.width / 2);
      at += placed.width + kStrandGap * scale;
      placed.curve = forward(placed) ? aside : Reversed(aside);
      Attach(&placed);
      placed_[placed.tree].push_back(placed);
    }
  }

  /// Ends at the edge of a rank, or at the tree's line inside a switch.
  void Attach(Placed* placed) {
    const Link& link = topology_.link(placed->strand->link);
    const double head = HeadLength(placed->width);
    Curve& curve = placed->curve;
    if (!IsRank(link.source)) curve.from = OnBus(curve.from, curve.DirectionAt(0), link.source, placed->tree);
    if (!IsRank(link.target)) curve.to = OnBus(curve.to, curve.DirectionAt(1), link.target, placed->tree);
    curve = Trimmed(curve, BoxOf(link.source).center(), IsRank(link.source) ? kRankRadius : 0,
                    BoxOf(link.target).center(), IsRank(link.target) ? kRankRadius + 1 + head * 0.8 : 0);
  }

  Point OnBus(Point end, Point direction, NodeId bar, size_t tree) {
    if (std::abs(direction.y) < 0.7) return end;
    const Point on = {end.x, BusY(bar, tree)};
    buses_[{tree, bar}].push_back(on.x);
    return on;
  }

  static double HeadLength(double width) { return 4.5 + 1.3 * width; }

  static std::string HeadPath(Point tip, Point direction, double length) {
    const Point back = tip - direction * length;
    const Point aside = Point{-direction.y, direction.x} * (length * 0.48);
    return PathOf(std::vector<Point>{tip, back + aside, back - aside});
  }

  void DrawTrees() {
    // The merged rest lies below the single trees, and those with large shares on top.
    for (size_t i = sheet_->trees.size(); i-- > 0;) DrawTree(i);
  }

  void DrawTree(size_t index) {
    const ShownTree& tree = sheet_->trees[index];
    const std::string colour(ColourOf(*sheet_, index));
    const bool reduce = sheet_->flow == Flow::kReduce;
    svg_.Open("g", {{"class", "tree"},
                    {"data-tree", std::to_string(index + 1)},
                    {"stroke", colour},
                    {"fill", "none"},
                    {"stroke-linecap", "round"}});
    for (const NodeId bar : Ids<NodeId>(topology_.node_count())) {
      const auto bus = buses_.find({index, bar});
      if (bus == buses_.end()) continue;
      const auto [low, high] = std::minmax_element(bus->second.begin(), bus->second.end());
      if (*high - *low < 0.5) continue;
      const double y = BusY(bar, index);
      svg_.Add("path", {{"class", "bus"},
                        {"d", "M" + XmlNumber(*low) + " " + XmlNumber(y) + "H" + XmlNumber(*high)},
                        {"stroke-width", "2.6"}});
    }
    for (const Placed& placed : placed_[index]) {
      const double later = tree.hops > 1 ? (placed.strand->level - 1.0) / (tree.hops - 1.0) : 0;
      const double opacity = 1 - (1 - kFaintest) * later;
      const double head = HeadLength(placed.width);
      const bool at_end = IsRank(topology_.link(placed.strand->link).target);
      const Point direction = placed.curve.DirectionAt(at_end ? 1 : 0.55);
      const Point tip =
          at_end ? placed.curve.to + direction * (head * 0.8) : placed.curve.At(0.55) + direction * (head / 2);
      svg_.Open("g", {{"class", "strand"}, {"opacity", XmlNumber(opacity)}});
      svg_.Add("path", {{"d", PathOf(placed.curve)}, {"stroke-width", XmlNumber(placed.width)}});
      svg_.Add("path", {{"d", HeadPath(tip, direction, head)},
                        {"fill", reduce ? "#ffffff" : colour},
                        {"stroke-width", reduce ? "1.4" : "0"}});
      svg_.Close();
    }
    svg_.Close();
  }

  void DrawRanks() {
    for (const Rank rank : Ids<Rank>(topology_.rank_count())) {
      const NodeId node = topology_.NodeOf(rank);
      const bool root = sheet_ != nullptr && sheet_->root == rank;
      const Point at = BoxOf(node).center();
      const std::string label = std::to_string(rank.value());
      svg_.Open("g", {{"class", "rank"}});
      svg_.AddTitle(TitleOf(node));
      svg_.Add("circle", {{"cx", XmlNumber(at.x)},
                          {"cy", XmlNumber(at.y)},
                          {"r", XmlNumber(kRankRadius)},
                          {"fill", root ? std::string(kInk) : "#ffffff"},
                          {"stroke", std::string(kInk)},
                          {"stroke-width", root ? "2.5" : "1.4"}});
      svg_.AddText(at + Point{0, 4.2}, label, label.size() > 3 ? 9.5 : 12, root ? "#ffffff" : kInk, "middle", true);
      svg_.Close();
    }
  }

  /// The outline nearest to the label.
  const Outline* Labelled() const {
    const auto further = [&](const Outline& a, const Outline& b) {
      return cut_.label_above ? a.bounds.top > b.bounds.top : a.bounds.bottom() < b.bounds.bottom();
    };
    const auto nearest = std::max_element(outlines_.begin(), outlines_.end(), further);
    return nearest == outlines_.end() ? nullptr : &*nearest;
  }

  Box LabelBox() const {
    const double scale = cut_.label_scale;
    const double text =
        std::max(static_cast<double>(cut_.label.size()) * 7.4, static_cast<double>(cut_.names.size()) * 6.2);
    const double width = (text + 20) * scale;
    const double wished = Labelled()->bounds.center().x - width / 2;
    return {std::max(4.0, std::min(wished, layout_.width - width - 4)),
            cut_.label_above ? (4 - kCutStrip) * scale : layout_.height, width, (kCutStrip - 4) * scale};
  }

  void DrawLeader() {
    if (Labelled() == nullptr) return;
    const Box& bounds = Labelled()->bounds;
    svg_.Add("path", {{"d", "M" + XmlNumber(bounds.center().x) + " " +
                                XmlNumber(cut_.label_above ? bounds.top : bounds.bottom()) + "V" +
                                XmlNumber(cut_.label_above ? 0 : layout_.height)},
                      {"stroke", std::string(kCutColour)},
                      {"stroke-width", "1.2"},
                      {"opacity", "0.6"}});
  }

  void DrawCut() {
    if (Labelled() == nullptr) return;
    svg_.Open("g", {{"class", "cut"}});
    svg_.AddTitle(cut_.names);
    for (const Outline& outline : outlines_) {
      svg_.Add("path", {{"d", RoundedPath(outline.corners, 16)},
                        {"fill", std::string(kCutColour)},
                        {"fill-opacity", "0.05"},
                        {"stroke", std::string(kCutColour)},
                        {"stroke-width", "2.2"},
                        {"stroke-dasharray", "7 5"}});
    }
    const Box label = LabelBox();
    svg_.Add("rect", {{"x", XmlNumber(label.left)},
                      {"y", XmlNumber(label.top)},
                      {"width", XmlNumber(label.width)},
                      {"height", XmlNumber(label.height)},
                      {"rx", "8"},
                      {"fill", "#fff5f5"},
                      {"stroke", std::string(kCutColour)}});
    const double scale = cut_.label_scale;
    svg_.AddText({label.center().x, label.top + 17 * scale}, cut_.label, 13 * scale, kCutColour, "middle", true);
    svg_.AddText({label.center().x, label.top + 34 * scale}, cut_.names, 11.5 * scale, kInk, "middle");
    svg_.Close();
  }

  const Topology& topology_;
  const FabricLayout& layout_;
  const TreeSheet* sheet_;
  const DrawnCut& cut_;
  SvgWriter& svg_;
  std::vector<Outline> outlines_;
  std::vector<std::vector<Placed>> placed_;                         // by tree
  std::map<std::pair<size_t, NodeId>, std::vector<double>> buses_;  // where a tree's strands meet a switch
  std::string port_dots_;
};

}  // namespace

bool LabelGoesAbove(const Topology& topology, const FabricLayout& layout, const std::vector<NodeId>& nodes) {
  // Below stand the ranks; only a fabric without switches has them at its upper edge too.
  if (topology.rank_count() != topology.node_count()) return false;
  double above = layout.height;
  double below = layout.height;
  for (const Outline& outline : OutlinesOf(layout, topology, nodes)) {
    above = std::min(above, outline.bounds.top);
    below = std::min(below, layout.height - outline.bounds.bottom());
  }
  return above < below;
}

void DrawFigure(Point at, const std::string& figure, const std::string& caption, SvgWriter* svg) {
  svg->AddText(at, figure, 20, kInk, "start", true);
  svg->AddText(at + Point{0, 19}, caption, 12.5, kFaintInk);
}

double BarHeightFor(size_t trees) { return std::max(24.0, 10 + static_cast<double>(trees) * kBusStep); }

std::string_view ColourOf(const TreeSheet& sheet, size_t tree) {
  return sheet.rest_merged && tree + 1 == sheet.trees.size() ? kRestColour : kTreePalette[tree];
}

double LinkWidth(double bandwidth, double bandwidth_max) {
  return bandwidth_max > 0 ? 1 + 3.5 * std::sqrt(bandwidth / bandwidth_max) : 1;
}

double WidestLink(const Topology& topology) {
  double widest = 0;
  for (const Link& link : topology.links()) widest = std::max(widest, link.bandwidth.ToDouble());
  return widest;
}

void DrawPanel(const Topology& topology, const FabricLayout& layout, const TreeSheet* sheet, const DrawnCut& cut,
               SvgWriter* svg) {
  Panel(topology, layout, sheet, cut, svg).Draw();
}

}  // namespace mycel::cli
