#include "bench/perf/options.h"

#include <CLI/CLI.hpp>
#include <cstdlib>
#include <map>

#include "core/base/bytes.h"

namespace mycel::perf {
namespace {

// Texts that become values after CLI11 has read them.
struct Texts {
  std::string min_bytes, max_bytes, step_bytes;
  std::string type = "float";
  std::string op = "sum";
  std::string root = "0";
  std::string memory = "host";
  int average = 1;
  int blocking = 0;
  int stream_null = 1;
  int local_register = 0;
  int cta_policy = -1;
  int device_implementation = 0;
  int device_cta_count = 16;
};

void AddRanks(CLI::App& app, Options& o) {
  app.add_option("--procs", o.procs, "start N local rank processes (no launcher needed)")->check(CLI::Range(1, 1024));
  app.add_option("-t,--nthreads", o.threads, "ranks as threads of each process")->check(CLI::Range(1, 1024));
  app.add_option("-g,--ngpus", o.ranks_per_thread, "ranks driven by each thread, in groups")
      ->check(CLI::Range(1, 1024));
  app.add_option("-p,--parallel_init", o.parallel_init, "1: each thread creates its own communicators");
}

void AddWork(CLI::App& app, Options& o, Texts& t, bool takes_demand) {
  app.add_option("-b,--minbytes", t.min_bytes, "smallest size, e.g. 8, 16K, 1M (32M)");
  app.add_option("-e,--maxbytes", t.max_bytes, "largest size (32M)");
  app.add_option("-i,--stepbytes", t.step_bytes, "increment between sizes (1M)");
  app.add_option("-f,--stepfactor", o.range.step_factor, "factor between sizes")->check(CLI::Range(1, 1 << 20));
  app.add_option("-d,--datatype", t.type,
                 "int8 uint8 int16 uint16 int32 uint32 int64 uint64 half float double bfloat16 f8e4m3 f8e5m2, or all");
  app.add_option("-o,--op", t.op, "sum prod max min avg mulsum; of integers band bor bxor; or all");
  app.add_option("-r,--root", t.root, "root rank, or all");
  app.add_option("-u,--unalign", o.unalign, "misalign the buffers by k elements")->check(CLI::Range(0, 4096));
  app.add_option("-y,--stream_null", t.stream_null,
                 "1: run in the calling thread (default on the host device), 0: enqueue on a host stream")
      ->check(CLI::Range(0, 1));
  if (takes_demand) {
    app.add_option("--demand", o.demand,
                   "who sends how much to whom: a CSV file (row = sender, byte counts), gen:uniform, "
                   "gen:zipf:S:SEED or gen:moe:EXPERTS,TOPK,TOKENS,HIDDEN,SKEW");
  }
}

void AddRepetition(CLI::App& app, Options& o, Texts& t) {
  app.add_option("-n,--iters", o.iters,
                 "timed calls per size; without it 20, and small sizes as many more as fill 10 ms")
      ->check(CLI::Range(1, 100'000'000));
  app.add_option("-w,--warmup_iters", o.warmup_iters, "calls before timing starts")->check(CLI::Range(0, 1'000'000));
  app.add_option("-m,--agg_iters", o.agg_iters, "calls per group")->check(CLI::Range(1, 1'000'000));
  app.add_option("-N,--run_cycles", o.run_cycles, "repeat the sweep N times, 0 for ever")
      ->check(CLI::Range(0, 1'000'000));
  app.add_option("-c,--check", o.checks, "data checks per size, 0 for none")->check(CLI::Range(0, 1'000'000));
  app.add_option("-z,--blocking", t.blocking,
                 "0 none, 1 wait and barrier after each call, 2 wait after each call, 3 wait and untimed barrier after "
                 "each iteration")
      ->check(CLI::Range(0, 3));
  app.add_option("-T,--timeout", o.timeout_s, "give up after so many seconds without progress")
      ->check(CLI::Range(0, 1'000'000));
  app.add_flag("--min", o.minimum, "report the fastest of 10 batches instead of the mean over all calls");
}

void AddReport(CLI::App& app, Options& o, Texts& t) {
  app.add_option("-a,--average", t.average, "time reported: 0 rank 0, 1 mean, 2 min, 3 max over ranks")
      ->check(CLI::Range(0, 3));
  app.add_option("-C,--report_cputime", o.cpu_time, "1: time until the calls have returned");
  app.add_option("-S,--report_timestamps", o.timestamps, "1: add the time of day to each row");
  app.add_option("-J,--output_file", o.json_path, "also write the results as JSON (never overwrites: appends .N)");
  app.add_option("-M,--memory_report", o.memory_report, "1: report memory in the footer");
  app.add_option("-I,--per_iter_timing", o.per_iteration, "1: add the columns i_min i_max i_p99 i_cv%");
  app.add_option("-K,--per_iter_skip", o.per_iteration_skip, "leave the first k iterations out of those")
      ->check(CLI::Range(0, 1'000'000));
  app.add_flag("--latency", o.latency, "a table of percentiles instead of bandwidths");
  app.add_flag("--roofline", o.roofline, "measure this machine's copy and reduce speed; show each row's share");
}

void AddLibrary(CLI::App& app, Options& o, Texts& t) {
  app.add_option("--memory", t.memory, "where the buffers are: host");
  app.add_option("--topo", o.topo, "plan for this topology: a gallery name or a file (MYCEL_TOPO)");
  app.add_option("--planner", o.planner, "use this planner (MYCEL_PLANNER)");
  app.add_option("--plan", o.plan_file, "use this plan file (MYCEL_PLAN_FILE)");
  app.add_option("-G,--cudagraph", o.graph, "accepted; host calls cannot be captured")->check(CLI::Range(0, 1'000'000));
  app.add_option("-R,--local_register", t.local_register, "accepted; host buffers need no registration")
      ->check(CLI::Range(0, 2));
  app.add_option("-x,--cta_policy", t.cta_policy, "accepted; the host device has no thread blocks")
      ->check(CLI::Range(0, 2));
  app.add_option("-D,--device_implementation", t.device_implementation, "only 0: the library's own")
      ->check(CLI::Range(0, 0));
  app.add_option("-V,--device_cta_count", t.device_cta_count, "accepted; the host device has no thread blocks")
      ->check(CLI::Range(1, 1024));
}

// One size option; `fallback` when it was not given.
Status ReadSize(const char* option, const std::string& text, int64_t* value) {
  if (text.empty()) return OkStatus();
  StatusOr<int64_t> bytes = ParseBytes(text);
  if (!bytes.ok()) return InvalidArgument(std::string(option) + ": " + StatusMessage(bytes.status()));
  *value = *bytes;
  return OkStatus();
}

Status ReadRange(const Texts& t, Options& o) {
  MYCEL_RETURN_IF_ERROR(ReadSize("-b", t.min_bytes, &o.range.min_bytes));
  MYCEL_RETURN_IF_ERROR(ReadSize("-e", t.max_bytes, &o.range.max_bytes));
  MYCEL_RETURN_IF_ERROR(ReadSize("-i", t.step_bytes, &o.range.step_bytes));
  o.range_given = !t.min_bytes.empty() || !t.max_bytes.empty();
  // nccl-tests refuses -b above the default -e as well.
  if (o.range.min_bytes > o.range.max_bytes) {
    return InvalidArgument("-b " + FormatBytes(o.range.min_bytes) + " is more than -e " +
                           FormatBytes(o.range.max_bytes) + ": give -e a size at least as large");
  }
  if (o.range.step_factor <= 1 && o.range.step_bytes == 0 && o.range.min_bytes != o.range.max_bytes) {
    return InvalidArgument("-i 0 never gets from -b to -e: give a step of at least 1, or a factor with -f 2");
  }
  return OkStatus();
}

Status ReadNames(const Texts& t, Options& o) {
  if (t.type == "all") {
    o.types = AllDataTypes();
  } else {
    StatusOr<DataType> type = ParseDataType(t.type);
    if (!type.ok()) return InvalidArgument("-d: " + StatusMessage(type.status()));
    o.types = {*type};
  }
  if (t.op == "all") {
    o.ops = AllReduceOps();
    o.ops.push_back(ReduceOp::kPreMulSum);
  } else if (t.op == "mulsum") {
    o.ops = {ReduceOp::kPreMulSum};
  } else {
    StatusOr<ReduceOp> op = ParseReduceOp(t.op);
    if (!op.ok()) return InvalidArgument("-o: " + StatusMessage(op.status()));
    o.ops = {*op};
  }
  if (t.type != "all" && t.op != "all" && !Allows(o.ops[0], o.types[0])) {
    return InvalidArgument("-o " + t.op + " is for " + NamesOfTypesFor(o.ops[0]) + ", not for -d " + t.type);
  }
  o.all_roots = t.root == "all";
  if (!o.all_roots && !CLI::detail::lexical_cast(t.root, o.root)) {
    return InvalidArgument("-r: '" + t.root + "' is not a rank: write a number from 0, or all");
  }
  if (o.root < 0) return InvalidArgument("-r: " + t.root + " is not a rank: ranks start at 0");
  if (t.memory == "cuda" || t.memory == "hip") {
    return InvalidArgument("--memory " + t.memory + ": this build has the host device only; use --memory host");
  }
  if (t.memory != "host") return InvalidArgument("--memory: '" + t.memory + "' is not host, cuda or hip");
  return OkStatus();
}

// What the host device makes of options that mean something on GPUs only.
void CollectNotes(const Texts& t, Options& o) {
  if (o.graph > 0) o.notes.push_back("-G: host calls cannot be captured into a graph; they are issued one by one");
  if (t.local_register > 0) o.notes.push_back("-R: host buffers need no registration; nothing is done");
  if (t.cta_policy >= 0) o.notes.push_back("-x: the host device has no thread blocks; nothing is done");
  if (t.device_cta_count != 16) o.notes.push_back("-V: the host device has no thread blocks; nothing is done");
}

Status Finish(const Texts& t, const CLI::App& app, Options& o) {
  MYCEL_RETURN_IF_ERROR(ReadRange(t, o));
  MYCEL_RETURN_IF_ERROR(ReadNames(t, o));
  o.iters_given = app.count("--iters") > 0;
  o.average = static_cast<Average>(t.average);
  o.blocking = static_cast<Blocking>(t.blocking);
  o.host_stream = t.stream_null == 0;
  if (o.latency && o.agg_iters > 1) {
    return InvalidArgument("--latency times single calls: leave -m out");
  }
  if (o.per_iteration && o.iters_given && o.per_iteration_skip >= o.iters) {
    return InvalidArgument("-K skips all iterations: it must be less than -n " + std::to_string(o.iters));
  }
  CollectNotes(t, o);
  return OkStatus();
}

}  // namespace

std::vector<int64_t> SizeRange::Sizes(size_t element_bytes) const {
  std::vector<int64_t> sizes;
  for (int64_t size = min_bytes; size <= max_bytes;) {
    sizes.push_back(size);
    if (step_factor > 1) {
      size = size == 0 ? static_cast<int64_t>(element_bytes) : size * step_factor;
    } else if (step_bytes > 0) {
      size += step_bytes;
    } else {
      break;
    }
  }
  return sizes;
}

ParsedOptions ParseOptions(std::string_view program, bool takes_demand, int argc, const char* const* argv) {
  ParsedOptions parsed;
  Options options;
  Texts texts;
  const std::string name(program);
  CLI::App app("Measures and checks one collective. Options are nccl-tests' with its meanings, and a few of ours.",
               name);
  AddRanks(app, options);
  AddWork(app, options, texts, takes_demand);
  AddRepetition(app, options, texts);
  AddReport(app, options, texts);
  AddLibrary(app, options, texts);
  // CLI11 reports by exceptions; they end here.
  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForHelp&) {
    parsed.text = app.help();
    return parsed;
  } catch (const CLI::ParseError& error) {
    parsed.exit_code = 2;
    parsed.text = name + ": " + error.what() + "\nTry " + name + " --help\n";
    return parsed;
  }
  const Status status = Finish(texts, app, options);
  if (!status.ok()) {
    parsed.exit_code = 2;
    parsed.text = name + ": " + StatusMessage(status) + "\nTry " + name + " --help\n";
    return parsed;
  }
  parsed.options = std::move(options);
  return parsed;
}

void ExportOptions(const Options& options) {
  const auto set = [](const char* name, const std::string& value) {
    if (!value.empty()) setenv(name, value.c_str(), /*overwrite=*/1);
  };
  set("MYCEL_TOPO", options.topo);
  set("MYCEL_PLANNER", options.planner);
  set("MYCEL_PLAN_FILE", options.plan_file);
  if (options.timeout_s > 0) set("MYCEL_TIMEOUT", std::to_string(options.timeout_s));
}

}  // namespace mycel::perf
