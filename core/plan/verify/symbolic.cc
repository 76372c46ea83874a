#include "core/plan/verify/symbolic.h"

#include <algorithm>
#include <string>

#include "core/base/check.h"
#include "core/plan/structure.h"

namespace mycel::verify {
namespace {

size_t U(int32_t value) { return static_cast<size_t>(value); }

/// Units up to `end` of an op's chunk hold the same contributions.
struct Piece {
  int64_t end;
  int32_t set;
  bool finished;
};
using Value = std::vector<Piece>;

void Append(Value& value, const Piece& piece) {
  if (!value.empty() && value.back().set == piece.set && value.back().finished == piece.finished) {
    value.back().end = piece.end;
  } else {
    value.push_back(piece);
  }
}

struct Segment {
  int32_t set = -1;      // -1: never written
  int32_t block = -1;    // whose units they are: matters in place, where two blocks share a slot
  int32_t writer = -1;   // op; -1: as the caller gave it
  int32_t readers = -1;  // list of ops that read it since
  bool finished = false;
};

class SymbolicRun {
 public:
  SymbolicRun(const FlatPlan& flat, const Messages& messages, const MemoryMap& map, bool in_place,
              ContributorSets& sets, HappensBefore& order)
      : flat_(flat),
        messages_(messages),
        map_(map),
        reduces_(InfoOf(flat.plan.collective).reduces),
        in_place_(in_place),
        sets_(sets),
        order_(order) {}

  Status Run(const std::vector<int32_t>& firing_order) {
    FillSendBuffers();
    results_.resize(flat_.ops.size());
    for (const int32_t op : firing_order) MYCEL_RETURN_IF_ERROR(Fire(op));
    return CheckRecvBuffers();
  }

 private:
  void FillSendBuffers();
  Status Fire(int32_t op);
  Status ReadMemory(int32_t op, const Operand& operand, Value& value);
  Status Combine(int32_t op, const Value& other, Value& value);
  Status Finish(int32_t op, Value& value) const;
  Status WriteMemory(int32_t op, SegmentRange range, const Value& value);
  void AddDirectReaders(int32_t op);
  void AddReader(Segment& segment, int32_t op);
  void ForgetReaders(Segment& segment);
  Status CheckOrder(int32_t earlier, int32_t later, bool earlier_writes, bool later_writes);
  Status CheckRecvBuffers() const;
  Status CheckRecvBlock(Rank rank, int32_t block, int32_t expected) const;

  SegmentRange RangeOf(int32_t op, const Operand& operand) const {
    return map_.RangeOf(flat_.RankOf(op), operand, flat_.op(op).chunk);
  }
  Status Wrong(const std::string& problem) const {
    return InvalidArgument((in_place_ ? "run in place, " : "") + problem);
  }

  const FlatPlan& flat_;
  const Messages& messages_;
  const MemoryMap& map_;
  const bool reduces_;
  const bool in_place_;
  ContributorSets& sets_;
  HappensBefore& order_;

  struct Reader {
    int32_t op;
    int32_t next;
  };
  std::vector<Segment> segments_;
  std::vector<Reader> readers_;  // nodes of the segments' lists
  int32_t free_reader_ = -1;
  /// Pieces of `sent_`.
  struct Result {
    size_t first = 0;
    size_t count = 0;
  };
  std::vector<Result> results_;  // of each op that sends
  Value sent_;                   // one result after the other; ops that pass a message on as it is share one
  Value value_;                  // of the op at hand
  Value input_;                  // its next input
  Value united_;
};

void SymbolicRun::FillSendBuffers() {
  segments_.resize(U(map_.segment_count()));
  for (Rank rank : Ids<Rank>(flat_.plan.rank_count)) {
    for (const int32_t block : flat_.contract.SendBlocks(rank)) {
      const SegmentRange range = map_.SendRange(rank, block);
      for (int32_t i = range.begin; i < range.end; ++i) {
        segments_[U(i)].set = sets_.Single(rank);
        segments_[U(i)].block = block;
      }
    }
  }
}

Status SymbolicRun::Fire(int32_t op) {
  const Op& it = flat_.op(op);
  const Operand* inputs = flat_.plan.InputsOf(it);
  const Operand* outputs = flat_.plan.OutputsOf(it);
  int32_t next_message = messages_.read_first[U(op)];
  for (int32_t i = 0; i < it.inputs; ++i) {
    Value& into = i == 0 ? value_ : input_;
    if (inputs[i].kind == Operand::Kind::kChannel) {
      const Result& result = results_[U(messages_.producer[U(messages_.read[U(next_message++)])])];
      const auto first = sent_.begin() + static_cast<std::ptrdiff_t>(result.first);
      into.assign(first, first + static_cast<std::ptrdiff_t>(result.count));
    } else {
      MYCEL_RETURN_IF_ERROR(ReadMemory(op, inputs[i], into));
    }
    if (i > 0) MYCEL_RETURN_IF_ERROR(Combine(op, input_, value_));
  }
  if (reduces_) MYCEL_RETURN_IF_ERROR(Finish(op, value_));
  // Copying a place onto itself, as happens in place, leaves every byte as it was: not a write.
  const bool copies_memory = it.inputs == 1 && !it.finish && inputs[0].kind != Operand::Kind::kChannel;
  const SegmentRange source = copies_memory ? RangeOf(op, inputs[0]) : SegmentRange{};
  for (int32_t i = 0; i < it.outputs; ++i) {
    if (outputs[i].kind == Operand::Kind::kChannel) continue;
    const SegmentRange target = RangeOf(op, outputs[i]);
    if (copies_memory && target == source) continue;
    MYCEL_RETURN_IF_ERROR(WriteMemory(op, target, value_));
  }
  if (messages_.written_first[U(op)] == messages_.written_first[U(op) + 1]) return OkStatus();
  if (it.inputs == 1 && inputs[0].kind == Operand::Kind::kChannel && !it.finish) {
    results_[U(op)] = results_[U(messages_.producer[U(messages_.read[U(messages_.read_first[U(op)])])])];
  } else {
    results_[U(op)] = {sent_.size(), value_.size()};
    sent_.insert(sent_.end(), value_.begin(), value_.end());
  }
  if (flat_.plan.protocol == Protocol::kDirect) AddDirectReaders(op);
  return OkStatus();
}

Status SymbolicRun::ReadMemory(int32_t op, const Operand& operand, Value& value) {
  value.clear();
  const Chunk& chunk = flat_.op(op).chunk;
  const SegmentRange range = RangeOf(op, operand);
  for (int32_t i = range.begin; i < range.end; ++i) {
    Segment& segment = segments_[U(i)];
    if (segment.set < 0) {
      return Wrong(flat_.Describe(op) + " reads " + DescribeChunk(chunk) + " of " +
                   (operand.kind == Operand::Kind::kScratch ? "scratch " + std::to_string(operand.index) : "recv") +
                   ", which nothing has written up to unit " + std::to_string(map_.EndOf(i)));
    }
    if (segment.block != chunk.block) {
      return Wrong(flat_.Describe(op) + " reads " + DescribeChunk(chunk) + ", which " +
                   (segment.writer < 0 ? std::string("was never there")
                                       : flat_.Describe(segment.writer) + " has overwritten with block " +
                                             std::to_string(segment.block)));
    }
    if (segment.writer >= 0) MYCEL_RETURN_IF_ERROR(CheckOrder(segment.writer, op, true, false));
    AddReader(segment, op);
    Append(value, {map_.EndOf(i), segment.set, segment.finished});
  }
  return OkStatus();
}

/// value = value united with other, unit by unit.
Status SymbolicRun::Combine(int32_t op, const Value& other, Value& value) {
  united_.clear();
  size_t a = 0;
  size_t b = 0;
  while (a < value.size() && b < other.size()) {
    const int64_t end = std::min(value[a].end, other[b].end);
    const int32_t set = sets_.Unite(value[a].set, other[b].set);
    if (set < 0) {
      return Wrong(flat_.Describe(op) + " adds the contribution of rank " +
                   std::to_string(sets_.CommonRank(value[a].set, other[b].set)) + " to " +
                   DescribeChunk(flat_.op(op).chunk) + " twice");
    }
    Append(united_, {end, set, false});
    if (value[a].end == end) ++a;
    if (other[b].end == end) ++b;
  }
  std::swap(value, united_);
  return OkStatus();
}

Status SymbolicRun::Finish(int32_t op, Value& value) const {
  const bool finish = flat_.op(op).finish;
  for (Piece& piece : value) {
    const bool completes = piece.set == sets_.all() && !piece.finished;
    if (finish && !completes) {
      return Wrong(flat_.Describe(op) + " is marked finish, but its result " +
                   (piece.finished ? "was finished before" : "lacks contributions"));
    }
    if (!finish && completes) {
      return Wrong(flat_.Describe(op) + " completes " + DescribeChunk(flat_.op(op).chunk) + "; mark it finish");
    }
    piece.finished = piece.finished || finish;
  }
  return OkStatus();
}

Status SymbolicRun::WriteMemory(int32_t op, SegmentRange range, const Value& value) {
  size_t piece = 0;
  for (int32_t i = range.begin; i < range.end; ++i) {
    Segment& segment = segments_[U(i)];
    if (segment.writer >= 0 && segment.writer != op) {
      MYCEL_RETURN_IF_ERROR(CheckOrder(segment.writer, op, true, true));
    }
    for (int32_t r = segment.readers; r >= 0; r = readers_[U(r)].next) {
      if (readers_[U(r)].op != op) MYCEL_RETURN_IF_ERROR(CheckOrder(readers_[U(r)].op, op, false, true));
    }
    ForgetReaders(segment);
    while (value[piece].end < map_.EndOf(i)) ++piece;
    segment.set = value[piece].set;
    segment.finished = value[piece].finished;
    segment.block = flat_.op(op).chunk.block;
    segment.writer = op;
  }
  return OkStatus();
}

/// The consumers of the op's messages read the memory that holds its result.
void SymbolicRun::AddDirectReaders(int32_t op) {
  const Op& it = flat_.op(op);
  const auto is_memory = [](const Operand& operand) { return operand.kind != Operand::Kind::kChannel; };
  const Operand* inputs = flat_.plan.InputsOf(it);
  const Operand* outputs = flat_.plan.OutputsOf(it);
  const bool keeps = std::any_of(outputs, outputs + it.outputs, is_memory);
  const Operand* first = keeps ? outputs : inputs;
  const int32_t count = keeps ? it.outputs : it.inputs;
  for (int32_t k = 0; k < count; ++k) {
    if (!is_memory(first[k])) continue;
    const SegmentRange range = RangeOf(op, first[k]);
    for (int32_t i = range.begin; i < range.end; ++i) {
      for (int32_t m = messages_.written_first[U(op)]; m < messages_.written_first[U(op) + 1]; ++m) {
        AddReader(segments_[U(i)], messages_.consumer[U(messages_.written[U(m)])]);
      }
    }
  }
}

/// Keeps one reader per lane where one stands for both: the later one, if what follows it is aligned with the other
/// too.
void SymbolicRun::AddReader(Segment& segment, int32_t op) {
  for (int32_t r = segment.readers; r >= 0; r = readers_[U(r)].next) {
    const int32_t known = readers_[U(r)].op;
    if (flat_.lane_of[U(known)] != flat_.lane_of[U(op)]) continue;
    const bool later = flat_.order[U(op)] >= flat_.order[U(known)];
    const int32_t last = later ? op : known;
    const Chunk& kept = flat_.op(last).chunk;
    const Chunk& dropped = flat_.op(later ? known : op).chunk;
    if (kept.begin > dropped.begin || kept.units() > dropped.units()) continue;
    readers_[U(r)].op = last;
    return;
  }
  int32_t node = free_reader_;
  if (node < 0) {
    node = static_cast<int32_t>(readers_.size());
    readers_.emplace_back();
  } else {
    free_reader_ = readers_[U(node)].next;
  }
  readers_[U(node)] = {op, segment.readers};
  segment.readers = node;
}

void SymbolicRun::ForgetReaders(Segment& segment) {
  while (segment.readers >= 0) {
    const int32_t node = segment.readers;
    segment.readers = readers_[U(node)].next;
    readers_[U(node)].next = free_reader_;
    free_reader_ = node;
  }
}

Status SymbolicRun::CheckOrder(int32_t earlier, int32_t later, bool earlier_writes, bool later_writes) {
  const Chunk& first = flat_.op(earlier).chunk;
  const Chunk& second = flat_.op(later).chunk;
  const bool ordered = order_.Before(earlier, later);
  // A wider chunk's slices are longer (slicing.h): only then has `first` left behind what `second` comes to.
  if (ordered && first.begin >= second.begin && first.units() >= second.units()) return OkStatus();
  const std::string pair = flat_.Describe(later) + (later_writes ? " writes " : " reads ") + DescribeChunk(second) +
                           " where " + flat_.Describe(earlier) + (earlier_writes ? " writes " : " reads ") +
                           DescribeChunk(first);
  if (!ordered) return Wrong(pair + ", and nothing orders the two; let one wait for the other");
  if (first.begin < second.begin) {
    return Wrong(pair + "; its slices begin later, so they run ahead of the other's; let both begin at the same unit");
  }
  return Wrong(pair + "; its slices are longer, so they run ahead of the other's; let both have the same units");
}

Status SymbolicRun::CheckRecvBuffers() const {
  for (Rank rank : Ids<Rank>(flat_.plan.rank_count)) {
    for (const int32_t block : flat_.contract.RecvBlocks(rank)) {
      const int32_t expected = reduces_ ? sets_.all() : sets_.Single(flat_.contract.Contributors(block).front());
      MYCEL_RETURN_IF_ERROR(CheckRecvBlock(rank, block, expected));
    }
  }
  return OkStatus();
}

Status SymbolicRun::CheckRecvBlock(Rank rank, int32_t block, int32_t expected) const {
  const SegmentRange range = map_.RecvRange(rank, block);
  int64_t begin = 0;
  for (int32_t i = range.begin; i < range.end; begin = map_.EndOf(i), ++i) {
    const Segment& segment = segments_[U(i)];
    if (segment.block == block && segment.set == expected && (segment.finished || !reduces_)) continue;
    const std::string where =
        "rank " + std::to_string(rank.value()) + " ends without " + DescribeChunk({block, begin, map_.EndOf(i)});
    if (segment.set < 0) return Wrong(where + ": nothing was written there");
    if (segment.block != block) return Wrong(where + ": block " + std::to_string(segment.block) + " lies there");
    for (const Rank needed : flat_.contract.Contributors(block)) {
      if (sets_.Holds(segment.set, needed)) continue;
      return Wrong(where + ": the contribution of rank " + std::to_string(needed.value()) + " is missing");
    }
    return Wrong(where + ": it is not finished");
  }
  return OkStatus();
}

}  // namespace

Status RunSymbolically(const FlatPlan& flat, const Messages& messages, const BlockBorders& borders,
                       const std::vector<int32_t>& firing_order, bool in_place, ContributorSets& sets,
                       HappensBefore& order) {
  MYCEL_ASSIGN_OR_RETURN(const MemoryMap map, MemoryMap::Make(flat, borders, in_place));
  return SymbolicRun(flat, messages, map, in_place, sets, order).Run(firing_order);
}

}  // namespace mycel::verify
