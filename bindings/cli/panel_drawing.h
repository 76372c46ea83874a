// One drawing of a fabric with one sheet of trees over it and the bottleneck round its nodes.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "bindings/cli/cut_outline.h"
#include "bindings/cli/fabric_layout.h"
#include "bindings/cli/shown_trees.h"
#include "bindings/cli/svg_writer.h"

namespace mycel::cli {

/// Colours that people who see no red or no green tell apart (after Okabe and Ito, and Tol), dark enough for white.
inline constexpr std::string_view kTreePalette[kTreeColours] = {"#0072b2", "#e69f00", "#009e73", "#cc79a7",
                                                                "#56b4e9", "#332288", "#999933", "#882255"};
inline constexpr std::string_view kRestColour = "#8c959f";
inline constexpr std::string_view kCutColour = "#cf222e";
inline constexpr std::string_view kLinkColour = "#c3cad3";
inline constexpr std::string_view kInk = "#1f2328";
inline constexpr std::string_view kFaintInk = "#57606a";

/// The side of the bottleneck that is drawn, with what is written beside it.
struct DrawnCut {
  std::vector<NodeId> nodes;
  std::string label;
  std::string names;         // of the nodes
  bool label_above = false;  // of the fabric, or below
  double label_scale = 1;    // of a fabric that will be shown that much smaller
};

/// Whether the label of a cut stands better above the fabric: where that is the shorter way to it.
bool LabelGoesAbove(const Topology& topology, const FabricLayout& layout, const std::vector<NodeId>& nodes);

/// A number with what it is under it.
void DrawFigure(Point at, const std::string& figure, const std::string& caption, SvgWriter* svg);

/// Height of a switch that `trees` trees may cross.
double BarHeightFor(size_t trees);
std::string_view ColourOf(const TreeSheet& sheet, size_t tree);
/// Pixels; `bandwidth_max`: of the topology.
double LinkWidth(double bandwidth, double bandwidth_max);
double WidestLink(const Topology& topology);

/// The links that are drawn: all, or where they are too many for a file that viewers like, those that trees use.
inline constexpr size_t kLinksDrawnMax = 20'000;  // pairs of nodes

/// Draws the fabric with its upper left corner at (0, 0), and the cut's label, kCutStrip x label_scale
/// high, above or below it.
inline constexpr double kCutStrip = 46;
void DrawPanel(const Topology& topology, const FabricLayout& layout, const TreeSheet* sheet, const DrawnCut& cut,
               SvgWriter* svg);

}  // namespace mycel::cli
