// `mycel share`: several collectives at once on one fabric, timed together.
#include <CLI/CLI.hpp>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>
#include <sstream>

#include "bindings/cli/arguments.h"
#include "bindings/cli/command.h"
#include "bindings/cli/progress.h"
#include "bindings/cli/tenants_file.h"
#include "bindings/cli/terminal.h"
#include "core/topo/gallery.h"

namespace mycel::cli {
namespace {

using Json = nlohmann::ordered_json;
using timeflow::SharedFabric;
using timeflow::Tenant;

struct ShareOptions {
  std::string topology;
  std::string tenants;
  bool json = false;
};

StatusOr<std::vector<Tenant>> ReadTenants(const std::string& path) {
  errno = 0;
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  if (!file.is_open() || file.bad() || text.fail()) {
    return InvalidArgument("cannot read the tenants " + path + ": " + std::strerror(errno != 0 ? errno : EIO) +
                           "; give a CSV file of name, collective, bytes, ranks, weight, root");
  }
  return ParseTenants(text.str(), path);
}

double UsOf(const SharedFabric& shared, int32_t epochs) { return shared.epoch_ns.ToDouble() * epochs / 1e3; }

std::string ShareJson(const Topology& topology, const std::vector<Tenant>& tenants, const SharedFabric& shared) {
  Json json;
  json["topology"] = topology.name();
  json["chunk_bytes"] = shared.chunk_bytes;
  json["epoch_ns"] = shared.epoch_ns.ToString();
  json["bound"] = shared.bound;
  json["tenants"] = Json::array();
  for (size_t t = 0; t < tenants.size(); ++t) {
    const SharedFabric::Share& share = shared.shares[t];
    json["tenants"].push_back({{"name", tenants[t].name},
                               {"collective", std::string(NameOf(tenants[t].collective))},
                               {"bytes", tenants[t].bytes},
                               {"weight", tenants[t].weight},
                               {"alone", {{"epochs", share.alone}, {"time_us", UsOf(shared, share.alone)}}},
                               {"shared", {{"epochs", share.epochs}, {"time_us", UsOf(shared, share.epochs)}}}});
  }
  return json.dump(2) + "\n";
}

std::string ShareText(const Topology& topology, const std::vector<Tenant>& tenants, const SharedFabric& shared) {
  std::string text = Painted(Tone::kStrong, Counted(std::ssize(tenants), "tenant") + " on " + topology.name()) +
                     "  chunks of " + SizeText(shared.chunk_bytes) + ", epochs of " + Duration(UsOf(shared, 1)) + "\n";
  Table table({"tenant", "collective", ">bytes", ">ranks", ">weight", ">alone", ">together", ">slower"});
  for (size_t t = 0; t < tenants.size(); ++t) {
    const Tenant& tenant = tenants[t];
    const SharedFabric::Share& share = shared.shares[t];
    const auto time = [&](int32_t epochs) {
      return Duration(UsOf(shared, epochs)) + " (" + std::to_string(epochs) + ")";
    };
    table.Add({Printable(tenant.name), std::string(NameOf(tenant.collective)), SizeText(tenant.bytes),
               std::to_string(tenant.ranks.size()), std::to_string(tenant.weight), time(share.alone),
               time(share.epochs), Decimal(static_cast<double>(share.epochs) / share.alone, 3) + " x"});
  }
  return text + table.ToText() + "in parentheses: epochs; the last tenant cannot end before epoch " +
         std::to_string(shared.bound) + "\n";
}

StatusOr<std::string> ShareAnswer(const ShareOptions& options) {
  MYCEL_ASSIGN_OR_RETURN(const Topology topology, LoadTopology(options.topology));
  MYCEL_ASSIGN_OR_RETURN(const std::vector<Tenant> tenants, ReadTenants(options.tenants));
  const Progress progress("timing " + Counted(std::ssize(tenants), "tenant") + " on " + topology.name());
  MYCEL_ASSIGN_OR_RETURN(const SharedFabric shared, ShareFabric(topology, tenants));
  return options.json ? ShareJson(topology, tenants, shared) : ShareText(topology, tenants, shared);
}

}  // namespace

Command DeclareShare(CLI::App& root) {
  CLI::App* app = root.add_subcommand("share", "time several collectives that share a fabric");
  auto options = std::make_shared<ShareOptions>();
  AddTopology(app, &options->topology)->required();
  app->add_option("--tenants", options->tenants, "CSV file, a line each: name, collective, bytes, ranks, weight, root")
      ->type_name("FILE")
      ->required();
  AddJson(app, &options->json);
  return {app, [options] {
            const StatusOr<std::string> answer = ShareAnswer(*options);
            return answer.ok() ? Print(*answer) : Fail(answer.status());
          }};
}

}  // namespace mycel::cli
