// `mycel topo design`: which graph should join N ranks of D ports?
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

#include "bindings/cli/arguments.h"
#include "bindings/cli/command.h"
#include "bindings/cli/progress.h"
#include "bindings/cli/terminal.h"
#include "core/base/rational.h"
#include "core/topo/topology_json.h"
#include "scheduler/design/finder.h"

namespace mycel::cli {
namespace {

using Json = nlohmann::ordered_json;
using design::RankedDesign;

/// Of a link, where no --bandwidth is given: as in the gallery's grids.
constexpr int64_t kLinkGBps = 25;

struct DesignOptions {
  int64_t ranks = 0;
  int64_t degree = 0;
  double alpha_us = 1;
  std::optional<Rational> bandwidth;  // GB/s of a rank over all its links
  int64_t bytes = 64 << 20;
  bool json = false;
  std::string out;

  Rational RankGBps() const { return bandwidth ? *bandwidth : Rational(kLinkGBps * degree); }
  design::Machine Machine() const { return {alpha_us, RankGBps().ToDouble()}; }
};

double UsOf(const DesignOptions& options, const RankedDesign& ranked) {
  const design::StepsAndBandwidth& cost = ranked.design.cost;
  return StepsUs(options.Machine(), cost.steps, cost.bandwidth, static_cast<double>(options.bytes));
}

/// The design for --bytes.
const RankedDesign& Winner(const DesignOptions& options, const std::vector<RankedDesign>& designs) {
  const auto bytes = static_cast<double>(options.bytes);
  for (const RankedDesign& ranked : designs) {
    if (ranked.bytes_from <= bytes && bytes < ranked.bytes_to) return ranked;
  }
  return designs.back();
}

/// Bytes as a whole number: what scripts compare sizes with.
Json WholeBytes(double bytes) {
  return std::isfinite(bytes) ? Json(static_cast<int64_t>(std::llround(bytes))) : Json(nullptr);
}

std::string DesignJson(const DesignOptions& options, const std::vector<RankedDesign>& designs) {
  Json json;
  json["ranks"] = options.ranks;
  json["degree"] = options.degree;
  json["alpha_us"] = options.alpha_us;
  json["bandwidth_GBps"] = options.RankGBps().ToDouble();
  json["bytes"] = options.bytes;
  json["bounds"] = {{"steps", design::MooreSteps(options.ranks, options.degree)},
                    {"bandwidth", Rational(options.ranks - 1, options.ranks).ToString()}};
  json["frontier"] = Json::array();
  for (const RankedDesign& ranked : designs) {
    const bool wins = ranked.bytes_from < ranked.bytes_to;
    json["frontier"].push_back({{"recipe", ranked.design.recipe},
                                {"steps", ranked.design.cost.steps},
                                {"bandwidth", ranked.design.cost.bandwidth.ToString()},
                                {"links", std::ssize(ranked.graph.links)},
                                {"unused_ports", ranked.graph.UnusedPorts()},
                                {"bytes_from", wins ? WholeBytes(ranked.bytes_from) : Json(nullptr)},
                                {"bytes_to", wins ? WholeBytes(ranked.bytes_to) : Json(nullptr)},
                                {"time_us", UsOf(options, ranked)}});
  }
  json["best"] = Winner(options, designs).design.recipe;
  return json.dump(2) + "\n";
}

/// "up to 390.6 KiB", "390.6 KiB to 15.3 MiB", "from 15.3 MiB", "at no size".
std::string RangeText(const RankedDesign& ranked) {
  if (ranked.bytes_from >= ranked.bytes_to) return "at no size";
  const auto size = [](double bytes) { return RoughSize(static_cast<int64_t>(std::llround(bytes))); };
  if (!std::isfinite(ranked.bytes_to)) return ranked.bytes_from == 0 ? "always" : "from " + size(ranked.bytes_from);
  return (ranked.bytes_from == 0 ? "up to " : size(ranked.bytes_from) + " to ") + size(ranked.bytes_to);
}

/// "100 %" only of the optimum itself.
std::string ShareText(const Rational& best, const Rational& bandwidth) {
  constexpr double kAlmost = 0.9999;
  const double share = best.ToDouble() / bandwidth.ToDouble();
  return Percent(bandwidth == best ? 1 : std::min(share, kAlmost));
}

std::string DesignText(const DesignOptions& options, const std::vector<RankedDesign>& designs) {
  const Rational best(options.ranks - 1, options.ranks);
  std::string text = Painted(Tone::kStrong, Counted(options.ranks, "rank") + " of " + Counted(options.degree, "port")) +
                     "  at " + Decimal(options.RankGBps().ToDouble()) + " GB/s a rank and " +
                     Duration(options.alpha_us) + " a step; allgather, all ranks' bytes together\n";
  text += "no graph has fewer than " + Counted(design::MooreSteps(options.ranks, options.degree), "step") +
          " (Moore), none takes less than " + best.ToString() + " of bytes / bandwidth\n";
  Table table(
      {">steps", ">bandwidth", ">of the optimum", ">unused ports", ">" + SizeText(options.bytes), "fastest", "design"});
  const RankedDesign& winner = Winner(options, designs);
  for (const RankedDesign& ranked : designs) {
    const design::StepsAndBandwidth& cost = ranked.design.cost;
    const bool wins = &ranked == &winner;
    table.Add({std::to_string(cost.steps), cost.bandwidth.ToString(), ShareText(best, cost.bandwidth),
               std::to_string(ranked.graph.UnusedPorts()), Duration(UsOf(options, ranked)), RangeText(ranked),
               Cell(ranked.design.recipe, wins ? Tone::kGood : Tone::kPlain)});
  }
  text += table.ToText() + "for " + SizeText(options.bytes) + ": " + winner.design.recipe;
  return text + (options.out.empty() ? "; --out FILE writes it as a topology\n" : ", written to " + options.out + "\n");
}

Status WriteDesign(const DesignOptions& options, const RankedDesign& ranked) {
  const design::StepsAndBandwidth& cost = ranked.design.cost;
  const std::string note = "allgather in " + std::to_string(cost.steps) + " steps and " + cost.bandwidth.ToString() +
                           " of bytes / bandwidth by planner bfb";
  MYCEL_ASSIGN_OR_RETURN(const Rational link_GBps,
                         Rational::TryMultiply(options.RankGBps(), Rational(1, options.degree)));
  MYCEL_ASSIGN_OR_RETURN(const Topology topology,
                         ToTopology(ranked.graph, ranked.design.recipe, note, link_GBps, options.alpha_us));
  return WriteFile(options.out, WriteTopology(topology));
}

StatusOr<std::string> DesignAndWrite(const DesignOptions& options) {
  std::vector<RankedDesign> designs;
  {
    const Progress progress("designing topologies of " + Counted(options.ranks, "rank"));
    MYCEL_ASSIGN_OR_RETURN(designs, design::FindDesigns(static_cast<int32_t>(options.ranks),
                                                        static_cast<int32_t>(options.degree), options.Machine()));
  }
  if (!options.out.empty()) MYCEL_RETURN_IF_ERROR(WriteDesign(options, Winner(options, designs)));
  return options.json ? DesignJson(options, designs) : DesignText(options, designs);
}

/// A positive number with its unit in the message.
void AddPositive(CLI::App* app, const std::string& name, const std::string& type, const std::string& text,
                 const std::function<void(const Rational&)>& set) {
  const auto parse = [name, set](const std::string& word) {
    const StatusOr<Rational> value = Rational::Parse(word);
    if (!value.ok() || *value <= Rational(0)) {
      throw CLI::ValidationError(name, "'" + word + "' is no number greater than 0, such as 12.5 or 25/2");
    }
    set(*value);
  };
  app->add_option_function<std::string>(name, parse, text)->type_name(type);
}

}  // namespace

Command DeclareTopoDesign(CLI::App& topo) {
  CLI::App* app = topo.add_subcommand("design", "find the graphs that serve N ranks of D ports best");
  auto options = std::make_shared<DesignOptions>();
  AddNumber(app, "--ranks", &options->ranks, 2, design::kDesignRanksMax, "ranks to join");
  AddNumber(app, "--degree", &options->degree, 1, design::kDesignDegreeMax, "ports of a rank, in each direction");
  for (const char* name : {"--ranks", "--degree"}) app->get_option(name)->required();
  AddPositive(app, "--alpha", "US", "latency of a step in us [1]",
              [options](const Rational& us) { options->alpha_us = us.ToDouble(); });
  AddPositive(app, "--bandwidth", "GBPS", "GB/s of a rank, all its links together [25 a link]",
              [options](const Rational& gbps) { options->bandwidth = gbps; });
  AddBytes(app, &options->bytes, "allgather's size, all ranks together, to choose for");
  AddJson(app, &options->json);
  app->add_option("--out", options->out, "write the best graph for --bytes as a topology file")->type_name("FILE");
  return {app, [options] {
            const StatusOr<std::string> answer = DesignAndWrite(*options);
            return answer.ok() ? Print(*answer) : Fail(answer.status());
          }};
}

}  // namespace mycel::cli
