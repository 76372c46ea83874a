#include "bindings/cli/exchange_svg.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>

#include "bindings/cli/panel_drawing.h"
#include "bindings/cli/svg_writer.h"
#include "bindings/cli/terminal.h"

namespace mycel::cli {
namespace {

constexpr double kPage = 28;  // margin
constexpr double kHeader = 96;
constexpr double kTitle = 48;   // of a panel
constexpr double kGap = 56;     // between panels
constexpr double kLabels = 92;  // names of servers
constexpr double kSumBar = 90;  // a row's or column's time
constexpr double kChart = 800;  // the whole time
constexpr double kNotes = 132;
constexpr double kCellForNumbers = 36;
constexpr double kPartMin = 0.25;  // narrower bars cannot be seen
constexpr std::string_view kBalanceColour = "#57606a";
constexpr std::string_view kOnwardColour = "#a5adb6";
constexpr std::string_view kGridColour = "#d0d7de";
constexpr std::string_view kBandColour = "#f6f8fa";

/// From nearly white to dark blue: darker is more, also in grey.
std::string HeatColour(double share) {
  static constexpr std::array<std::array<int, 3>, 2> kEnds = {{{238, 245, 251}, {8, 64, 129}}};
  char text[8];
  const auto mix = [share](size_t i) {
    return static_cast<int>(std::lround(kEnds[0][i] + share * (kEnds[1][i] - kEnds[0][i])));
  };
  std::snprintf(text, sizeof text, "#%02x%02x%02x", static_cast<unsigned>(mix(0)), static_cast<unsigned>(mix(1)),
                static_cast<unsigned>(mix(2)));
  return text;
}

/// Ticks of a time axis: 1, 2 or 5 times a power of ten, at most ten of them.
double TickUs(double whole_us) {
  double tick = std::pow(10, std::floor(std::log10(whole_us / 10)));
  for (const double factor : {2.0, 2.5, 2.0}) {
    if (whole_us / tick <= 10) break;
    tick *= factor;
  }
  return tick;
}

void AddBox(const Box& box, std::string_view fill, SvgWriter* svg, std::string_view title = {},
            std::string_view kind = {}) {
  XmlAttributes attributes;
  if (!kind.empty()) attributes.emplace_back("class", std::string(kind));
  for (const auto& [name, value] : {std::pair("x", box.left), std::pair("y", box.top), std::pair("width", box.width),
                                    std::pair("height", box.height)}) {
    attributes.emplace_back(name, XmlNumber(value));
  }
  attributes.emplace_back("fill", std::string(fill));
  svg->Add("rect", attributes, title);
}

void AddLine(Point from, Point to, std::string_view colour, const std::string& dashes, SvgWriter* svg) {
  XmlAttributes attributes = {
      {"d", "M" + XmlNumber(from.x) + " " + XmlNumber(from.y) + "L" + XmlNumber(to.x) + " " + XmlNumber(to.y)},
      {"stroke", std::string(colour)}};
  if (!dashes.empty()) attributes.emplace_back("stroke-dasharray", dashes);
  svg->Add("path", attributes);
}

class Page {
 public:
  Page(const PlanReport& report, const ExchangeFacts& facts)
      : report_(report), facts_(facts), n_(facts.servers.size()) {
    cell_ = std::clamp(std::floor(420 / static_cast<double>(n_)), 4.0, 64.0);
    row_ = std::clamp(std::floor(520 / static_cast<double>(n_)), 5.0, 54.0);
    matrix_width_ = kLabels + static_cast<double>(n_) * cell_ + kSumBar + 70;
    chart_width_ = facts.stages.empty() ? 0 : kLabels + kChart + 20;
    const double matrix_height = static_cast<double>(n_) * cell_ + 110;
    const double chart_height = facts.stages.empty() ? 0 : static_cast<double>(n_) * row_ + 110;
    width_ = std::max(2 * kPage + matrix_width_ + (chart_width_ > 0 ? kGap + chart_width_ : 0), 1000.0);
    height_ = 2 * kPage + kHeader + kTitle + std::max(matrix_height, chart_height) + kNotes;
    whole_us_ = std::max(facts.staged_us, report.scheduled_us);
    for (size_t a = 0; a < n_; ++a) {
      for (size_t b = 0; b < n_; ++b) {
        if (a != b) most_ = std::max(most_, facts.At(a, b));
      }
    }
  }

  std::string Draw() {
    SvgWriter svg(width_, height_);
    svg.AddTitle(Heading());
    AddBox({0, 0, width_, height_}, "#ffffff", &svg);
    DrawHeader(&svg);
    const double top = kPage + kHeader;
    svg.Open("g", {{"class", "matrix"}, {"transform", Moved({kPage, top})}});
    DrawMatrix(&svg);
    svg.Close();
    if (!facts_.stages.empty()) {
      svg.Open("g", {{"class", "stages"}, {"transform", Moved({kPage + matrix_width_ + kGap, top})}});
      DrawStages(&svg);
      svg.Close();
    }
    DrawNotes(height_ - kNotes - 4, &svg);
    return svg.Take();
  }

 private:
  static std::string Moved(Point by) { return "translate(" + XmlNumber(by.x) + " " + XmlNumber(by.y) + ")"; }
  std::string Heading() const { return "alltoallv on " + report_.topology.name(); }
  double X(double us) const { return kLabels + us / whole_us_ * kChart; }
  std::string_view ColourOfServer(size_t server) const { return kTreePalette[server % kTreeColours]; }
  bool RowBinds(size_t a) const { return !facts_.binding_receives && a == facts_.binding; }
  bool ColumnBinds(size_t b) const { return facts_.binding_receives && b == facts_.binding; }

  void DrawHeader(SvgWriter* svg) const {
    svg->AddText({kPage, kPage + 22}, Heading(), 26, kInk, "start", true);
    svg->AddText({kPage, kPage + 46},
                 "planner " + report_.made.choice.plan.planner + ", " + Counted(report_.topology.rank_count(), "rank") +
                     " in " + Counted(facts_.count(), "server") + ", " + RoughSize(report_.request.bytes) +
                     " a rank on average",
                 14, kFaintInk);
    const double bound = facts_.BoundUs();
    double x = width_ - kPage - 470;
    const auto figure = [&](const std::string& value, const std::string& caption) {
      DrawFigure({x, kPage + 22}, value, caption, svg);
      x += 160;
    };
    figure(Duration(report_.scheduled_us), "simulated");
    figure(Duration(bound), "lower bound");
    figure(Percent(bound / report_.scheduled_us), "of the bound's speed");
  }

  void DrawMatrix(SvgWriter* svg) const {
    svg->AddText({0, 18}, "Who has how much for whom", 16, kInk, "start", true);
    const auto n = static_cast<double>(n_);
    const double side = n * cell_;
    const bool numbers = cell_ >= kCellForNumbers;
    const double label = std::clamp(cell_ * 0.8, 4.0, 12.5);
    const double bound = facts_.BoundUs();
    for (size_t a = 0; a < n_; ++a) {
      const double y = kTitle + static_cast<double>(a) * cell_;
      const bool labelled = cell_ >= 9 || RowBinds(a) || ColumnBinds(a);
      if (labelled) {
        svg->AddText({kLabels - 8, y + cell_ / 2 + label * 0.35}, facts_.servers[a], label,
                     RowBinds(a) ? kCutColour : kInk, "end", RowBinds(a));
      }
      for (size_t b = 0; b < n_; ++b) {
        const Box box{kLabels + static_cast<double>(b) * cell_, y, cell_, cell_};
        const double share = most_ == 0 ? 0 : static_cast<double>(facts_.At(a, b)) / static_cast<double>(most_);
        const std::string said =
            facts_.servers[a] + (a == b ? " keeps " : " -> " + facts_.servers[b] + ": ") + RoughSize(facts_.At(a, b));
        const Box inner = cell_ > 12 ? box.Grown(-0.75) : box;
        AddBox(inner, a == b ? "#eaeef2" : HeatColour(share), svg, said, "cell");
        if (!numbers) continue;
        svg->AddText({box.center().x, box.center().y + 4}, ShortSize(facts_.At(a, b)), 11,
                     a == b         ? kFaintInk
                     : share > 0.55 ? std::string_view("#ffffff")
                                    : kInk,
                     "middle");
      }
      // What the row takes over all ways out of the server, and the column.
      const double out = facts_.out_us[a] / bound * kSumBar;
      AddBox({kLabels + side + 8, y + cell_ * 0.25, out, std::max(2.0, cell_ * 0.5)},
             RowBinds(a) ? kCutColour : kOnwardColour, svg,
             facts_.servers[a] + " sends: " + Duration(facts_.out_us[a]));
      if (numbers || RowBinds(a)) {
        svg->AddText({kLabels + side + 14 + out, y + cell_ / 2 + 4}, Duration(facts_.out_us[a]), 11,
                     RowBinds(a) ? kCutColour : kFaintInk, "start", RowBinds(a));
      }
      const double x = kLabels + static_cast<double>(a) * cell_;
      if (cell_ >= 20) {
        svg->AddText({x + cell_ / 2, kTitle - 6}, facts_.servers[a], std::min(label, 11.0),
                     ColumnBinds(a) ? kCutColour : kInk, "middle", ColumnBinds(a));
      }
      const double in = facts_.in_us[a] / bound * 44;
      AddBox({x + cell_ * 0.25, kTitle + side + 8, std::max(2.0, cell_ * 0.5), in},
             ColumnBinds(a) ? kCutColour : kOnwardColour, svg,
             facts_.servers[a] + " gets: " + Duration(facts_.in_us[a]));
      if (numbers || ColumnBinds(a)) {
        svg->AddText({x + cell_ / 2, kTitle + side + 22 + in}, Duration(facts_.in_us[a]),
                     std::clamp(cell_ * 0.18, 9.0, 10.5), ColumnBinds(a) ? kCutColour : kFaintInk, "middle",
                     ColumnBinds(a));
      }
    }
    const Box all{kLabels, kTitle, side, side};
    const double at = static_cast<double>(facts_.binding) * cell_;
    const Box binding =
        facts_.binding_receives ? Box{all.left + at, all.top, cell_, side} : Box{all.left, all.top + at, side, cell_};
    svg->Add("rect",
             {{"class", "binding"},
              {"x", XmlNumber(binding.left)},
              {"y", XmlNumber(binding.top)},
              {"width", XmlNumber(binding.width)},
              {"height", XmlNumber(binding.height)},
              {"fill", "none"},
              {"stroke", std::string(kCutColour)},
              {"stroke-width", "2.2"}},
             BindingText());
    svg->AddText({kLabels, kTitle + side + 96}, BindingText(), 12.5, kCutColour, "start", true);
  }

  std::string BindingText() const {
    return "What " + facts_.servers[facts_.binding] + (facts_.binding_receives ? " gets" : " sends") +
           " sets the bound: " + Duration(facts_.BoundUs());
  }

  /// "37.2M": what fits a cell.
  static std::string ShortSize(int64_t bytes) {
    constexpr std::string_view kSuffixes = "KMGTP";
    if (bytes < 1024) return std::to_string(bytes);
    auto value = static_cast<double>(bytes);
    size_t power = 0;
    for (; value >= 1023.5 && power < kSuffixes.size(); ++power) value /= 1024;
    return Decimal(value, 3) + kSuffixes[power - 1];
  }

  void DrawStages(SvgWriter* svg) const {
    svg->AddText({0, 18}, Counted(static_cast<int64_t>(facts_.stages.size()), "stage") + ", one to one", 16, kInk,
                 "start", true);
    const double top = kTitle + 14;
    const double bottom = top + static_cast<double>(n_) * row_;
    const bool thin = row_ < 14;
    for (size_t k = 0; k < facts_.stages.size(); ++k) {
      const ExchangeStage& stage = facts_.stages[k];
      const double left = X(stage.begin_us), right = X(stage.begin_us + stage.us);
      if (k % 2 == 0) AddBox({left, top, right - left, bottom - top}, kBandColour, svg);
      if (right - left >= 14) {
        svg->AddText({(left + right) / 2, top - 6}, std::to_string(k + 1), 11, kFaintInk, "middle");
      }
    }
    for (size_t a = 0; a < n_; ++a) {
      const double y = top + static_cast<double>(a) * row_;
      if (row_ >= 9) {
        svg->AddText({kLabels - 8, y + row_ / 2 + 4}, facts_.servers[a], std::min(12.5, row_ * 0.8),
                     RowBinds(a) ? kCutColour : kInk, "end", RowBinds(a));
      }
      for (size_t k = 0; k < facts_.stages.size(); ++k) DrawPart(a, k, y, thin, svg);
    }
    const double tick = TickUs(whole_us_);
    AddLine({kLabels, bottom + 4}, {X(whole_us_), bottom + 4}, kGridColour, "", svg);
    for (int i = 0; i * tick <= whole_us_; ++i) {
      AddLine({X(i * tick), bottom + 4}, {X(i * tick), bottom + 9}, kFaintInk, "", svg);
      svg->AddText({X(i * tick), bottom + 22}, Duration(i * tick), 11, kFaintInk, "middle");
    }
    DrawMark(facts_.BoundUs(), "lower bound", kCutColour, top, bottom, 44, svg);
    DrawMark(report_.scheduled_us, "simulated, in rounds", kInk, top, bottom, 62, svg);
  }

  void DrawMark(double us, const std::string& text, std::string_view colour, double top, double bottom, double below,
                SvgWriter* svg) const {
    AddLine({X(us), top - 3}, {X(us), bottom + below - 12}, colour, "5 4", svg);
    svg->AddText({X(us) + 4, bottom + below - 2}, text + " " + Duration(us), 11.5, colour, "end", true);
  }

  void DrawPart(size_t a, size_t k, double y, bool thin, SvgWriter* svg) const {
    const ExchangeStage& stage = facts_.stages[k];
    const StagePart& part = stage.parts[a];
    const double beside = thin ? 0 : row_ * 0.17;
    const std::string in_stage = " in stage " + std::to_string(k + 1);
    const auto width = [this](double us) { return us / whole_us_ * kChart; };
    if (beside > 0 && width(part.balance_us) >= kPartMin) {
      AddBox({X(part.balance_begin_us), y + 2, width(part.balance_us), beside}, kBalanceColour, svg,
             facts_.servers[a] + " balances for what it sends" + in_stage + ": " + Duration(part.balance_us),
             "balance");
    }
    if (beside > 0 && width(part.onward_us) >= kPartMin) {
      AddBox({X(part.onward_begin_us), y + row_ - 2 - beside, width(part.onward_us), beside}, kOnwardColour, svg,
             facts_.servers[a] + " passes on what it got" + in_stage + ": " + Duration(part.onward_us), "onward");
    }
    if (part.target < 0 || width(part.send_us) < kPartMin) return;
    const auto target = static_cast<size_t>(part.target);
    const Box box{X(stage.begin_us), y + 3 + beside, width(part.send_us), std::max(2.0, row_ - 6 - 2 * beside)};
    AddBox(box, ColourOfServer(target), svg,
           facts_.servers[a] + " -> " + facts_.servers[target] + in_stage + ": " + RoughSize(part.bytes) + ", " +
               Duration(part.send_us),
           "send");
    const std::string name = facts_.servers[target];
    if (box.height >= 11 && box.width >= 8 + 6.5 * static_cast<double>(name.size())) {
      svg->AddText({box.center().x, box.center().y + 4}, name, 11, "#ffffff", "middle", true);
    }
  }

  void DrawNotes(double y, SvgWriter* svg) const {
    AddLine({kPage, y}, {width_ - kPage, y}, kGridColour, "", svg);
    double x = kPage;
    const auto item = [&](std::string_view colour, const std::string& text) {
      AddBox({x, y + 15, 22, 8}, colour, svg);
      svg->AddText({x + 30, y + 24}, text, 12.5, kFaintInk);
      x += 30 + static_cast<double>(text.size()) * 6.6 + 22;
    };
    if (!facts_.stages.empty()) {
      item(kBalanceColour, "above: balanced within the server before it is sent");
      item(kOnwardColour, "below: passed on within the server that got it");
      item(kTreePalette[0], "between: sent, coloured by the server that gets it");
    }
    std::vector<std::string> sentences;
    const auto share = [this](int64_t bytes) {
      return RoughSize(bytes) + " (" + Percent(static_cast<double>(bytes) / static_cast<double>(facts_.between_bytes)) +
             ")";
    };
    sentences.push_back("Of " + RoughSize(facts_.between_bytes) + " between servers " + share(facts_.balance_bytes) +
                        " move within their server for balance, " + share(facts_.onward_bytes) +
                        " are passed on where they arrive.");
    sentences.push_back("Without rebalancing at least " + Duration(facts_.own_way_us) + " (own way out of " +
                        facts_.own_way_rank + ")" +
                        (facts_.direct_us > 0    ? "; planner direct: " + Duration(facts_.direct_us) + " simulated."
                         : facts_.direct_refused ? "; planner direct does not serve this topology."
                                                 : "."));
    if (facts_.stages.empty()) {
      sentences.push_back("This plan has no stages: everything is sent at once.");
    } else {
      sentences.push_back("Drawn stage by stage (" + Duration(facts_.staged_us) +
                          "); the program takes all stages in rounds, a slice of each, which hides all but the first "
                          "slice's balance and the last one's passing on.");
    }
    double line = y + (facts_.stages.empty() ? 26 : 52);
    for (const std::string& sentence : sentences) {
      svg->AddText({kPage, line}, sentence, 12.5, kFaintInk);
      line += 19;
    }
  }

  const PlanReport& report_;
  const ExchangeFacts& facts_;
  size_t n_;
  double cell_ = 0;  // of the matrix
  double row_ = 0;   // of the chart
  double matrix_width_ = 0;
  double chart_width_ = 0;
  double width_ = 0;
  double height_ = 0;
  double whole_us_ = 0;
  int64_t most_ = 0;
};

}  // namespace

std::string DrawExchangeSvg(const PlanReport& report, const ExchangeFacts& facts) { return Page(report, facts).Draw(); }

}  // namespace mycel::cli
