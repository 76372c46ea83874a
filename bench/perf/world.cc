#include "bench/perf/world.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace mycel::perf {
namespace {

// What each process tells the others before any communicator exists.
struct Introduction {
  int group = 0;
  mycelResult_t result = mycelSuccess;  // of making the id, where this process leads its group
  mycelUniqueId id = {};
};

StatusOr<int> Split(int process, const std::string& text) {
  char word[8] = {};
  long value = 0;
  char rest = 0;
  if (std::sscanf(text.c_str(), " %3[A-Za-z&|%%/]%li %c", word, &value, &rest) != 2 || value < 0) {
    return InvalidArgument("NCCL_TESTS_SPLIT '" + text + "' is not AND, OR, MOD or DIV and a number");
  }
  const std::string verb = word;
  if (verb == "AND" || verb == "&") return static_cast<int>(process & value);
  if (verb == "OR" || verb == "|") return static_cast<int>(process | value);
  if ((verb == "MOD" || verb == "%") && value > 0) return static_cast<int>(process % value);
  if ((verb == "DIV" || verb == "/") && value > 0) return static_cast<int>(process / value);
  return InvalidArgument("NCCL_TESTS_SPLIT '" + text + "' is not AND, OR, MOD or DIV and a number");
}

}  // namespace

StatusOr<int> GroupOf(int process, const Environment& environment) {
  if (const char* split = environment("NCCL_TESTS_SPLIT"); split != nullptr) return Split(process, split);
  if (const char* mask = environment("NCCL_TESTS_SPLIT_MASK"); mask != nullptr) {
    return static_cast<int>(static_cast<unsigned long>(process) & std::strtoul(mask, nullptr, 16));
  }
  return 0;
}

Status CallError(mycelResult_t result, mycelComm_t comm, const std::string& what) {
  // The library's own text names rank, operation and cause; `what` is for the case that it has none.
  const char* detail = mycelGetLastError(comm);
  if (detail != nullptr && *detail != '\0') return SystemError(detail);
  return SystemError(what + ": " + mycelGetErrorString(result));
}

StatusOr<World> World::Meet(Job& job, const Options& options) {
  World world;
  world.per_thread_ = static_cast<size_t>(options.ranks_per_thread);
  world.host_stream_ = options.host_stream;
  const int per_process = options.threads * options.ranks_per_thread;
  world.run_ranks_ = job.size() * per_process;

  // First who is in which group, then the ids, which only the leaders of groups make.
  Introduction mine;
  MYCEL_ASSIGN_OR_RETURN(mine.group, GroupOf(job.rank(), [](const char* name) { return std::getenv(name); }));
  std::vector<Introduction> everyone(static_cast<size_t>(job.size()));
  MYCEL_RETURN_IF_ERROR(job.AllGather(&mine, sizeof(mine), everyone.data()));
  int place = 0;
  int members = 0;
  int leader = -1;
  for (int p = 0; p < job.size(); ++p) {
    if (everyone[static_cast<size_t>(p)].group != mine.group) continue;
    if (leader < 0) leader = p;
    if (p < job.rank()) ++place;
    ++members;
  }
  if (leader == job.rank()) mine.result = mycelGetUniqueId(&mine.id);
  MYCEL_RETURN_IF_ERROR(job.AllGather(&mine, sizeof(mine), everyone.data()));
  const Introduction& of_leader = everyone[static_cast<size_t>(leader)];
  if (of_leader.result != mycelSuccess) return CallError(of_leader.result, nullptr, "mycelGetUniqueId");

  world.id_ = of_leader.id;
  world.group_ = mine.group;
  world.group_ranks_ = members * per_process;
  world.ranks_.resize(static_cast<size_t>(per_process));
  for (int i = 0; i < per_process; ++i) {
    world.ranks_[static_cast<size_t>(i)].rank = place * per_process + i;
    world.ranks_[static_cast<size_t>(i)].index = job.rank() * per_process + i;
  }
  return world;
}

Status World::Connect(int first_thread, int last_thread) {
  const size_t first = static_cast<size_t>(first_thread) * per_thread_;
  const size_t last = static_cast<size_t>(last_thread) * per_thread_;
  if (last - first == static_cast<size_t>(group_ranks_)) {
    // All ranks of the communicator are ours.
    std::vector<mycelComm_t> comms(ranks_.size());
    const mycelResult_t result = mycelCommInitAll(comms.data(), group_ranks_, nullptr);
    if (result != mycelSuccess) return CallError(result, nullptr, "mycelCommInitAll");
    for (size_t i = first; i < last; ++i) ranks_[i].comm = comms[i];
  } else {
    const bool grouped = last - first > 1;
    mycelResult_t result = grouped ? mycelGroupStart() : mycelSuccess;
    for (size_t i = first; i < last && result == mycelSuccess; ++i) {
      result = mycelCommInitRank(&ranks_[i].comm, group_ranks_, id_, ranks_[i].rank);
    }
    const mycelResult_t end = grouped ? mycelGroupEnd() : mycelSuccess;
    if (result == mycelSuccess) result = end;
    if (result != mycelSuccess) return CallError(result, nullptr, "mycelCommInitRank");
  }
  for (size_t i = first; host_stream_ && i < last; ++i) {
    const mycelResult_t result = mycelStreamCreate(&ranks_[i].stream);
    if (result != mycelSuccess) return CallError(result, nullptr, "mycelStreamCreate");
  }
  return OkStatus();
}

Status World::Allocate(int thread, size_t arena_bytes, size_t offset) {
  Rank* ranks = ranks_of(thread);
  for (size_t i = 0; i < per_thread_; ++i) {
    MYCEL_ASSIGN_OR_RETURN(ranks[i].send, Buffer::Allocate(arena_bytes, offset));
    MYCEL_ASSIGN_OR_RETURN(ranks[i].recv, Buffer::Allocate(arena_bytes, offset));
    ranks[i].send.Touch();
    ranks[i].recv.Touch();
  }
  return OkStatus();
}

Status World::Disconnect() {
  for (Rank& rank : ranks_) {
    mycelResult_t result = mycelStreamDestroy(rank.stream);
    if (result != mycelSuccess) return CallError(result, nullptr, "mycelStreamDestroy");
    result = mycelCommDestroy(rank.comm);
    if (result != mycelSuccess) return CallError(result, nullptr, "mycelCommDestroy");
  }
  return OkStatus();
}

}  // namespace mycel::perf
