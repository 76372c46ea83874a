// The server matrix, what bounds it, and the stages, in text.
#include <algorithm>
#include <array>
#include <cmath>
#include <string>

#include "bindings/cli/exchange_facts.h"
#include "bindings/cli/terminal.h"

namespace mycel::cli {
namespace {

constexpr size_t kNumbersMax = 10;  // servers whose matrix is shown in numbers
constexpr size_t kShadesMax = 128;  // and in shades
constexpr size_t kChartRowsMax = 40;
constexpr size_t kStagesListed = 16;
constexpr int kChartWidth = 64;
constexpr std::array<const char*, 5> kShades = {"\u00b7", "\u2591", "\u2592", "\u2593", "\u2588"};
constexpr std::string_view kLetters = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";

std::string Heading(const std::string& text) { return "\n" + Painted(Tone::kStrong, text) + "\n"; }

/// One unit for all of a matrix, so that its numbers can be compared by eye.
struct Unit {
  double bytes = 1;
  const char* name = "bytes";
};

Unit UnitFor(int64_t most) {
  if (most >= int64_t{10} << 30) return {1024.0 * 1024 * 1024, "GiB"};
  if (most >= int64_t{10} << 20) return {1024.0 * 1024, "MiB"};
  if (most >= int64_t{10} << 10) return {1024.0, "KiB"};
  return {};
}

int64_t LargestBetween(const ExchangeFacts& facts) {
  int64_t most = 0;
  for (size_t a = 0; a < facts.servers.size(); ++a) {
    for (size_t b = 0; b < facts.servers.size(); ++b) {
      if (a != b) most = std::max(most, facts.At(a, b));
    }
  }
  return most;
}

const char* ShadeOf(int64_t bytes, int64_t most) {
  if (bytes == 0 || most == 0) return kShades[0];
  const double share = static_cast<double>(bytes) / static_cast<double>(most);
  return kShades[static_cast<size_t>(std::clamp(std::ceil(share * 4), 1.0, 4.0))];
}

std::string LineName(const ExchangeFacts& facts) {
  return facts.servers[facts.binding] +
         (facts.binding_receives ? " (its column: what it gets)" : " (its row: what it sends)");
}

/// Each cell with a shade of its share of the largest; the line that bounds the exchange stands out.
std::string NumbersText(const ExchangeFacts& facts) {
  const int64_t most = LargestBetween(facts);
  const Unit unit = UnitFor(most);
  std::vector<std::string> headers = {"from \\ to"};
  for (const std::string& name : facts.servers) headers.push_back(">" + name);
  headers.insert(headers.end(), {">sends", ">time"});
  Table table(headers);
  const auto number = [&unit](int64_t bytes) {
    return unit.bytes == 1 ? std::to_string(bytes) : Decimal(static_cast<double>(bytes) / unit.bytes);
  };
  std::vector<Cell> sums = {Cell("gets", Tone::kFaint)}, times = {Cell("time", Tone::kFaint)};
  for (size_t a = 0; a < facts.servers.size(); ++a) {
    const bool row_binds = !facts.binding_receives && a == facts.binding;
    const bool column_binds = facts.binding_receives && a == facts.binding;
    std::vector<Cell> row = {Cell(facts.servers[a], row_binds ? Tone::kBad : Tone::kPlain)};
    int64_t sent = 0, received = 0;
    for (size_t b = 0; b < facts.servers.size(); ++b) {
      if (a == b) {
        row.push_back(Cell("(" + number(facts.At(a, a)) + ")  ", Tone::kFaint));
        continue;
      }
      sent += facts.At(a, b);
      received += facts.At(b, a);
      const bool binds = row_binds || (facts.binding_receives && b == facts.binding);
      row.push_back(
          Cell(number(facts.At(a, b)) + " " + ShadeOf(facts.At(a, b), most), binds ? Tone::kBad : Tone::kPlain));
    }
    row.push_back(Cell(number(sent), row_binds ? Tone::kBad : Tone::kPlain));
    row.push_back(Cell(Duration(facts.out_us[a]) + (row_binds ? " <" : "  "), row_binds ? Tone::kBad : Tone::kPlain));
    table.Add(std::move(row));
    sums.push_back(Cell(number(received) + "  ", column_binds ? Tone::kBad : Tone::kPlain));
    times.push_back(
        Cell(Duration(facts.in_us[a]) + (column_binds ? " ^" : "  "), column_binds ? Tone::kBad : Tone::kPlain));
  }
  for (std::vector<Cell>* row : {&sums, &times}) {
    row->insert(row->end(), {Cell(""), Cell("")});
    table.Add(std::move(*row));
  }
  return "  " + std::string(unit.name) + "; in brackets what stays within a server\n" + table.ToText();
}

/// Too many for numbers: a shade a cell.
std::string ShadesText(const ExchangeFacts& facts) {
  const int64_t most = LargestBetween(facts);
  std::string text = "  row: sender, column: receiver; " + std::string(kShades[4]) + " up to " + RoughSize(most) +
                     ", " + kShades[0] + " nothing\n";
  for (size_t a = 0; a < facts.servers.size(); ++a) {
    text += "  ";
    for (size_t b = 0; b < facts.servers.size(); ++b) text += a == b ? " " : ShadeOf(facts.At(a, b), most);
    text += "  " + Printable(facts.servers[a]) + "  " + Duration(facts.out_us[a]) + " out, " +
            Duration(facts.in_us[a]) + " in" + (a == facts.binding ? "  <" : "") + "\n";
  }
  return text;
}

std::string MatrixText(const ExchangeFacts& facts) {
  const std::string title = Heading("who has how much for whom, by server");
  if (facts.servers.size() <= kNumbersMax) return title + NumbersText(facts);
  if (facts.servers.size() <= kShadesMax) return title + ShadesText(facts);
  return title + "  " + Counted(facts.count(), "server") + ": too many to show\n";
}

std::string BoundText(const ExchangeFacts& facts, double scheduled_us) {
  Table table({"", ""});
  table.Add({"lower bound", Duration(facts.BoundUs()) + ", set by " + LineName(facts)});
  table.Add({"scheduled",
             Duration(scheduled_us) + " simulated, " + Decimal(scheduled_us / facts.BoundUs(), 4) + " of the bound"});
  table.Add({"without rebalancing", "at least " + Duration(facts.own_way_us) + ", the own way out of " +
                                        facts.own_way_rank + ", " + Decimal(facts.own_way_us / facts.BoundUs(), 4) +
                                        " of the bound"});
  if (facts.direct_us > 0) {
    table.Add({"", "planner direct: " + Duration(facts.direct_us) + " simulated, " +
                       Decimal(facts.direct_us / scheduled_us, 4) + " times the scheduled time"});
  }
  if (facts.direct_refused) table.Add({"", "planner direct does not serve this topology"});
  const auto share = [&facts](int64_t bytes) {
    return RoughSize(bytes) + ", " + Percent(static_cast<double>(bytes) / static_cast<double>(facts.between_bytes)) +
           " of the " + RoughSize(facts.between_bytes) + " between servers";
  };
  table.Add({"moved for balance", share(facts.balance_bytes)});
  table.Add({"passed on at the target", share(facts.onward_bytes)});
  return table.ToText();
}

/// Columns of the chart that [begin, end) of the whole time covers.
std::pair<int, int> ColumnsOf(double begin_us, double end_us, double whole_us) {
  const auto at = [whole_us](double us) { return static_cast<int>(std::lround(us / whole_us * kChartWidth)); };
  return {at(begin_us), at(end_us)};
}

std::string ChartText(const ExchangeFacts& facts) {
  const auto bar = [](std::string* line, std::pair<int, int> columns, char with) {
    for (int i = columns.first; i < columns.second; ++i) (*line)[static_cast<size_t>(i)] = with;
  };
  const std::string empty(kChartWidth, '.');
  Table table({"", "", ">busy"});
  std::string balance(kChartWidth, ' '), onward = balance, ruler = balance;
  for (size_t k = 0; k < facts.stages.size(); ++k) {
    const ExchangeStage& stage = facts.stages[k];
    const auto [from, to] = ColumnsOf(stage.begin_us, stage.begin_us + stage.us, facts.staged_us);
    if (to > from) ruler[static_cast<size_t>(from)] = '|';
    for (const StagePart& part : stage.parts) {
      bar(&balance, ColumnsOf(part.balance_begin_us, part.balance_begin_us + part.balance_us, facts.staged_us), '=');
      bar(&onward, ColumnsOf(part.onward_begin_us, part.onward_begin_us + part.onward_us, facts.staged_us), '=');
    }
  }
  table.Add({Cell("stages", Tone::kFaint), ruler, ""});
  table.Add({Cell("balance", Tone::kFaint), balance, ""});
  for (size_t a = 0; a < std::min(kChartRowsMax, facts.servers.size()); ++a) {
    std::string line = empty;
    double busy_us = 0;
    for (const ExchangeStage& stage : facts.stages) {
      const StagePart& part = stage.parts[a];
      if (part.target < 0) continue;
      busy_us += part.send_us;
      const auto target = static_cast<size_t>(part.target);
      bar(&line, ColumnsOf(stage.begin_us, stage.begin_us + part.send_us, facts.staged_us),
          target < kLetters.size() ? kLetters[target] : '#');
    }
    const bool binds = a == facts.binding && !facts.binding_receives;
    const std::string letter(1, a < kLetters.size() ? kLetters[a] : '#');
    table.Add({Cell(letter + " " + facts.servers[a], binds ? Tone::kBad : Tone::kPlain), line,
               Percent(busy_us / facts.staged_us)});
  }
  table.Add({Cell("passing on", Tone::kFaint), onward, ""});
  if (facts.servers.size() > kChartRowsMax) {
    table.AddNote("and " + Counted(static_cast<int64_t>(facts.servers.size() - kChartRowsMax), "more server"));
  }
  return table.ToText();
}

std::string StageListText(const ExchangeFacts& facts) {
  Table table({">stage", ">time", "who sends to whom"});
  for (size_t k = 0; k < std::min(kStagesListed, facts.stages.size()); ++k) {
    const ExchangeStage& stage = facts.stages[k];
    std::string pairs;
    constexpr size_t kPairsMax = 8;
    size_t shown = 0, more = 0;
    for (size_t a = 0; a < stage.parts.size(); ++a) {
      if (stage.parts[a].target < 0) continue;
      if (shown == kPairsMax) {
        ++more;
        continue;
      }
      ++shown;
      pairs += (pairs.empty() ? "" : ", ") + facts.servers[a] + " -> " +
               facts.servers[static_cast<size_t>(stage.parts[a].target)] + " " + RoughSize(stage.parts[a].bytes);
    }
    if (more > 0) pairs += " and " + Counted(static_cast<int64_t>(more), "more pair");
    table.Add({std::to_string(k + 1), Duration(stage.us), pairs});
  }
  if (facts.stages.size() > kStagesListed) {
    table.AddNote("and " + Counted(static_cast<int64_t>(facts.stages.size() - kStagesListed), "more stage"));
  }
  return table.ToText();
}

std::string StagesText(const ExchangeFacts& facts, double scheduled_us) {
  if (facts.stages.empty()) {
    return Heading("stages") + "  none: this plan sends everything at once\n";
  }
  return Heading("the stages, by time (each sender's row says to whom)") + ChartText(facts) + "  " +
         Duration(facts.staged_us) + " stage by stage, balance and passing on included; " + Duration(scheduled_us) +
         " as the program runs them:\n  in rounds, a slice of every stage in each, so that only the first slice's "
         "balance and the last one's passing on show\n" +
         StageListText(facts);
}

}  // namespace

std::string ExchangeText(const ExchangeFacts& facts, double scheduled_us) {
  if (facts.count() < 2) return "";
  if (facts.between_bytes == 0) return Heading("between servers") + "  nothing: all of it stays within servers\n";
  return MatrixText(facts) + "\n" + BoundText(facts, scheduled_us) + StagesText(facts, scheduled_us);
}

}  // namespace mycel::cli
