// `mycel topo discover` and `mycel topo import --nccl-xml FILE`: topologies of machines as they are.
#include <CLI/CLI.hpp>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <memory>

#include "bindings/cli/arguments.h"
#include "bindings/cli/command.h"
#include "bindings/cli/machine_report.h"
#include "bindings/cli/terminal.h"
#include "bindings/cli/topology_drawing.h"
#include "bindings/interchange/nccl_topology.h"
#include "core/topo/topology_json.h"
#include "transport/discover/ask.h"
#include "transport/discover/assemble.h"
#include "transport/discover/recording.h"

namespace mycel::cli {
namespace {

constexpr int64_t kServersMax = 4096;

struct DiscoverArguments {
  int64_t servers = 1;
  int64_t ranks = 0;  // of a server without GPUs; 0: its cores
  std::string out;
  std::string from;
  std::string record;
  bool json = false;
};

StatusOr<std::string> ReadInput(const std::string& path, int64_t bytes_max) {
  errno = 0;
  std::ifstream in(path, std::ios::binary);
  std::string text;
  char buffer[1 << 16];
  while (in && std::ssize(text) <= bytes_max) {
    in.read(buffer, sizeof buffer);
    text.append(buffer, static_cast<size_t>(in.gcount()));
  }
  if (!in.eof() && std::ssize(text) <= bytes_max) {
    return InvalidArgument(path + ": cannot be read: " + std::strerror(errno == 0 ? EIO : errno) +
                           "; give the path of a readable file");
  }
  return text;
}

/// This machine's, or a recorded one's.
StatusOr<Recording> TakeRecording(const DiscoverArguments& arguments, Machine* machine) {
  Recording recording;
  if (!arguments.from.empty()) {
    MYCEL_ASSIGN_OR_RETURN(const std::string text, ReadInput(arguments.from, kRecordingBytesMax));
    MYCEL_ASSIGN_OR_RETURN(recording, ReadRecording(text, arguments.from));
    *machine = DescribeMachine(recording.files, recording.answers);
    return recording;
  }
  recording.answers = AskLibraries();
  *machine = DescribeMachine(FolderFiles("/sys", &recording.files), recording.answers);
  return recording;
}

StatusOr<std::string> Discover(const DiscoverArguments& arguments) {
  Machine machine;
  MYCEL_ASSIGN_OR_RETURN(const Recording recording, TakeRecording(arguments, &machine));
  if (!arguments.record.empty()) MYCEL_RETURN_IF_ERROR(WriteFile(arguments.record, WriteRecording(recording)));
  AssembleOptions options;
  options.name = PlainName(machine.host) + (arguments.servers == 1 ? "" : "-x" + std::to_string(arguments.servers));
  options.note = "found by mycel topo discover; nominal speeds";
  options.host_ranks = static_cast<int32_t>(arguments.ranks);
  if (options.host_ranks == 0) options.host_ranks = std::max(1, machine.cpus.cores);
  const std::vector<const Machine*> servers(static_cast<size_t>(arguments.servers), &machine);
  MYCEL_ASSIGN_OR_RETURN(const Assembled assembled, AssembleServers(servers, options));
  std::vector<std::string> notes = machine.notes;
  notes.insert(notes.end(), assembled.notes.begin(), assembled.notes.end());
  if (!arguments.out.empty()) MYCEL_RETURN_IF_ERROR(WriteFile(arguments.out, WriteTopology(assembled.topology)));
  if (arguments.json) {
    nlohmann::ordered_json json = DescribeJson(machine, notes);
    json["topology"] = nlohmann::ordered_json::parse(WriteTopology(assembled.topology));
    return json.dump(1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
  }
  std::string text = DescribeText(machine, notes) + "\n";
  if (arguments.out.empty()) return text + DrawTopology(assembled.topology);
  return text + Printable(arguments.out) + ": " + SummaryOf(assembled.topology) + "\n";
}

ExitCode RunDiscover(const DiscoverArguments& arguments) {
  const StatusOr<std::string> text = Discover(arguments);
  return text.ok() ? Print(*text) : Fail(text.status());
}

struct ImportArguments {
  std::string file;
  int64_t servers = 1;
  std::string out;
};

/// "topo/dgx.xml" -> "dgx".
std::string Stem(const std::string& path) {
  const std::string file = path.substr(path.rfind('/') + 1);
  return PlainName(file.substr(0, file.rfind('.')));
}

StatusOr<Assembled> Import(const ImportArguments& arguments) {
  MYCEL_ASSIGN_OR_RETURN(const std::string text, ReadInput(arguments.file, kNcclTopologyBytesMax));
  MYCEL_ASSIGN_OR_RETURN(const NcclTopology imported, ReadNcclTopology(text, arguments.file));
  std::vector<const Machine*> servers;
  for (int64_t i = 0; i < arguments.servers; ++i) {
    for (const Machine& machine : imported.servers) servers.push_back(&machine);
  }
  AssembleOptions options;
  options.name = Stem(arguments.file) + (arguments.servers == 1 ? "" : "-x" + std::to_string(arguments.servers));
  options.note = "from a topology file of NCCL; nominal speeds";
  MYCEL_ASSIGN_OR_RETURN(Assembled assembled, AssembleServers(servers, options));
  assembled.notes.insert(assembled.notes.begin(), imported.notes.begin(), imported.notes.end());
  return assembled;
}

ExitCode RunImport(const ImportArguments& arguments) {
  const StatusOr<Assembled> imported = Import(arguments);
  if (!imported.ok()) return Fail(imported.status());
  if (arguments.out.empty()) {
    // Standard output is the file; what was assumed belongs beside it.
    for (const std::string& note : imported->notes) std::fprintf(stderr, "mycel: %s\n", Printable(note).c_str());
    return Print(WriteTopology(imported->topology));
  }
  const Status written = WriteFile(arguments.out, WriteTopology(imported->topology));
  if (!written.ok()) return Fail(written);
  std::string text = Printable(arguments.out) + ": " + SummaryOf(imported->topology) + "\n";
  for (const std::string& note : imported->notes) text += "  " + Printable(note) + "\n";
  return Print(text);
}

}  // namespace

std::vector<Command> DeclareDiscovery(CLI::App& topo) {
  CLI::App* discover = topo.add_subcommand(
      "discover", "describe this server: CPUs, GPUs, their links, network devices, and the topology they make");
  auto found = std::make_shared<DiscoverArguments>();
  AddNumber(discover, "--servers", &found->servers, 1, kServersMax,
            "the topology of so many servers like this one, joined by their network devices (1)");
  AddNumber(discover, "--ranks", &found->ranks, 1, kServersMax, "ranks of a server without GPUs (its cores)");
  discover->add_option("--out", found->out, "write the topology into a file, for --topo and MYCEL_TOPO")
      ->type_name("FILE");
  AddJson(discover, &found->json);
  discover->add_option("--record", found->record, "write what was read of the machine into a file, for --from")
      ->type_name("FILE");
  discover->add_option("--from", found->from, "describe a recorded machine instead of this one")->type_name("FILE");

  CLI::App* import = topo.add_subcommand("import", "turn a topology file of NCCL or RCCL into one of Mycel");
  auto imported = std::make_shared<ImportArguments>();
  import->add_option("--nccl-xml", imported->file, "what NCCL_TOPO_DUMP_FILE wrote")->required()->type_name("FILE");
  AddNumber(import, "--servers", &imported->servers, 1, kServersMax,
            "so many times the servers of the file, joined by their network devices (1)");
  import->add_option("--out", imported->out, "write into a file instead of standard output")->type_name("FILE");
  return {{discover, [found] { return RunDiscover(*found); }}, {import, [imported] { return RunImport(*imported); }}};
}

}  // namespace mycel::cli
