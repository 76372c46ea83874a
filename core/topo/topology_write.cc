// Writes the topology file. Plain text output: no JSON library is needed to write six kinds of values.
#include <charconv>
#include <cstdio>

#include "core/base/check.h"
#include "core/topo/topology_json.h"

namespace mycel {
namespace {

std::string Quoted(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      out.append({'\\', c});
    } else if (static_cast<unsigned char>(c) < 0x20) {
      char escape[8];
      std::snprintf(escape, sizeof escape, "\\u%04x", static_cast<unsigned>(c));
      out += escape;
    } else {
      out.push_back(c);
    }
  }
  return out + "\"";
}

// Shortest text that reads back as the same double.
std::string Decimal(double value) {
  char buffer[32];
  const auto [end, error] = std::to_chars(buffer, buffer + sizeof buffer, value);
  MYCEL_CHECK(error == std::errc());
  return std::string(buffer, end);
}

// A decimal when there is a short one (12.5), else a fraction in quotes ("25/3").
std::string Exact(const Rational& value) {
  constexpr int kDecimalsMax = 6;
  int64_t scale = 1;
  for (int decimals = 0; decimals <= kDecimalsMax; ++decimals, scale *= 10) {
    if (scale % value.denominator() != 0) continue;
    const auto scaled = Rational::TryMultiply(value, Rational(scale));
    if (!scaled.ok()) break;
    std::string digits = std::to_string(scaled->numerator());
    if (decimals == 0) return digits;
    const size_t places = static_cast<size_t>(decimals);
    if (digits.size() <= places) digits.insert(0, places + 1 - digits.size(), '0');
    return digits.insert(digits.size() - places, ".");
  }
  return "\"" + value.ToString() + "\"";
}

std::string NodeLine(const Node& node) {
  std::string line = "  {\"id\": " + Quoted(node.id);
  if (node.type == NodeType::kRank) {
    line += ", \"type\": \"rank\", \"rank\": " + std::to_string(node.rank.value());
  } else {
    line += ", \"type\": \"switch\"";
  }
  if (!node.server.empty()) line += ", \"server\": " + Quoted(node.server);
  if (node.multicast) line += ", \"multicast\": true";
  if (node.aggregate) line += ", \"aggregate\": true";
  return line + "}";
}

std::string LinkLine(const Topology& topology, const Link& link, bool duplex) {
  std::string line = "  {\"from\": " + Quoted(topology.node(link.source).id) +
                     ", \"to\": " + Quoted(topology.node(link.target).id) +
                     ", \"bandwidth\": " + Exact(link.bandwidth) + ", \"latency\": " + Decimal(link.latency_us);
  if (link.kind != LinkKind::kOther) line.append(", \"kind\": \"").append(NameOf(link.kind)).append("\"");
  if (!duplex) line += ", \"duplex\": false";
  return line + "}";
}

}  // namespace

std::string WriteTopology(const Topology& topology) {
  std::string out = "{\n \"format\": \"mycel-topology\",\n \"version\": 1,\n \"name\": " + Quoted(topology.name()) +
                    ",\n \"note\": " + Quoted(topology.note()) + ",\n \"nodes\": [";
  std::string_view separator = "\n";
  for (const Node& node : topology.nodes()) {
    out.append(separator).append(NodeLine(node));
    separator = ",\n";
  }
  out += "\n ],\n \"links\": [";
  separator = "\n";
  for (const Link& link : topology.links()) {
    const LinkId back_id = topology.FindLink(link.target, link.source);
    bool duplex = false;
    if (back_id.valid()) {
      const Link& back = topology.link(back_id);
      duplex = back.bandwidth == link.bandwidth && back.latency_us == link.latency_us && back.kind == link.kind;
    }
    if (duplex && link.target < link.source) continue;  // written with its other direction
    out.append(separator).append(LinkLine(topology, link, duplex));
    separator = ",\n";
  }
  return out + "\n ]\n}\n";
}

}  // namespace mycel
