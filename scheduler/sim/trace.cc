// The simulated timeline as a Chrome trace: open it in Perfetto or chrome://tracing.
#include <cstdio>

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

}  // namespace

std::string ToChromeTrace(const Plan& plan, const SimResult& result) {
  const int64_t wires = plan.rank_count;  // the process of the channels comes after the ranks
  std::string text = "{\"displayTimeUnit\":\"ns\",\"traceEvents\":[\n";
  for (const Rank rank : Ids<Rank>(plan.rank_count)) {
    text += Named("process_name", rank.value(), 0, "rank " + std::to_string(rank.value())) + ",\n";
  }
  for (size_t c = 0; c < plan.channels.size(); ++c) {
    const Channel& channel = plan.channels[c];
    text += Named("thread_name", wires, static_cast<int64_t>(c),
                  std::to_string(channel.source.value()) + " to " + std::to_string(channel.target.value()) + " #" +
                      std::to_string(channel.index)) +
            ",\n";
  }
  for (const OpInterval& at : result.ops) {
    const Op& op = plan.ranks[at.rank.index()].lanes[at.lane.index()].ops[static_cast<size_t>(at.op)];
    text += Complete("op " + std::to_string(at.op) + " " + ChunkText(op.chunk), at.rank.value(), at.lane.value(),
                     at.start_us, at.end_us, "\"slice\":" + std::to_string(at.slice)) +
            ",\n";
  }
  for (const MessageInterval& at : result.messages) {
    text += Complete(std::to_string(at.bytes) + " bytes", wires, at.channel.value(), at.start_us, at.end_us,
                     "\"bytes\":" + std::to_string(at.bytes)) +
            ",\n";
  }
  return text + Named("process_name", wires, 0, "channels") + "\n]}\n";
}

}  // namespace mycel
