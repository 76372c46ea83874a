#include <initializer_list>
#include <limits>
#include <nlohmann/json.hpp>

#include "transport/discover/recording.h"

namespace mycel {
namespace {

using Json = nlohmann::ordered_json;

std::string_view NameOf(GpuVendor vendor) { return vendor == GpuVendor::kNvidia ? "nvidia" : "amd"; }
std::string_view NameOf(WireEnd end) {
  return end == WireEnd::kGpu ? "gpu" : end == WireEnd::kSwitch ? "switch" : "other";
}

/// Reads the members of one object and refuses what is missing, of another type or unknown.
class Members {
 public:
  Members(const Json& json, std::string where) : json_(json), where_(std::move(where)) {}

  Status Check(std::initializer_list<std::string_view> known) const {
    if (!json_.is_object()) return Wrong("is no object");
    for (const auto& [key, value] : json_.items()) {
      if (std::find(known.begin(), known.end(), key) == known.end())
        return Wrong("has the unknown key \"" + key + "\"");
    }
    return OkStatus();
  }
  StatusOr<std::string> Text(const char* key) const {
    const auto at = json_.find(key);
    if (at == json_.end() || !at->is_string()) return Missing(key, "a text");
    return at->get<std::string>();
  }
  template <typename Int>
  Status Number(const char* key, int64_t least, int64_t most, Int* out) const {
    const auto at = json_.find(key);
    const bool fits =
        at != json_.end() && at->is_number_integer() && at->get<int64_t>() >= least && at->get<int64_t>() <= most;
    if (!fits) {
      return Missing(key, "a whole number from " + std::to_string(least) + " to " + std::to_string(most)).status();
    }
    *out = static_cast<Int>(at->get<int64_t>());
    return OkStatus();
  }
  StatusOr<const Json*> Array(const char* key) const {
    const auto at = json_.find(key);
    if (at == json_.end() || !at->is_array()) return Status(Missing(key, "a list").status());
    return &*at;
  }
  StatusOr<const Json*> Object(const char* key) const {
    const auto at = json_.find(key);
    if (at == json_.end() || !at->is_object()) return Status(Missing(key, "an object").status());
    return &*at;
  }
  Status Texts(const char* key, std::map<std::string, std::string>* out) const {
    MYCEL_ASSIGN_OR_RETURN(const Json* object, Object(key));
    for (const auto& [name, value] : object->items()) {
      if (!value.is_string()) return Wrong("has no text at \"" + std::string(key) + "\", \"" + name + "\"");
      (*out)[name] = value.get<std::string>();
    }
    return OkStatus();
  }
  Status Wrong(const std::string& problem) const { return InvalidArgument(where_ + " " + problem); }
  const std::string& where() const { return where_; }

 private:
  StatusOr<std::string> Missing(const char* key, const std::string& what) const {
    return Wrong("needs " + what + " at \"" + key + "\"");
  }

  const Json& json_;
  std::string where_;
};

StatusOr<GpuWire> ReadWire(const Members& members) {
  MYCEL_RETURN_IF_ERROR(members.Check({"peer", "end", "count", "gbps"}));
  GpuWire wire;
  MYCEL_ASSIGN_OR_RETURN(wire.peer, members.Text("peer"));
  MYCEL_ASSIGN_OR_RETURN(const std::string end, members.Text("end"));
  bool known = false;
  for (const WireEnd candidate : {WireEnd::kGpu, WireEnd::kSwitch, WireEnd::kOther}) {
    if (NameOf(candidate) == end) wire.end = candidate, known = true;
  }
  if (!known) return members.Wrong("has \"end\": \"" + end + "\"; use gpu, switch or other");
  MYCEL_RETURN_IF_ERROR(members.Number("count", 1, 64, &wire.count));
  MYCEL_ASSIGN_OR_RETURN(const std::string gbps, members.Text("gbps"));
  const StatusOr<Rational> speed = Rational::Parse(gbps);
  // Thousandths, which libraries tell, add up without leaving 64 bits; other fractions may not.
  const bool fits = speed.ok() && *speed >= Rational(0) && *speed <= Rational(1'000'000);
  if (!fits || 1000 % speed->denominator() != 0) {
    return members.Wrong("has \"gbps\": \"" + gbps +
                         "\"; write GB/s with at most three decimals, up to 1000000, or \"0\" if not known");
  }
  wire.gbps = *speed;
  return wire;
}

StatusOr<MachineGpu> ReadGpu(const Members& members) {
  MYCEL_RETURN_IF_ERROR(members.Check({"vendor", "bus_id", "name", "wires"}));
  MachineGpu gpu;
  MYCEL_ASSIGN_OR_RETURN(const std::string vendor, members.Text("vendor"));
  if (vendor != "nvidia" && vendor != "amd")
    return members.Wrong("has \"vendor\": \"" + vendor + "\"; use nvidia or amd");
  gpu.vendor = vendor == "nvidia" ? GpuVendor::kNvidia : GpuVendor::kAmd;
  MYCEL_ASSIGN_OR_RETURN(gpu.pci.bus_id, members.Text("bus_id"));
  MYCEL_ASSIGN_OR_RETURN(gpu.name, members.Text("name"));
  MYCEL_ASSIGN_OR_RETURN(const Json* wires, members.Array("wires"));
  for (const Json& wire : *wires) {
    const std::string where = members.where() + " wire " + std::to_string(gpu.wires.size());
    MYCEL_ASSIGN_OR_RETURN(GpuWire read, ReadWire(Members(wire, where)));
    gpu.wires.push_back(std::move(read));
  }
  return gpu;
}

StatusOr<MachineCpus> ReadCpus(const Members& members) {
  constexpr int64_t kMost = 1 << 20;
  MYCEL_RETURN_IF_ERROR(members.Check({"packages", "cores", "threads", "numa_nodes"}));
  MachineCpus cpus;
  MYCEL_RETURN_IF_ERROR(members.Number("packages", 0, kMost, &cpus.packages));
  MYCEL_RETURN_IF_ERROR(members.Number("cores", 0, kMost, &cpus.cores));
  MYCEL_RETURN_IF_ERROR(members.Number("threads", 0, kMost, &cpus.threads));
  MYCEL_ASSIGN_OR_RETURN(const Json* nodes, members.Array("numa_nodes"));
  for (const Json& one : *nodes) {
    const Members of_node(one, members.where() + " numa node " + std::to_string(cpus.numa_nodes.size()));
    MYCEL_RETURN_IF_ERROR(of_node.Check({"index", "cpus", "memory_bytes"}));
    NumaNode& node = cpus.numa_nodes.emplace_back();
    MYCEL_RETURN_IF_ERROR(of_node.Number("index", 0, kMost, &node.index));
    MYCEL_ASSIGN_OR_RETURN(node.cpus, of_node.Text("cpus"));
    MYCEL_RETURN_IF_ERROR(of_node.Number("memory_bytes", 0, std::numeric_limits<int64_t>::max(), &node.memory_bytes));
  }
  return cpus;
}

StatusOr<Recording> ReadAll(const Members& members, const std::string& file) {
  MYCEL_RETURN_IF_ERROR(
      members.Check({"format", "version", "host", "notes", "cpus", "gpus", "rdma_mtu", "files", "real_paths"}));
  MYCEL_ASSIGN_OR_RETURN(const std::string format, members.Text("format"));
  if (format != "mycel-machine")
    return members.Wrong("has \"format\": \"" + format + "\"; a recording is a \"mycel-machine\"");
  int32_t version = 0;
  MYCEL_RETURN_IF_ERROR(members.Number("version", 1, 1, &version));
  Recording recording;
  MachineAnswers& answers = recording.answers;
  MYCEL_ASSIGN_OR_RETURN(answers.host, members.Text("host"));
  MYCEL_ASSIGN_OR_RETURN(const Json* notes, members.Array("notes"));
  for (const Json& note : *notes) {
    if (!note.is_string()) return members.Wrong("has a note that is no text");
    answers.notes.push_back(note.get<std::string>());
  }
  MYCEL_ASSIGN_OR_RETURN(const Json* cpus, members.Object("cpus"));
  MYCEL_ASSIGN_OR_RETURN(answers.cpus, ReadCpus(Members(*cpus, file + ": cpus")));
  MYCEL_ASSIGN_OR_RETURN(const Json* gpus, members.Array("gpus"));
  for (const Json& gpu : *gpus) {
    const std::string where = file + ": gpu " + std::to_string(answers.gpus.size());
    MYCEL_ASSIGN_OR_RETURN(MachineGpu read, ReadGpu(Members(gpu, where)));
    answers.gpus.push_back(std::move(read));
  }
  MYCEL_ASSIGN_OR_RETURN(const Json* mtus, members.Object("rdma_mtu"));
  for (const auto& [port, value] : mtus->items()) {
    MYCEL_RETURN_IF_ERROR(
        Members(*mtus, file + ": rdma_mtu").Number(port.c_str(), 0, 1 << 20, &answers.mtu_of_port[port]));
  }
  MYCEL_RETURN_IF_ERROR(members.Texts("files", &recording.files.lines));
  MYCEL_RETURN_IF_ERROR(members.Texts("real_paths", &recording.files.real_paths));
  return recording;
}

std::string Quoted(std::string_view text) {
  return Json(std::string(text)).dump(-1, ' ', true, Json::error_handler_t::replace);
}

std::string TextLines(const std::map<std::string, std::string>& texts) {
  std::string out;
  for (const auto& [key, value] : texts) out += (out.empty() ? "\n  " : ",\n  ") + Quoted(key) + ": " + Quoted(value);
  return out.empty() ? "{}" : "{" + out + "\n }";
}

std::string GpuLine(const MachineGpu& gpu) {
  std::string out = "{\"vendor\": " + Quoted(NameOf(gpu.vendor)) + ", \"bus_id\": " + Quoted(gpu.pci.bus_id) +
                    ", \"name\": " + Quoted(gpu.name) + ", \"wires\": [";
  const char* separator = "\n   ";
  for (const GpuWire& wire : gpu.wires) {
    out += separator + std::string("{\"peer\": ") + Quoted(wire.peer) + ", \"end\": " + Quoted(NameOf(wire.end)) +
           ", \"count\": " + std::to_string(wire.count) + ", \"gbps\": " + Quoted(wire.gbps.ToString()) + "}";
    separator = ",\n   ";
  }
  return out + "]}";
}

std::string CpusLine(const MachineCpus& cpus) {
  std::string out = "{\"packages\": " + std::to_string(cpus.packages) + ", \"cores\": " + std::to_string(cpus.cores) +
                    ", \"threads\": " + std::to_string(cpus.threads) + ", \"numa_nodes\": [";
  const char* separator = "\n  ";
  for (const NumaNode& node : cpus.numa_nodes) {
    out += separator + std::string("{\"index\": ") + std::to_string(node.index) + ", \"cpus\": " + Quoted(node.cpus) +
           ", \"memory_bytes\": " + std::to_string(node.memory_bytes) + "}";
    separator = ",\n  ";
  }
  return out + "]}";
}

}  // namespace

std::string WriteRecording(const Recording& recording) {
  const MachineAnswers& answers = recording.answers;
  std::string out =
      "{\n \"format\": \"mycel-machine\",\n \"version\": 1,\n \"host\": " + Quoted(answers.host) + ",\n \"notes\": [";
  for (size_t i = 0; i < answers.notes.size(); ++i) out += (i == 0 ? "\n  " : ",\n  ") + Quoted(answers.notes[i]);
  out += "],\n \"cpus\": " + CpusLine(answers.cpus) + ",\n \"gpus\": [";
  for (size_t i = 0; i < answers.gpus.size(); ++i) out += (i == 0 ? "\n  " : ",\n  ") + GpuLine(answers.gpus[i]);
  out += "],\n \"rdma_mtu\": {";
  const char* separator = "";
  for (const auto& [port, mtu] : answers.mtu_of_port) {
    out += separator + Quoted(port) + ": " + std::to_string(mtu);
    separator = ", ";
  }
  return out + "},\n \"files\": " + TextLines(recording.files.lines) +
         ",\n \"real_paths\": " + TextLines(recording.files.real_paths) + "\n}\n";
}

StatusOr<Recording> ReadRecording(std::string_view text, const std::string& file) {
  if (text.size() > static_cast<size_t>(kRecordingBytesMax)) {
    return InvalidArgument(file + ": the file is larger than " + std::to_string(kRecordingBytesMax) + " bytes");
  }
  const Json json = Json::parse(text.begin(), text.end(), nullptr, false);
  if (json.is_discarded()) return InvalidArgument(file + ": is no JSON; record again (mycel topo discover --record)");
  return ReadAll(Members(json, file + ":"), file);
}

}  // namespace mycel
