#include "bindings/cli/timeline_svg.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>
#include <vector>

#include "bindings/cli/panel_drawing.h"
#include "bindings/cli/svg_writer.h"
#include "bindings/cli/terminal.h"
#include "core/plan/contract.h"

namespace mycel::cli {
namespace {

constexpr double kPage = 28;  // margin
constexpr double kPlotWidth = 1100;
constexpr double kHeader = 88;
constexpr double kLegendRow = 22;
constexpr double kMeans = 92;  // the column right of the plot
constexpr double kAxis = 48;
constexpr double kRowGap = 3;
constexpr size_t kRowsMax = 64;
constexpr size_t kBins = 550;
constexpr int32_t kColours = 8;

/// Ranks that share a row.
struct Rows {
  std::vector<std::string> names;
  std::vector<size_t> of_rank;
};

std::string RangeText(int64_t first, int64_t last) {
  return first == last ? std::to_string(first) : std::to_string(first) + "-" + std::to_string(last);
}

/// A row a rank; else a row a server; else runs of ranks.
Rows RowsOf(const Topology& topology) {
  const auto n = static_cast<size_t>(topology.rank_count());
  Rows rows;
  if (n > kRowsMax) {
    std::map<std::string, size_t> servers;
    for (const Rank rank : Ids<Rank>(topology.rank_count())) {
      const std::string& server = topology.node(topology.NodeOf(rank)).server;
      const auto [at, added] = servers.emplace(server, servers.size());
      if (added) rows.names.push_back("server " + server);
      rows.of_rank.push_back(at->second);
    }
    if (servers.size() > 1 && servers.size() <= kRowsMax) return rows;
    rows = {};
  }
  const size_t ranks = (n + kRowsMax - 1) / kRowsMax;  // of a row
  for (size_t r = 0; r < n; ++r) {
    if (r % ranks == 0) {
      rows.names.push_back((ranks > 1 ? "ranks " : "rank ") +
                           RangeText(static_cast<int64_t>(r), static_cast<int64_t>(std::min(n, r + ranks) - 1)));
    }
    rows.of_rank.push_back(r / ranks);
  }
  return rows;
}

/// What colours stand for.
struct Key {
  std::vector<std::string> names;
  std::vector<int32_t> colour;  // by op
};

/// Numbers the ops of a plan: lanes one after the other, rank after rank.
class OpNumbers {
 public:
  explicit OpNumbers(const Plan& plan) {
    for (const RankPlan& rank : plan.ranks) {
      lane_of_rank_.push_back(first_.size());
      for (const Lane& lane : rank.lanes) {
        first_.push_back(count_);
        count_ += lane.ops.size();
      }
    }
  }
  size_t Of(size_t rank, size_t lane, size_t op) const { return first_[lane_of_rank_[rank] + lane] + op; }
  size_t count() const { return count_; }

 private:
  std::vector<size_t> lane_of_rank_;
  std::vector<size_t> first_;
  size_t count_ = 0;
};

template <typename F>
void ForEachOp(const Plan& plan, const OpNumbers& numbers, F&& f) {
  for (size_t r = 0; r < plan.ranks.size(); ++r) {
    for (size_t l = 0; l < plan.ranks[r].lanes.size(); ++l) {
      const std::vector<Op>& ops = plan.ranks[r].lanes[l].ops;
      for (size_t i = 0; i < ops.size(); ++i) f(ops[i], numbers.Of(r, l, i));
    }
  }
}

/// By op: whether what it sends is finished, because it finishes it or reads what another has finished. The i-th op
/// that sends on a channel feeds the i-th that reads it.
std::vector<bool> FinishedOps(const Plan& plan, const OpNumbers& numbers) {
  std::vector<std::vector<size_t>> readers(plan.channels.size());
  std::vector<const Op*> ops(numbers.count());
  std::vector<std::vector<std::pair<int32_t, size_t>>> sends(numbers.count());  // (channel, which message of it)
  std::vector<size_t> sent(plan.channels.size());
  ForEachOp(plan, numbers, [&](const Op& op, size_t number) {
    ops[number] = &op;
    for (int32_t i = 0; i < op.inputs; ++i) {
      const Operand& input = plan.InputsOf(op)[i];
      if (input.kind == Operand::Kind::kChannel) readers[static_cast<size_t>(input.index)].push_back(number);
    }
    for (int32_t i = 0; i < op.outputs; ++i) {
      const Operand& output = plan.OutputsOf(op)[i];
      if (output.kind != Operand::Kind::kChannel) continue;
      sends[number].emplace_back(output.index, sent[static_cast<size_t>(output.index)]++);
    }
  });
  std::vector<bool> finished(numbers.count(), false);
  std::vector<size_t> reached;
  for (size_t i = 0; i < ops.size(); ++i) {
    if (ops[i]->finish) finished[i] = true, reached.push_back(i);
  }
  while (!reached.empty()) {
    const size_t op = reached.back();
    reached.pop_back();
    for (const auto& [channel, message] : sends[op]) {
      const std::vector<size_t>& of_channel = readers[static_cast<size_t>(channel)];
      if (message >= of_channel.size() || finished[of_channel[message]]) continue;
      finished[of_channel[message]] = true;
      reached.push_back(of_channel[message]);
    }
  }
  return finished;
}

/// Whose data a block is, in so many groups as there are colours.
Key KeyByBlock(const Plan& plan, const Topology& topology, const OpNumbers& numbers) {
  const int64_t n = plan.rank_count;
  const int64_t blocks = std::max<int64_t>(1, Contract{plan.collective, plan.rank_count, plan.root}.BlockCount());
  Key key;
  key.colour.resize(numbers.count());
  if (blocks == 1) {  // one vector for all: which part of it
    for (int32_t i = 1; i <= kColours; ++i)
      key.names.push_back("part " + std::to_string(i) + " of " + std::to_string(kColours));
    ForEachOp(plan, numbers, [&](const Op& op, size_t number) {
      key.colour[number] = static_cast<int32_t>(static_cast<double>(op.chunk.begin) * kColours /
                                                static_cast<double>(plan.UnitsOf(op.chunk.block)));
    });
    return key;
  }
  std::vector<int32_t> of_rank;
  std::map<std::string, int32_t> servers;
  for (const Rank rank : Ids<Rank>(plan.rank_count)) {
    const std::string& server = topology.node(topology.NodeOf(rank)).server;
    of_rank.push_back(servers.emplace(server, static_cast<int32_t>(servers.size())).first->second);
  }
  if (n > kColours && servers.size() > 1 && servers.size() <= static_cast<size_t>(kColours)) {
    key.names.resize(servers.size());
    for (const auto& [server, number] : servers) key.names[static_cast<size_t>(number)] = "data of server " + server;
  } else {
    const int64_t ranks = (n + kColours - 1) / kColours;
    for (int64_t r = 0; r < n; ++r) of_rank[static_cast<size_t>(r)] = static_cast<int32_t>(r / ranks);
    for (int64_t r = 0; r < n; r += ranks) {
      key.names.push_back((ranks > 1 ? "data of ranks " : "data of rank ") + RangeText(r, std::min(n, r + ranks) - 1));
    }
  }
  ForEachOp(plan, numbers, [&](const Op& op, size_t number) {
    key.colour[number] = of_rank[static_cast<size_t>(int64_t{op.chunk.block} * n / blocks)];
  });
  return key;
}

Key KeyOf(const Plan& plan, const Topology& topology, const OpNumbers& numbers) {
  if (plan.collective != Collective::kAllReduce) return KeyByBlock(plan, topology, numbers);
  Key key;
  key.names = {"to be reduced", "reduced, passed on"};
  for (const bool finished : FinishedOps(plan, numbers)) key.colour.push_back(finished ? 1 : 0);
  return key;
}

/// Bytes by row, colour and bin of time.
class Activity {
 public:
  Activity(const Timeline& timeline, const Rows& rows, const Key& key, const OpNumbers& numbers)
      : colours_(key.names.size()),
        bin_us_(std::max(timeline.result.simulated_us, 1e-9) / static_cast<double>(kBins)),
        bytes_(rows.names.size() * colours_ * kBins) {
    const Plan& plan = timeline.plan;
    const SimResult& result = timeline.result;
    // What a simulated op stands for: places in the picture, and how often each.
    std::vector<std::map<size_t, double>> places(numbers.count());
    size_t lane_number = 0;
    for (size_t r = 0; r < plan.ranks.size(); ++r) {
      for (size_t l = 0; l < plan.ranks[r].lanes.size(); ++l, ++lane_number) {
        const RankLane& alike = result.lane_alike[lane_number];
        for (size_t i = 0; i < plan.ranks[r].lanes[l].ops.size(); ++i) {
          const auto colour = static_cast<size_t>(key.colour[numbers.Of(r, l, i)]);
          places[numbers.Of(alike.rank.index(), alike.lane.index(), i)][rows.of_rank[r] * colours_ + colour] += 1;
        }
      }
    }
    std::vector<std::vector<const MessageInterval*>> sent(numbers.count());
    for (const MessageInterval& at : result.messages) {
      sent[numbers.Of(at.rank.index(), at.lane.index(), static_cast<size_t>(at.op))].push_back(&at);
    }
    std::vector<double> bins(kBins);
    for (size_t op = 0; op < sent.size(); ++op) {
      if (sent[op].empty()) continue;
      std::fill(bins.begin(), bins.end(), 0.0);
      for (const MessageInterval* at : sent[op]) Spread(*at, &bins);
      for (const auto& [place, count] : places[op]) {
        double* const into = bytes_.data() + place * kBins;
        for (size_t bin = 0; bin < kBins; ++bin) into[bin] += bins[bin] * count;
      }
    }
  }

  double GBps(size_t row, size_t colour, size_t bin) const { return At(row, colour, bin) / (bin_us_ * 1e3); }
  double Bytes(size_t row, size_t colour) const {
    double sum = 0;
    for (size_t bin = 0; bin < kBins; ++bin) sum += At(row, colour, bin);
    return sum;
  }
  /// The highest rate of any row.
  double PeakGBps() const {
    double peak = 0;
    for (size_t row = 0; row < bytes_.size() / colours_ / kBins; ++row) {
      for (size_t bin = 0; bin < kBins; ++bin) {
        double sum = 0;
        for (size_t colour = 0; colour < colours_; ++colour) sum += GBps(row, colour, bin);
        peak = std::max(peak, sum);
      }
    }
    return peak;
  }

 private:
  double At(size_t row, size_t colour, size_t bin) const { return bytes_[(row * colours_ + colour) * kBins + bin]; }

  /// Adds a message's bytes to the bins that it flows in.
  void Spread(const MessageInterval& at, std::vector<double>* bins) const {
    const double from = at.start_us / bin_us_;
    const double to = std::max(at.end_us / bin_us_, from + 1e-6);
    const auto last = std::min(kBins - 1, static_cast<size_t>(to));
    for (size_t bin = std::min(kBins - 1, static_cast<size_t>(from)); bin <= last; ++bin) {
      const auto left = static_cast<double>(bin);
      const double right = bin + 1 == kBins ? std::max(to, left + 1) : left + 1;
      const double share = std::max(0.0, std::min(to, right) - std::max(from, left)) / (to - from);
      (*bins)[bin] += static_cast<double>(at.bytes) * share;
    }
  }

  size_t colours_;
  double bin_us_;
  std::vector<double> bytes_;
};

/// 1, 2 or 5 times a power of ten that makes at most `ticks` steps.
double StepFor(double range, int ticks) {
  const double least = range / ticks;
  const double power = std::pow(10, std::floor(std::log10(least)));
  for (const double step : {1.0, 2.0, 5.0}) {
    if (step * power >= least) return step * power;
  }
  return 10 * power;
}

class TimelinePage {
 public:
  explicit TimelinePage(const Timeline& timeline)
      : timeline_(timeline),
        numbers_(timeline.plan),
        rows_(RowsOf(timeline.topology)),
        key_(KeyOf(timeline.plan, timeline.topology, numbers_)),
        activity_(timeline, rows_, key_, numbers_),
        peak_(activity_.PeakGBps()) {
    const size_t rows = rows_.names.size();
    row_height_ = rows <= 8 ? 62 : rows <= 16 ? 38 : rows <= 32 ? 24 : 14;
    size_t longest = 0;
    for (std::string& name : rows_.names) longest = std::max(longest, name.size());
    font_ = row_height_ >= 20 ? 13 : 11;
    left_ = kPage + std::min(220.0, static_cast<double>(longest) * font_ * 0.58 + 14);
    columns_ = 4;
    const size_t legend_rows = (key_.names.size() + columns_ - 1) / columns_;
    top_ = kPage + kHeader + static_cast<double>(legend_rows) * kLegendRow + 16;
    bottom_ = top_ + static_cast<double>(rows) * (row_height_ + kRowGap);
    width_ = left_ + kPlotWidth + kMeans + kPage;
    height_ = bottom_ + kAxis + 58;
  }

  std::string Draw() {
    SvgWriter svg(width_, height_);
    svg.AddTitle(Heading());
    svg.Add("rect", {{"width", XmlNumber(width_)}, {"height", XmlNumber(height_)}, {"fill", "#ffffff"}});
    DrawHeader(&svg);
    DrawLegend(&svg);
    DrawAxis(&svg);
    for (size_t row = 0; row < rows_.names.size(); ++row) DrawRow(row, &svg);
    DrawNotes(&svg);
    return svg.Take();
  }

 private:
  std::string Heading() const {
    return std::string(NameOf(timeline_.plan.collective)) + " on " + timeline_.topology.name() + ": who sends when";
  }

  void DrawHeader(SvgWriter* svg) const {
    const SimResult& result = timeline_.result;
    svg->AddText({kPage, kPage + 22}, Heading(), 26, kInk, "start", true);
    svg->AddText({kPage, kPage + 46},
                 "planner " + timeline_.plan.planner + ", " + Counted(timeline_.plan.rank_count, "rank") + ", " +
                     SizeText(timeline_.bytes) + (timeline_.plan.block_units.empty() ? "" : " a rank on average"),
                 14, kFaintInk);
    const double x = width_ - kPage - 460;
    DrawFigure({x, kPage + 22}, Duration(result.time_us), "simulated time", svg);
    DrawFigure({x + 160, kPage + 22}, Decimal(result.algbw_GBps) + " GB/s", "algbw", svg);
    DrawFigure({x + 320, kPage + 22}, Decimal(result.busbw_GBps) + " GB/s", "busbw", svg);
  }

  void DrawLegend(SvgWriter* svg) const {
    for (size_t i = 0; i < key_.names.size(); ++i) {
      const double x = left_ + static_cast<double>(i % columns_) * (kPlotWidth / static_cast<double>(columns_));
      const size_t row = i / columns_;
      const double y = kPage + kHeader + static_cast<double>(row) * kLegendRow;
      DrawBox(x, y - 11, 22, 12, kTreePalette[i % kColours], "", svg);
      svg->AddText({x + 30, y}, key_.names[i], 13, kInk);
    }
    svg->AddText({left_ + kPlotWidth + 8, top_ - 8}, "mean GB/s", 11, kFaintInk);
  }

  static void DrawBox(double x, double y, double width, double height, std::string_view colour,
                      const std::string& title, SvgWriter* svg) {
    svg->Add("rect",
             {{"x", XmlNumber(x)},
              {"y", XmlNumber(y)},
              {"width", XmlNumber(width)},
              {"height", XmlNumber(height)},
              {"fill", std::string(colour)}},
             title);
  }

  void DrawAxis(SvgWriter* svg) const {
    const double end_us = std::max(timeline_.result.simulated_us, 1e-9);
    const bool milli = end_us >= 2000;
    const double unit_us = milli ? 1000 : 1;
    const double step = StepFor(end_us / unit_us, 10);
    for (int i = 0; i * step <= end_us / unit_us * (1 + 1e-9); ++i) {
      const double x = left_ + i * step * unit_us / end_us * kPlotWidth;
      svg->Add("path", {{"d", "M" + XmlNumber(x) + " " + XmlNumber(top_ - 4) + "V" + XmlNumber(bottom_ + 5)},
                        {"stroke", "#d0d7de"},
                        {"stroke-width", "1"}});
      svg->AddText({x, bottom_ + 20}, Decimal(i * step), 12, kFaintInk, "middle");
    }
    svg->AddText({left_ + kPlotWidth / 2, bottom_ + 40}, milli ? "time, ms" : "time, µs", 13, kInk, "middle");
  }

  void DrawRow(size_t row, SvgWriter* svg) const {
    const double base = top_ + static_cast<double>(row) * (row_height_ + kRowGap) + row_height_;
    svg->AddText({left_ - 10, base - (row_height_ - font_) / 2 - 1}, rows_.names[row], font_, kInk, "end");
    svg->Add("path", {{"d", "M" + XmlNumber(left_) + " " + XmlNumber(base) + "h" + XmlNumber(kPlotWidth)},
                      {"stroke", "#c3cad3"},
                      {"stroke-width", "0.7"}});
    std::vector<double> below(kBins, 0);
    double bytes = 0;
    for (size_t colour = 0; colour < key_.names.size(); ++colour) {
      const double of_colour = activity_.Bytes(row, colour);
      if (of_colour == 0) continue;
      bytes += of_colour;
      std::vector<double> above = below;
      for (size_t bin = 0; bin < kBins; ++bin) above[bin] += activity_.GBps(row, colour, bin);
      svg->Add("path", {{"d", Area(above, below, base)}, {"fill", std::string(kTreePalette[colour % kColours])}},
               rows_.names[row] + ", " + key_.names[colour] + ": " + Decimal(of_colour / 1e6) + " MB");
      below = std::move(above);
    }
    const double mean = bytes / std::max(timeline_.result.simulated_us * 1e3, 1e-9);
    svg->AddText({left_ + kPlotWidth + 8, base - (row_height_ - font_) / 2 - 1}, Decimal(mean), font_, kFaintInk);
  }

  /// Between two step curves; equal steps are one.
  std::string Area(const std::vector<double>& above, const std::vector<double>& below, double base) const {
    const auto y = [&](double GBps) { return XmlNumber(base - (peak_ > 0 ? GBps / peak_ : 0) * row_height_); };
    const auto x = [&](size_t bin) { return XmlNumber(left_ + static_cast<double>(bin) * kPlotWidth / kBins); };
    std::string path = "M" + x(0) + " " + y(below[0]);
    for (size_t bin = 0; bin < kBins; ++bin) {
      path += "V" + y(above[bin]);
      while (bin + 1 < kBins && y(above[bin + 1]) == y(above[bin])) ++bin;
      path += "H" + x(bin + 1);
    }
    for (size_t bin = kBins; bin > 0; --bin) {
      path += "V" + y(below[bin - 1]);
      while (bin > 1 && y(below[bin - 2]) == y(below[bin - 1])) --bin;
      path += "H" + x(bin - 1);
    }
    return path + "Z";
  }

  void DrawNotes(SvgWriter* svg) const {
    const SimResult& result = timeline_.result;
    const bool grouped = rows_.names.size() < static_cast<size_t>(timeline_.plan.rank_count);
    std::string text = "The height of a row is what its " + std::string(grouped ? "ranks send" : "rank sends") +
                       ", at full height " + Decimal(peak_) + " GB/s.";
    if (result.slices_simulated < result.slices) {
      text += " Shown: the first " + std::to_string(result.slices_simulated) + " of " +
              Counted(result.slices, "slice") + "; the rest goes on at their pace.";
    }
    svg->AddText({kPage, bottom_ + kAxis + 22}, text, 12.5, kFaintInk);
    if (result.lanes_simulated < result.lanes) {
      svg->AddText({kPage, bottom_ + kAxis + 40},
                   Counted(result.lanes_simulated, "lane") + (result.lanes_simulated == 1 ? " was" : " were") +
                       " simulated for all " + std::to_string(result.lanes) +
                       ": the others provably do the same at the same time.",
                   12.5, kFaintInk);
    }
  }

  const Timeline& timeline_;
  OpNumbers numbers_;
  Rows rows_;
  Key key_;
  Activity activity_;
  double peak_ = 0;
  double row_height_ = 0;
  double font_ = 0;
  double left_ = 0;
  double top_ = 0;
  double bottom_ = 0;
  size_t columns_ = 1;
  double width_ = 0;
  double height_ = 0;
};

}  // namespace

std::string DrawTimelineSvg(const Timeline& timeline) { return TimelinePage(timeline).Draw(); }

}  // namespace mycel::cli
