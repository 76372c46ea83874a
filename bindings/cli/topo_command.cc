// `mycel topo list | show T | check FILE`, and the door to topo_discover_command.cc and
// topo_calibrate_command.cc.
#include <CLI/CLI.hpp>
#include <memory>

#include "bindings/cli/command.h"
#include "bindings/cli/progress.h"
#include "bindings/cli/terminal.h"
#include "bindings/cli/topology_drawing.h"
#include "core/topo/gallery.h"
#include "scheduler/bound/bound.h"
#include "scheduler/graph/throughput_bound.h"

namespace mycel::cli {
namespace {

ExitCode RunList() {
  Table table({"name", "example", ">ranks", "what"}, "");
  for (const GalleryEntry& entry : GalleryList()) {
    const StatusOr<Topology> example = GalleryTopology(entry.example);
    if (!example.ok()) return Fail(InternalError(StatusMessage(example.status())));
    const bool parametric = entry.pattern != entry.example;
    table.Add({Cell(std::string(entry.pattern), Tone::kStrong), parametric ? std::string(entry.example) : "",
               std::to_string(example->rank_count()), std::string(entry.description)});
  }
  return Print(table.ToText() + "\nAny other T is a topology file. See one: mycel topo show " +
               std::string(GalleryList().front().example) + "\n");
}

ExitCode RunShow(const std::string& name) {
  const StatusOr<Topology> topology = LoadTopology(name);
  if (!topology.ok()) return Fail(topology.status());
  return Print(DrawTopology(*topology));
}

ExitCode RunCheck(const std::string& name) {
  const StatusOr<Topology> topology = LoadTopology(name);
  if (!topology.ok()) return Fail(topology.status());
  std::string text = Printable(name) + ": a valid topology: " + SummaryOf(*topology) + "\n";
  const Status connected = CheckConnected(*topology);
  if (!connected.ok()) {
    Print(text);
    return Fail(connected);
  }
  text += "connected: every rank reaches every other\n";
  if (topology->rank_count() == 1) return Print(text + "one rank: collectives cost nothing\n");
  const Progress progress("computing the allgather optimum of " + name);
  PlanRequest request;
  request.collective = Collective::kAllGather;
  const StatusOr<Optimum> optimum = BoundOf(*topology, request);
  if (!optimum.ok()) {
    Print(text);
    return Fail(optimum.status());
  }
  text += "allgather optimum: 1/x* = " + optimum->inv_x.ToString() + " ns per byte of a rank's shard, algbw " +
          Decimal(AlgorithmBandwidthGBps(Collective::kAllGather, topology->rank_count(), optimum->inv_x)) + " GB/s\n" +
          "bottleneck: " + Printable(optimum->proof) + "\n";
  return Print(text);
}

Command DeclareOne(CLI::App* topo, const std::string& name, const std::string& text, const std::string& argument,
                   ExitCode (*run)(const std::string&)) {
  CLI::App* app = topo->add_subcommand(name, text);
  auto value = std::make_shared<std::string>();
  app->add_option(argument, *value, "a name of `mycel topo list` or a file")->required()->type_name("");
  return {app, [value, run] { return run(*value); }};
}

}  // namespace

std::vector<Command> DeclareTopo(CLI::App& root) {
  CLI::App* topo = root.add_subcommand(
      "topo", "list the named topologies, show one, check a file; discover, import, calibrate or design one");
  topo->require_subcommand(1);
  CLI::App* list = topo->add_subcommand("list", "the topologies that have names");
  std::vector<Command> commands = {
      {list, RunList},
      DeclareOne(topo, "show", "draw a topology: servers, ranks, switches, links", "T", RunShow),
      DeclareOne(topo, "check", "check a topology file; say whether ranks are cut off, and the optimum", "FILE",
                 RunCheck)};
  for (const auto declare : {DeclareDiscovery, DeclareCalibration}) {
    for (Command& command : declare(*topo)) commands.push_back(std::move(command));
  }
  commands.push_back(DeclareTopoDesign(*topo));
  return commands;
}

}  // namespace mycel::cli
