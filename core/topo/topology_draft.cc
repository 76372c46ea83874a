#include "core/topo/topology_draft.h"

#include <algorithm>

#include "core/base/check.h"
#include "core/base/edit_distance.h"

namespace mycel {

int64_t SourceText::LineAt(size_t offset) const {
  const std::string_view before = text_.substr(0, std::min(offset, text_.size()));
  return 1 + std::count(before.begin(), before.end(), '\n');
}

Status SourceText::Error(size_t offset, const std::string& message) const {
  return InvalidArgument(file_name_ + ":" + std::to_string(LineAt(offset)) + ": " + message);
}

std::string SourceText::Shown(std::string_view text) {
  constexpr size_t kShown = 60;
  std::string shown = "\"";
  for (const char c : text.substr(0, kShown)) shown.push_back(static_cast<unsigned char>(c) < 0x20 ? '?' : c);
  return shown + (text.size() > kShown ? "...\"" : "\"");
}

int32_t TopologyDraft::IdNumber(const std::string& id) {
  const auto [place, added] = id_numbers_.emplace(id, static_cast<int32_t>(ids_.size()));
  if (added) {
    ids_.push_back(&place->first);
    nodes_of_ids_.emplace_back();
  }
  return place->second;
}

Status TopologyDraft::AddNode(NodeDraft node) {
  if (std::ssize(nodes_) >= TopologyBuilder::kNodeCountMax) {
    return source_->Error(node.id_offset, "key \"nodes\" has more than " +
                                              std::to_string(TopologyBuilder::kNodeCountMax) +
                                              " entries; describe a smaller part of the machine");
  }
  NodeId& declared = nodes_of_ids_[static_cast<size_t>(IdNumber(node.id))];
  if (declared.valid()) {
    return source_->Error(node.id_offset,
                          "key \"id\": " + SourceText::Shown(node.id) + " is already the id of the node in line " +
                              std::to_string(source_->LineAt(nodes_[declared.index()].id_offset)) + "; rename one");
  }
  declared = NodeId(std::ssize(nodes_));
  nodes_.push_back(std::move(node));
  return OkStatus();
}

Status TopologyDraft::AddLink(const LinkDraft& link) {
  if (std::ssize(links_) >= TopologyBuilder::kLinkCountMax) {
    return source_->Error(link.from_offset, "key \"links\" has more than " +
                                                std::to_string(TopologyBuilder::kLinkCountMax) +
                                                " entries; describe a smaller part of the machine");
  }
  if (link.from == link.to) {
    return source_->Error(link.to_offset, "key \"to\": a link from " + SourceText::Shown(IdOf(link.from)) +
                                              " to itself carries nothing; remove it or name another node");
  }
  links_.push_back(link);
  return OkStatus();
}

Status TopologyDraft::CheckRanks() const {
  const auto rank_count =
      std::count_if(nodes_.begin(), nodes_.end(), [](const NodeDraft& node) { return node.type == "rank"; });
  if (rank_count == 0) {
    return source_->Error(0, "key \"nodes\" has no entry of type \"rank\"; add at least one");
  }
  const std::string rule = std::to_string(rank_count) + (rank_count == 1 ? " rank is" : " ranks are") +
                           " numbered 0.." + std::to_string(rank_count - 1) + ", each once";
  std::vector<const NodeDraft*> places(static_cast<size_t>(rank_count));
  const NodeDraft* beyond = nullptr;
  for (const NodeDraft& node : nodes_) {
    if (node.type != "rank") continue;
    if (node.rank >= rank_count) {
      beyond = &node;
      continue;
    }
    const NodeDraft*& place = places[static_cast<size_t>(node.rank)];
    if (place != nullptr) {
      return source_->Error(node.rank_offset,
                            "key \"rank\": node " + SourceText::Shown(node.id) + " has rank " +
                                std::to_string(node.rank) + ", which " + SourceText::Shown(place->id) + " in line " +
                                std::to_string(source_->LineAt(place->rank_offset)) + " has already; " + rule);
    }
    place = &node;
  }
  if (beyond == nullptr) return OkStatus();
  const auto missing = std::find(places.begin(), places.end(), nullptr) - places.begin();
  return source_->Error(beyond->rank_offset, "key \"rank\": node " + SourceText::Shown(beyond->id) + " has rank " +
                                                 std::to_string(beyond->rank) + ", but rank " +
                                                 std::to_string(missing) + " is missing; " + rule);
}

StatusOr<NodeId> TopologyDraft::Resolve(int32_t number, size_t offset, std::string_view key) const {
  const NodeId node = nodes_of_ids_[static_cast<size_t>(number)];
  if (node.valid()) return node;
  // Comparing ids takes time, so only in files that a person may have written; one letter is like any other.
  constexpr size_t kComparedMax = 4096;
  std::vector<std::string_view> declared;
  for (const NodeDraft& candidate : nodes_) declared.push_back(candidate.id);
  const bool compare = IdOf(number).size() > 1 && declared.size() <= kComparedMax;
  const std::string_view nearest = compare ? NearestName(IdOf(number), declared) : std::string_view();
  return source_->Error(
      offset,
      "key \"" + std::string(key) + "\": " + SourceText::Shown(IdOf(number)) + " is not the id of a node; " +
          (nearest.empty() ? "add it to \"nodes\" or correct it" : "did you mean " + SourceText::Shown(nearest) + "?"));
}

StatusOr<Topology> TopologyDraft::Finish() const {
  MYCEL_RETURN_IF_ERROR(CheckRanks());
  TopologyBuilder builder(name, note);
  for (const NodeDraft& node : nodes_) {
    if (node.type == "rank") {
      builder.AddRank(node.id, Rank(node.rank), node.server);
    } else {
      builder.AddSwitch(node.id, node.server, node.multicast, node.aggregate);
    }
  }
  for (const LinkDraft& link : links_) {
    MYCEL_ASSIGN_OR_RETURN(const NodeId from, Resolve(link.from, link.from_offset, "from"));
    MYCEL_ASSIGN_OR_RETURN(const NodeId to, Resolve(link.to, link.to_offset, "to"));
    builder.AddLink(from, to, link.bandwidth, link.latency_us, link.kind);
    if (link.duplex) builder.AddLink(to, from, link.bandwidth, link.latency_us, link.kind);
  }
  auto topology = std::move(builder).Build();
  // What is left for the builder to refuse concerns the file as a whole: sums that overflow, too many links.
  if (!topology.ok()) return source_->Error(0, "key \"links\": " + StatusMessage(topology.status()));
  return topology;
}

}  // namespace mycel
