#include "bindings/cli/cut_outline.h"

#include <algorithm>
#include <numbers>

#include "bindings/cli/svg_writer.h"

namespace mycel::cli {
namespace {

constexpr double kRoom = 7;         // pixels between a node and its outline
constexpr size_t kMergedMax = 256;  // nodes up to which outlines are merged

/// Corners that the outline of a node must contain.
std::vector<Point> CornersOf(const Topology& topology, const Box& box, NodeId node) {
  std::vector<Point> corners;
  if (topology.node(node).type == NodeType::kRank) {
    for (int i = 0; i < 16; ++i) {
      const double angle = 2 * std::numbers::pi * i / 16;
      const double radius = kRankRadius + kRoom;
      corners.push_back(box.center() + Point{radius * std::cos(angle), radius * std::sin(angle)});
    }
    return corners;
  }
  const Box grown = box.Grown(kRoom);
  return {{grown.left, grown.top},
          {grown.right(), grown.top},
          {grown.right(), grown.bottom()},
          {grown.left, grown.bottom()}};
}

Outline MakeOutline(const std::vector<Point>& points) {
  Outline outline{ConvexHull(points), {points.front().x, points.front().y, 0, 0}};
  for (const Point point : points) outline.bounds = Union(outline.bounds, {point.x, point.y, 0, 0});
  return outline;
}

Outline MakeOutline(const Box& box) {
  return {{{box.left, box.top}, {box.right(), box.top}, {box.right(), box.bottom()}, {box.left, box.bottom()}}, box};
}

/// Whether any part of `box` lies within `hull`; bars are long, so it is tried at several places.
bool Touches(const std::vector<Point>& hull, const Box& box) {
  for (int i = 0; i <= 16; ++i) {
    for (const double down : {0.0, 0.5, 1.0}) {
      if (Contains(hull, {box.left + box.width * i / 16, box.top + box.height * down})) return true;
    }
  }
  return false;
}

class Grouping {
 public:
  Grouping(const FabricLayout& layout, const Topology& topology, const std::vector<NodeId>& nodes)
      : layout_(layout), topology_(topology), inside_(layout.nodes.size()), done_(layout.nodes.size()) {
    for (const NodeId node : nodes) inside_[node.index()] = true;
  }

  std::vector<Outline> Make() {
    TakeWholeServers();
    for (const NodeId node : Ids<NodeId>(topology_.node_count())) {
      if (inside_[node.index()] && !done_[node.index()]) TakeFrom(node);
    }
    return std::move(outlines_);
  }

 private:
  void TakeWholeServers() {
    for (const ServerBox& server : layout_.servers) {
      std::vector<NodeId> members;
      bool whole = true;
      for (const NodeId node : Ids<NodeId>(topology_.node_count())) {
        if (topology_.node(node).server != server.name) continue;
        members.push_back(node);
        whole = whole && inside_[node.index()];
      }
      if (!whole || members.empty()) continue;
      outlines_.push_back(MakeOutline(server.box.Grown(kRoom)));
      for (const NodeId node : members) done_[node.index()] = true;
    }
  }

  /// The outline of `first` and of as many later nodes as it can take in.
  void TakeFrom(NodeId first) {
    std::vector<Point> points = CornersOf(topology_, layout_.nodes[first.index()], first);
    done_[first.index()] = true;
    const auto count = static_cast<size_t>(std::count(inside_.begin(), inside_.end(), true));
    for (int64_t i = first.value() + 1; count <= kMergedMax && i < topology_.node_count(); ++i) {
      const NodeId node(i);
      if (!inside_[node.index()] || done_[node.index()]) continue;
      std::vector<Point> more = points;
      const std::vector<Point> corners = CornersOf(topology_, layout_.nodes[node.index()], node);
      more.insert(more.end(), corners.begin(), corners.end());
      if (!IsClean(ConvexHull(more))) continue;
      points = std::move(more);
      done_[node.index()] = true;
    }
    outlines_.push_back(MakeOutline(points));
  }

  bool IsClean(const std::vector<Point>& hull) const {
    for (const NodeId node : Ids<NodeId>(topology_.node_count())) {
      if (!inside_[node.index()] && Touches(hull, layout_.nodes[node.index()])) return false;
    }
    return true;
  }

  const FabricLayout& layout_;
  const Topology& topology_;
  std::vector<bool> inside_;
  std::vector<bool> done_;
  std::vector<Outline> outlines_;
};

}  // namespace

std::vector<Outline> OutlinesOf(const FabricLayout& layout, const Topology& topology,
                                const std::vector<NodeId>& nodes) {
  return Grouping(layout, topology, nodes).Make();
}

std::string RoundedPath(const std::vector<Point>& corners, double radius) {
  std::string path;
  const size_t n = corners.size();
  for (size_t i = 0; i < n; ++i) {
    const Point corner = corners[i];
    const Point before = corners[(i + n - 1) % n];
    const Point after = corners[(i + 1) % n];
    const auto towards = [&](Point other) {
      const double length = Distance(corner, other);
      return length == 0 ? corner : corner + (other - corner) * (std::min(radius, length / 2) / length);
    };
    const Point in = towards(before);
    const Point out = towards(after);
    path += (i == 0 ? "M" : "L") + XmlNumber(in.x) + " " + XmlNumber(in.y) + "Q" + XmlNumber(corner.x) + " " +
            XmlNumber(corner.y) + " " + XmlNumber(out.x) + " " + XmlNumber(out.y);
  }
  return path + "Z";
}

}  // namespace mycel::cli
