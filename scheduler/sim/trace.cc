// The simulated timeline as a Chrome trace: open it in Perfetto or chrome://tracing.
#include <algorithm>
#include <cstdio>
#include <map>

#include "scheduler/sim/sim.h"

namespace mycel {
namespace {

/// One complete event ("ph":"X"); names hold no characters that JSON must escape.
std::string Complete(const std::string& name, int64_t process, int64_t thread, double start_us, double end_us,
                     const std::string& args) {
  char times[80];
  std::snprintf(times, sizeof times, "\"ts\":%.3f,\"dur\":%.3f", start_us, end_us - start_us);
  return "{\"name\":\"" + name + "\",\"ph\":\"X\",\"pid\":" + std::to_string(process) +
         ",\"tid\":" + std::to_string(thread) + "," + times + ",\"args\":{" + args + "}}";
}

std::string Named(const std::string& what, int64_t process, int64_t thread, const std::string& name) {
  return "{\"name\":\"" + what + "\",\"ph\":\"M\",\"pid\":" + std::to_string(process) +
         ",\"tid\":" + std::to_string(thread) + ",\"args\":{\"name\":\"" + name + "\"}}";
}

std::string ChunkText(const Chunk& chunk) {
  return std::to_string(chunk.block) + "[" + std::to_string(chunk.begin) + "," + std::to_string(chunk.end) + ")";
}

/// The intervals of each simulated lane or channel, in order of time.
template <typename Interval>
using Tracks = std::map<int64_t, std::vector<const Interval*>>;

int64_t LaneKey(Rank rank, LaneId lane) { return int64_t{rank.value()} << 32 | lane.value(); }

class TraceWriter {
 public:
  TraceWriter(const Plan& plan, const SimResult& result) : plan_(plan), result_(result) {
    for (const OpInterval& at : result.ops) ops_[LaneKey(at.rank, at.lane)].push_back(&at);
    for (const MessageInterval& at : result.messages) messages_[at.channel.value()].push_back(&at);
    channels_of_rank_.resize(plan.ranks.size());
    for (size_t c = 0; c < plan.channels.size(); ++c) {
      channels_of_rank_[plan.channels[c].source.index()].push_back(static_cast<int32_t>(c));
    }
  }

  ChromeTrace Write(int64_t events_max) {
    ChooseExtent(events_max);
    for (const Rank rank : Ids<Rank>(trace_.ranks)) WriteRank(rank);
    trace_.json = "{\"displayTimeUnit\":\"ns\",\"traceEvents\":[\n" + text_ +
                  Named("process_name", plan_.rank_count, 0, "channels") + "\n]}\n";
    return std::move(trace_);
  }

 private:
  template <typename F>
  void ForEachOf(Rank rank, F&& f) const {
    int64_t lane = 0;
    for (size_t r = 0; r < rank.index(); ++r) lane += std::ssize(plan_.ranks[r].lanes);
    for (int32_t l = 0; l < std::ssize(plan_.ranks[rank.index()].lanes); ++l, ++lane) {
      const RankLane& alike = result_.lane_alike[static_cast<size_t>(lane)];
      const auto at = ops_.find(LaneKey(alike.rank, alike.lane));
      if (at == ops_.end()) continue;
      for (const OpInterval* op : at->second) f(l, *op);
    }
  }
  template <typename F>
  void ForEachMessageOf(Rank rank, F&& f) const {
    for (const int32_t channel : channels_of_rank_[rank.index()]) {
      const auto at = messages_.find(result_.channel_alike[static_cast<size_t>(channel)].value());
      if (at == messages_.end()) continue;
      for (const MessageInterval* message : at->second) f(channel, *message);
    }
  }

  /// As many whole ranks as fit; of a single rank that does not, what begins first.
  void ChooseExtent(int64_t events_max) {
    int64_t events = 0;
    trace_.until_us = result_.simulated_us;
    while (trace_.ranks < plan_.rank_count) {
      int64_t more = 0;
      ForEachOf(Rank(trace_.ranks), [&](int32_t, const OpInterval&) { ++more; });
      ForEachMessageOf(Rank(trace_.ranks), [&](int32_t, const MessageInterval&) { ++more; });
      if (events + more > events_max) break;
      events += more;
      ++trace_.ranks;
    }
    if (trace_.ranks > 0) return;
    trace_.ranks = 1;
    std::vector<double> starts;
    ForEachOf(Rank(0), [&](int32_t, const OpInterval& at) { starts.push_back(at.start_us); });
    ForEachMessageOf(Rank(0), [&](int32_t, const MessageInterval& at) { starts.push_back(at.start_us); });
    std::nth_element(starts.begin(), starts.begin() + events_max, starts.end());
    trace_.until_us = starts[static_cast<size_t>(events_max)];
  }

  void WriteRank(Rank rank) {
    const int64_t wires = plan_.rank_count;  // the process of the channels comes after the ranks
    text_ += Named("process_name", rank.value(), 0, "rank " + std::to_string(rank.value())) + ",\n";
    for (const int32_t c : channels_of_rank_[rank.index()]) {
      const Channel& channel = plan_.channels[static_cast<size_t>(c)];
      text_ += Named("thread_name", wires, c,
                     std::to_string(channel.source.value()) + " to " + std::to_string(channel.target.value()) + " #" +
                         std::to_string(channel.index)) +
               ",\n";
    }
    ForEachOf(rank, [&](int32_t lane, const OpInterval& at) {
      if (at.start_us >= trace_.until_us) return;
      const Op& op = plan_.ranks[rank.index()].lanes[static_cast<size_t>(lane)].ops[static_cast<size_t>(at.op)];
      text_ += Complete("op " + std::to_string(at.op) + " " + ChunkText(op.chunk), rank.value(), lane, at.start_us,
                        at.end_us, "\"slice\":" + std::to_string(at.slice)) +
               ",\n";
    });
    ForEachMessageOf(rank, [&](int32_t channel, const MessageInterval& at) {
      if (at.start_us >= trace_.until_us) return;
      text_ += Complete(std::to_string(at.bytes) + " bytes", wires, channel, at.start_us, at.end_us,
                        "\"bytes\":" + std::to_string(at.bytes)) +
               ",\n";
    });
  }

  const Plan& plan_;
  const SimResult& result_;
  Tracks<OpInterval> ops_;
  Tracks<MessageInterval> messages_;
  std::vector<std::vector<int32_t>> channels_of_rank_;  // that it sends on
  std::string text_;
  ChromeTrace trace_;
};

}  // namespace

ChromeTrace ToChromeTrace(const Plan& plan, const SimResult& result, int64_t events_max) {
  return TraceWriter(plan, result).Write(events_max);
}

}  // namespace mycel
