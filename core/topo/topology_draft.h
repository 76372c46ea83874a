// Between the tokens of a topology file and a Topology: what the file said, where it said it, and the checks that need
// more than one key. Internal to core/topo.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/base/rational.h"
#include "core/base/status.h"
#include "core/topo/topology.h"

namespace mycel {

/// The text of a file with a name for messages. Offsets count bytes from its start.
class SourceText {
 public:
  SourceText(std::string_view text, std::string file_name) : text_(text), file_name_(std::move(file_name)) {}

  std::string_view text() const { return text_; }
  int64_t LineAt(size_t offset) const;
  /// InvalidArgument "FILE:LINE: message".
  Status Error(size_t offset, const std::string& message) const;
  /// `text` in quotes, fit for a message: cut when long, control characters replaced.
  static std::string Shown(std::string_view text);

 private:
  std::string_view text_;
  std::string file_name_;
};

/// One entry of "nodes".
struct NodeDraft {
  std::string id;
  std::string type;
  int64_t rank = -1;
  std::string server;
  bool multicast = false;
  bool aggregate = false;
  size_t id_offset = 0;
  size_t rank_offset = 0;
};

/// One entry of "links". Its ends may name nodes that the file declares later.
struct LinkDraft {
  int32_t from = -1;  // number of an id, see TopologyDraft::IdNumber
  int32_t to = -1;
  uint32_t from_offset = 0;
  uint32_t to_offset = 0;
  Rational bandwidth;
  double latency_us = 1;
  LinkKind kind = LinkKind::kOther;
  bool duplex = true;
};

class TopologyDraft {
 public:
  explicit TopologyDraft(const SourceText* source) : source_(source) {}

  std::string name;
  std::string note;

  /// Numbers ids in the order of their first mention, so that links stay small however long the ids are.
  int32_t IdNumber(const std::string& id);
  const std::string& IdOf(int32_t number) const { return *ids_[static_cast<size_t>(number)]; }

  Status AddNode(NodeDraft node);
  Status AddLink(const LinkDraft& link);
  StatusOr<Topology> Finish() const;

 private:
  Status CheckRanks() const;
  StatusOr<NodeId> Resolve(int32_t number, size_t offset, std::string_view key) const;

  const SourceText* source_;
  std::vector<NodeDraft> nodes_;
  std::vector<LinkDraft> links_;
  std::unordered_map<std::string, int32_t> id_numbers_;
  std::vector<const std::string*> ids_;  // keys of id_numbers_, whose addresses are stable
  std::vector<NodeId> nodes_of_ids_;     // invalid: mentioned but not declared yet
};

}  // namespace mycel
