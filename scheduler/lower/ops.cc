// Pass "ops": each tree becomes at most two ops per rank.
//
//   up node     own send, channels of children  ->  channel to the parent
//   root        the same inputs                 ->  recv (if wanted), channels of its down children; finish if it
//   reduces down node   channel of the parent           ->  recv (if wanted), channels of its children
//
// Inputs are ordered by the rank they come from, the own contribution at the own rank's position: all roots of one-shot
// stars then add in the same order and get the same bits.
#include <algorithm>
#include <string>

#include "scheduler/lower/passes.h"

namespace mycel::lower {
namespace {

using Kind = Operand::Kind;

/// Expands one tree after another, reusing its memory.
class Expander {
 public:
  explicit Expander(Draft* draft) : draft_(*draft), lead_(StageLead(draft->schedule)) {}

  Status Expand(size_t index) {
    tree_ = &draft_.schedule.trees[index];
    index_ = static_cast<int32_t>(index);
    MYCEL_RETURN_IF_ERROR(MeasureTree(*tree_, draft_.schedule.rank_count, &depths_));
    offset_ = draft_.offset_of_tree[index];
    lag_ = draft_.schedule.stages_overlap ? lead_ - tree_->stage_hop : offset_;
    SortEdges();
    for (const TreeEdge& edge : tree_->up) MYCEL_RETURN_IF_ERROR(AddUp(edge));
    MYCEL_RETURN_IF_ERROR(AddRoot());
    for (const TreeEdge& edge : tree_->down) MYCEL_RETURN_IF_ERROR(AddDown(edge));
    return OkStatus();
  }

 private:
  void SortEdges() {
    const auto by_parent = [](Rank TreeEdge::*parent, Rank TreeEdge::*child) {
      return [parent, child](const TreeEdge& a, const TreeEdge& b) {
        return a.*parent != b.*parent ? a.*parent < b.*parent : a.*child < b.*child;
      };
    };
    up_.assign(tree_->up.begin(), tree_->up.end());
    down_.assign(tree_->down.begin(), tree_->down.end());
    std::sort(up_.begin(), up_.end(), by_parent(&TreeEdge::target, &TreeEdge::source));
    std::sort(down_.begin(), down_.end(), by_parent(&TreeEdge::source, &TreeEdge::target));
  }

  DraftOp& Begin(Rank rank, int32_t phase) {
    DraftOp op;
    op.rank = rank;
    op.lane = draft_.lane_of_tree[static_cast<size_t>(index_)];
    op.tree = index_;
    op.phase = offset_ + phase;
    op.lag = draft_.schedule.stages_overlap ? (lag_ + phase) * kStagedLag : lag_ + phase;
    op.chunk = tree_->chunk;
    op.ports = static_cast<int32_t>(draft_.ports.size());
    draft_.ops.push_back(op);
    return draft_.ops.back();
  }
  void Input(DraftOp& op, const Port& port) {
    draft_.ports.push_back(port);
    ++op.inputs;
  }
  void Output(DraftOp& op, const Port& port) {
    draft_.ports.push_back(port);
    ++op.outputs;
  }

  /// Own contribution and children of `op.rank` in the up part, by rank.
  void UpInputs(DraftOp& op) {
    bool own = Contributes(draft_, op.rank, op.chunk.block);
    auto child = std::lower_bound(up_.begin(), up_.end(), op.rank,
                                  [](const TreeEdge& edge, Rank parent) { return edge.target < parent; });
    for (; child != up_.end() && child->target == op.rank; ++child) {
      if (own && op.rank < child->source) {
        Input(op, {Kind::kSend, Rank(), -1});
        own = false;
      }
      Input(op, {Kind::kChannel, child->source, -1});
    }
    if (own) Input(op, {Kind::kSend, Rank(), -1});
  }

  /// Receive buffer if wanted, and the down children, nearest to the right first.
  void DownOutputs(DraftOp& op) {
    if (Wants(draft_, op.rank, op.chunk.block)) Output(op, {Kind::kRecv, Rank(), -1});
    const auto parent_less = [](const TreeEdge& edge, Rank parent) { return edge.source < parent; };
    const auto first = std::lower_bound(down_.begin(), down_.end(), op.rank, parent_less);
    auto last = first;
    while (last != down_.end() && last->source == op.rank) ++last;
    const auto middle = std::find_if(first, last, [&](const TreeEdge& edge) { return edge.target > op.rank; });
    for (auto edge = middle; edge != last; ++edge) Output(op, {Kind::kChannel, edge->target, edge->route});
    for (auto edge = first; edge != middle; ++edge) Output(op, {Kind::kChannel, edge->target, edge->route});
  }

  Status AddUp(const TreeEdge& edge) {
    DraftOp& op = Begin(edge.source, depths_.height - depths_.up[edge.source.index()]);
    UpInputs(op);
    if (op.inputs == 0) return Pointless(op.rank, "has nothing to send");
    Output(op, {Kind::kChannel, edge.target, edge.route});
    return OkStatus();
  }

  Status AddRoot() {
    DraftOp& op = Begin(tree_->root, depths_.height);
    UpInputs(op);
    if (op.inputs == 0) return Pointless(op.rank, "has nothing to send");
    DownOutputs(op);
    if (op.outputs == 0) return Pointless(op.rank, "gets a block that nobody wants");
    op.finish = InfoOf(draft_.schedule.collective).reduces;
    return OkStatus();
  }

  Status AddDown(const TreeEdge& edge) {
    DraftOp& op = Begin(edge.target, depths_.height + depths_.down[edge.target.index()]);
    Input(op, {Kind::kChannel, edge.source, -1});
    DownOutputs(op);
    if (op.outputs == 0) return Pointless(op.rank, "gets a block that nobody wants");
    return OkStatus();
  }

  Status Pointless(Rank rank, const std::string& what) const {
    return InvalidArgument("schedule: rank " + std::to_string(rank.value()) + " " + what + " in tree " +
                           std::to_string(index_) + " of block " + std::to_string(tree_->chunk.block) +
                           "; the planner must be mended");
  }

  Draft& draft_;
  int32_t lead_;
  const Tree* tree_ = nullptr;
  int32_t index_ = 0;
  int32_t offset_ = 0;
  int32_t lag_ = 0;
  Depths depths_;
  std::vector<TreeEdge> up_;    // by (parent, child)
  std::vector<TreeEdge> down_;  // by (parent, child)
};

}  // namespace

Status ExpandOps(const LowerOptions&, Draft* draft) {
  draft->ops.clear();
  draft->ports.clear();
  draft->messages.reset();
  Expander expander(draft);
  for (size_t i = 0; i < draft->schedule.trees.size(); ++i) MYCEL_RETURN_IF_ERROR(expander.Expand(i));
  return OkStatus();
}

}  // namespace mycel::lower
