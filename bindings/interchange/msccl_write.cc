// Algorithm -> XML. Plain text: writing needs no library.
#include "bindings/interchange/msccl_xml.h"

namespace mycel::msccl {
namespace {

std::string Escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '"':
        out += "&quot;";
        break;
      default:
        out.push_back(static_cast<unsigned char>(c) < 0x20 ? ' ' : c);
    }
  }
  return out;
}

/// ` name="value"`.
std::string Attribute(std::string_view name, std::string_view value) {
  return " " + std::string(name) + "=\"" + Escaped(value) + "\"";
}
std::string Attribute(std::string_view name, int64_t value) { return Attribute(name, std::to_string(value)); }

std::string NotesText(const PlanNotes& notes) {
  std::string out = "  <mycel" + Attribute("version", 1) + Attribute("planner", notes.planner) +
                    Attribute("topology", notes.topology) + Attribute("topology_hash", HashText(notes.topology_hash));
  if (notes.routes.empty()) return out + "/>\n";
  out += ">\n";
  for (size_t i = 0; i < notes.routes.size(); ++i) {
    std::string nodes;
    for (const NodeId node : notes.routes[i]) nodes += (nodes.empty() ? "" : " ") + std::to_string(node.value());
    out += "    <route" + Attribute("id", static_cast<int64_t>(i)) + Attribute("nodes", nodes) + "/>\n";
  }
  return out + "  </mycel>\n";
}

std::string StepText(size_t number, const Step& step) {
  std::string out = "      <step" + Attribute("s", static_cast<int64_t>(number)) +
                    Attribute("type", InfoOf(step.type).name) + Attribute("srcbuf", NameOf(step.source.buffer)) +
                    Attribute("srcoff", step.source.offset) + Attribute("dstbuf", NameOf(step.target.buffer)) +
                    Attribute("dstoff", step.target.offset) + Attribute("cnt", step.count) +
                    Attribute("depid", step.dep_block) + Attribute("deps", step.dep_step) +
                    Attribute("hasdep", step.has_dependents ? 1 : 0);
  if (step.route >= 0) out += Attribute("mycel_route", step.route);
  return out + "/>\n";
}

}  // namespace

std::string WriteXml(const Algorithm& algorithm, const Limits& limits) {
  const bool scatters = algorithm.collective == Collective::kReduceScatter;
  std::string out = "<algo" + Attribute("name", algorithm.name) + Attribute("proto", NameOf(algorithm.proto)) +
                    Attribute("nchannels", algorithm.channel_count) +
                    Attribute("nchunksperloop", algorithm.chunk_count) + Attribute("ngpus", algorithm.rank_count()) +
                    Attribute("coll", scatters ? limits.reduce_scatter : NameOf(algorithm.collective)) +
                    Attribute("inplace", algorithm.in_place ? 1 : 0) +
                    Attribute("outofplace", algorithm.out_of_place ? 1 : 0) +
                    Attribute("minBytes", algorithm.min_bytes) +
                    Attribute("maxBytes", algorithm.max_bytes == 0 ? limits.max_bytes : algorithm.max_bytes) + ">\n";
  if (algorithm.notes.present) out += NotesText(algorithm.notes);
  for (size_t rank = 0; rank < algorithm.gpus.size(); ++rank) {
    const Gpu& gpu = algorithm.gpus[rank];
    out += "  <gpu" + Attribute("id", static_cast<int64_t>(rank)) + Attribute("i_chunks", gpu.input_chunks) +
           Attribute("o_chunks", gpu.output_chunks) + Attribute("s_chunks", gpu.scratch_chunks) + ">\n";
    for (size_t b = 0; b < gpu.blocks.size(); ++b) {
      const Block& block = gpu.blocks[b];
      out += "    <tb" + Attribute("id", static_cast<int64_t>(b)) + Attribute("send", block.send) +
             Attribute("recv", block.recv) + Attribute("chan", block.channel) + ">\n";
      for (size_t s = 0; s < block.steps.size(); ++s) out += StepText(s, block.steps[s]);
      out += "    </tb>\n";
    }
    out += "  </gpu>\n";
  }
  return out + "</algo>\n";
}

}  // namespace mycel::msccl
