// The page: a title with the figures, one panel for each sheet of trees, a legend.
#include "bindings/cli/plan_svg.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "bindings/cli/exchange_svg.h"
#include "bindings/cli/panel_drawing.h"
#include "bindings/cli/shown_trees.h"
#include "bindings/cli/terminal.h"

namespace mycel::cli {
namespace {

constexpr double kPage = 28;  // margin
constexpr double kWidthMin = 660;
constexpr double kHeaderWide = 88;
constexpr double kHeaderTall = 140;  // figures below the title
constexpr double kPanelTitle = 34;
constexpr double kPanelGap = 44;
constexpr double kLegendRow = 21;
constexpr double kLegendColumn = 205;
constexpr double kNotes = 84;        // what lines and colours mean, at the bottom
constexpr double kFabricMax = 2200;  // a larger fabric is drawn smaller
constexpr size_t kBandwidthsShown = 5;

std::string GBps(double value) { return value > 0 ? Decimal(value) + " GB/s" : "-"; }

double Bandwidth(const Topology& topology, const std::vector<bool>& inside, bool out) {
  double sum = 0;
  for (const Link& link : topology.links()) {
    const bool leaves = inside[link.source.index()] && !inside[link.target.index()];
    const bool enters = !inside[link.source.index()] && inside[link.target.index()];
    if (out ? leaves : enters) sum += link.bandwidth.ToDouble();
  }
  return sum;
}

/// The smaller side of the cut. The bound's own side is what data leave, if its bandwidth says so.
DrawnCut DrawnCutOf(const PlanReport& report) {
  const Topology& topology = report.topology;
  const Optimum& optimum = report.optimum;
  DrawnCut cut;
  if (optimum.cut.empty()) return cut;
  std::vector<bool> inside(topology.nodes().size());
  for (const NodeId node : optimum.cut) inside[node.index()] = true;
  const double bound = optimum.cut_bandwidth.ToDouble();
  const auto is_bound = [bound](double sum) { return std::abs(sum - bound) <= 1e-9 * bound; };
  bool out = is_bound(Bandwidth(topology, inside, true));
  const bool one_border = out || is_bound(Bandwidth(topology, inside, false));
  const auto count = [&](bool side, bool only_ranks) {
    int64_t n = 0;
    for (const NodeId node : Ids<NodeId>(topology.node_count())) {
      if (inside[node.index()] == side && (!only_ranks || topology.node(node).type == NodeType::kRank)) ++n;
    }
    return n;
  };
  const bool invert =
      std::pair(count(false, true), count(false, false)) < std::pair(count(true, true), count(true, false)) &&
      count(false, false) > 0;
  if (invert) {
    inside.flip();
    out = !out;
  }
  std::vector<std::string> names;
  for (const NodeId node : Ids<NodeId>(topology.node_count())) {
    if (!inside[node.index()]) continue;
    cut.nodes.push_back(node);
    names.push_back(topology.node(node).id);
  }
  const bool v = report.request.collective == Collective::kAllToAllV;
  cut.label = "1/x* = " + optimum.inv_x.ToString() + (v ? " ns" : " ns/B") +
              (one_border ? ": " : " over all borders, here ") + Counted(count(true, true), "rank") + ", " +
              Decimal(Bandwidth(topology, inside, out)) + " GB/s " + (out ? "out" : "in");
  cut.names = JoinNames(names);
  constexpr size_t kNamesMax = 90;
  if (cut.names.size() > kNamesMax) {
    cut.names = names.front() + " .. " + names.back() + " (" + std::to_string(names.size()) + " nodes)";
  }
  return cut;
}

std::string SheetTitle(const TreeSheet& sheet, Collective collective) {
  std::string rank = "rank " + std::to_string(sheet.root.value());
  const std::string trees = Counted(sheet.tree_count, "tree");
  switch (sheet.flow) {
    case Flow::kReduce:
      return (collective == Collective::kAllReduce ? "reduce: " : "") + trees + " into " + rank;
    case Flow::kBroadcast:
      return (collective == Collective::kAllReduce ? "broadcast: " : "") + trees + " from " + rank;
    case Flow::kSend:
      return "what " + rank + " sends";
    case Flow::kReceive:
      return "what " + rank + " receives";
  }
  return rank;
}

std::string TreeText(const TreeSheet& sheet, size_t index) {
  const ShownTree& tree = sheet.trees[index];
  const std::string share = Percent(tree.share) + " of the data";
  const bool exchange = sheet.flow == Flow::kSend || sheet.flow == Flow::kReceive;
  if (sheet.rest_merged && index + 1 == sheet.trees.size()) {
    return Counted(tree.merged, exchange ? "more stage" : "more tree") +
           (tree.strands.empty() ? ", not drawn: " : ": ") + share;
  }
  if (exchange) return (sheet.tree_count > 1 ? "stage " + std::to_string(index + 1) + ": " : "") + share;
  return Percent(tree.share) + ", " + Counted(tree.hops, "hop");
}

class Page {
 public:
  Page(const PlanReport& report, const std::vector<TreeSheet>& sheets)
      : report_(report), sheets_(sheets), cut_(DrawnCutOf(report)) {
    size_t trees = 0;
    for (const TreeSheet& sheet : sheets) trees = std::max(trees, sheet.trees.size());
    layout_ = LayOut(report.topology, BarHeightFor(trees));
    cut_.label_above = LabelGoesAbove(report.topology, layout_, cut_.nodes);
    cut_.label_scale = std::max(1.0, std::max(layout_.width, layout_.height) / kFabricMax);
    shown_width_ = layout_.width / cut_.label_scale;
    shown_height_ = layout_.height / cut_.label_scale;
    panel_width_ = std::max(shown_width_, kWidthMin - 2 * kPage);
    const size_t columns = std::max<size_t>(1, static_cast<size_t>(panel_width_ / kLegendColumn));
    legend_columns_ = columns;
    const size_t legend_rows = (trees + columns - 1) / columns;
    panel_height_ = kPanelTitle + shown_height_ + kCutStrip + 14 + static_cast<double>(legend_rows) * kLegendRow;
    const auto panels = static_cast<double>(std::max<size_t>(1, sheets.size()));
    beside_ = panels > 1 && panel_width_ * 2 <= panel_height_ * 4;
    width_ = 2 * kPage + (beside_ ? panels * panel_width_ + (panels - 1) * kPanelGap : panel_width_);
    header_ = width_ >= 980 ? kHeaderWide : kHeaderTall;
    height_ =
        2 * kPage + header_ + kNotes + (beside_ ? panel_height_ : panels * panel_height_ + (panels - 1) * kPanelGap);
  }

  std::string Draw() {
    SvgWriter svg(width_, height_);
    svg.AddTitle(Heading());
    svg.Add("rect", {{"width", XmlNumber(width_)}, {"height", XmlNumber(height_)}, {"fill", "#ffffff"}});
    DrawHeader(&svg);
    double x = kPage;
    double y = kPage + header_;
    for (size_t i = 0; i < std::max<size_t>(1, sheets_.size()); ++i) {
      svg.Open("g", {{"class", "panel"}, {"transform", "translate(" + XmlNumber(x) + " " + XmlNumber(y) + ")"}});
      DrawSheet(i < sheets_.size() ? &sheets_[i] : nullptr, &svg);
      svg.Close();
      (beside_ ? x : y) += (beside_ ? panel_width_ : panel_height_) + kPanelGap;
    }
    DrawNotes(height_ - kNotes - 12, &svg);
    return svg.Take();
  }

 private:
  std::string Heading() const {
    return std::string(NameOf(report_.request.collective)) + " on " + report_.topology.name();
  }

  void DrawHeader(SvgWriter* svg) const {
    const int32_t n = report_.topology.rank_count();
    svg->AddText({kPage, kPage + 22}, Heading(), 26, kInk, "start", true);
    const bool rooted = report_.made.choice.plan.root.valid();
    svg->AddText({kPage, kPage + 46},
                 "planner " + report_.made.choice.plan.planner + ", " + Counted(n, "rank") + ", " +
                     SizeText(report_.request.bytes) +
                     (rooted ? ", root " + std::to_string(report_.made.choice.plan.root.value()) : ""),
                 14, kFaintInk);
    const bool wide = header_ == kHeaderWide;
    const double x = wide ? width_ - kPage - 470 : kPage;
    const double y = wide ? kPage + 22 : kPage + 84;
    const double achieved = AlgbwOf(report_.request, n, report_.made.achieved);
    const double best = AlgbwOf(report_.request, n, report_.optimum.inv_x);
    const double share = best > 0 && achieved > 0 ? achieved / best : 0;
    DrawFigure({x, y}, GBps(achieved), "algbw", svg);
    DrawFigure({x + 160, y}, GBps(best), "optimum", svg);
    DrawFigure({x + 320, y}, share > 0 ? ShareOfOptimum(report_) : "-", "of the optimum", svg);
    const Box bar{x + 320, y + 28, 150, 6};
    for (const auto& [width, colour] :
         {std::pair(bar.width, "#d0d7de"), std::pair(bar.width * std::min(1.0, share), "#009e73")}) {
      svg->Add("rect", {{"x", XmlNumber(bar.left)},
                        {"y", XmlNumber(bar.top)},
                        {"width", XmlNumber(width)},
                        {"height", XmlNumber(bar.height)},
                        {"rx", "3"},
                        {"fill", colour}});
    }
  }

  void DrawSheet(const TreeSheet* sheet, SvgWriter* svg) const {
    if (sheet != nullptr) {
      svg->AddText({0, 18}, SheetTitle(*sheet, report_.request.collective), 16, kInk, "start", true);
    }
    const double x = (panel_width_ - shown_width_) / 2;
    const double top = kPanelTitle + (cut_.label_above ? kCutStrip : 0);
    svg->Open("g", {{"transform", "translate(" + XmlNumber(x) + " " + XmlNumber(top) + ") scale(" +
                                      std::to_string(1 / cut_.label_scale) + ")"}});
    DrawPanel(report_.topology, layout_, sheet, cut_, svg);
    svg->Close();
    if (sheet == nullptr) return;
    const double legend = kPanelTitle + shown_height_ + kCutStrip + 22;
    for (size_t i = 0; i < sheet->trees.size(); ++i) {
      const size_t row = i / legend_columns_;
      const double left = static_cast<double>(i % legend_columns_) * kLegendColumn;
      const double y = legend + static_cast<double>(row) * kLegendRow;
      DrawSwatch({left, y - 4}, ColourOf(*sheet, i), 4, "", svg);
      svg->AddText({left + 40, y}, TreeText(*sheet, i), 13, kInk);
    }
  }

  static void DrawSwatch(Point at, std::string_view colour, double width, const std::string& dashes, SvgWriter* svg) {
    XmlAttributes attributes = {{"d", "M" + XmlNumber(at.x) + " " + XmlNumber(at.y) + "h30"},
                                {"stroke", std::string(colour)},
                                {"stroke-width", XmlNumber(width)}};
    if (!dashes.empty()) attributes.emplace_back("stroke-dasharray", dashes);
    svg->Add("path", attributes);
  }

  void DrawNotes(double y, SvgWriter* svg) const {
    svg->Add("path", {{"d", "M" + XmlNumber(kPage) + " " + XmlNumber(y) + "H" + XmlNumber(width_ - kPage)},
                      {"stroke", "#d0d7de"}});
    double x = kPage;
    const auto item = [&](std::string_view colour, double width, const std::string& dashes, const std::string& text) {
      DrawSwatch({x, y + 20}, colour, width, dashes, svg);
      svg->AddText({x + 38, y + 24}, text, 12.5, kFaintInk);
      x += 38 + static_cast<double>(text.size()) * 6.6 + 18;
    };
    std::set<double, std::greater<>> bandwidths;
    for (const Link& link : report_.topology.links()) bandwidths.insert(link.bandwidth.ToDouble());
    const double widest = WidestLink(report_.topology);
    if (bandwidths.size() <= kBandwidthsShown) {
      for (const double bandwidth : bandwidths) {
        item(kLinkColour, LinkWidth(bandwidth, widest), "", Decimal(bandwidth) + " GB/s");
      }
    } else {
      item(kLinkColour, LinkWidth(widest, widest), "", "link of " + Decimal(widest) + " GB/s");
      item(kLinkColour, LinkWidth(*bandwidths.rbegin(), widest), "", Decimal(*bandwidths.rbegin()) + " GB/s");
    }
    if (!cut_.nodes.empty()) item(kCutColour, 2.2, "7 5", "bottleneck cut");
    std::vector<std::string> sentences = {
        "A coloured line is a tree's data on a link: the wider the more, the fainter the later.",
        "Heads point where the data go"};
    const bool reduces =
        std::any_of(sheets_.begin(), sheets_.end(), [](const TreeSheet& sheet) { return sheet.flow == Flow::kReduce; });
    sentences.back() += reduces ? "; hollow ones to where they are reduced." : ".";
    if (layout_.links.size() > kLinksDrawnMax)
      sentences.emplace_back("Links that no tree of this rank uses are left out.");
    double line = y + 46;
    std::string text;
    for (const std::string& sentence : sentences) {
      const bool fits = static_cast<double>(text.size() + sentence.size()) * 6.8 < width_ - 2 * kPage;
      if (!fits && !text.empty()) {
        svg->AddText({kPage, line}, text, 12.5, kFaintInk);
        line += 18;
        text.clear();
      }
      text += (text.empty() ? "" : " ") + sentence;
    }
    svg->AddText({kPage, line}, text, 12.5, kFaintInk);
  }

  const PlanReport& report_;
  const std::vector<TreeSheet>& sheets_;
  DrawnCut cut_;
  FabricLayout layout_;
  double shown_width_ = 0;  // of the fabric on the page
  double shown_height_ = 0;
  double panel_width_ = 0;
  double panel_height_ = 0;
  size_t legend_columns_ = 1;
  bool beside_ = false;
  double width_ = 0;
  double height_ = 0;
  double header_ = 0;
};

}  // namespace

StatusOr<std::string> DrawPlanSvg(const PlanReport& report) {
  if (report.exchange && report.exchange->count() > 1 && report.exchange->between_bytes > 0) {
    return DrawExchangeSvg(report, *report.exchange);
  }
  MYCEL_ASSIGN_OR_RETURN(const std::vector<TreeSheet> sheets, ShownTrees(report.made.choice.schedule, report.topology));
  return Page(report, sheets).Draw();
}

}  // namespace mycel::cli
