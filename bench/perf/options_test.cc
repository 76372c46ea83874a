#include "bench/perf/options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace mycel::perf {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

ParsedOptions Parse(std::vector<const char*> arguments, bool takes_demand = false) {
  arguments.insert(arguments.begin(), "all_reduce_perf");
  return ParseOptions("all_reduce_perf", takes_demand, static_cast<int>(arguments.size()), arguments.data());
}

Options Accepted(const std::vector<const char*>& arguments) {
  ParsedOptions parsed = Parse(arguments);
  EXPECT_TRUE(parsed.options.has_value()) << parsed.text;
  return parsed.options.value_or(Options());
}

TEST(Options, DefaultsAreThoseOfNcclTests) {
  const Options o = Accepted({});
  EXPECT_EQ(o.range.min_bytes, 32 << 20);
  EXPECT_EQ(o.range.max_bytes, 32 << 20);
  EXPECT_EQ(o.range.step_bytes, 1 << 20);
  EXPECT_EQ(o.iters, 20);
  EXPECT_FALSE(o.iters_given);
  EXPECT_EQ(o.warmup_iters, 1);
  EXPECT_EQ(o.agg_iters, 1);
  EXPECT_EQ(o.checks, 1);
  EXPECT_THAT(o.types, ElementsAre(DataType::kFloat32));
  EXPECT_THAT(o.ops, ElementsAre(ReduceOp::kSum));
  EXPECT_EQ(o.average, Average::kMean);
  EXPECT_EQ(o.blocking, Blocking::kNone);
  EXPECT_FALSE(o.host_stream);
}

TEST(Options, ShortAndLongNamesMeanTheSame) {
  const Options s =
      Accepted({"-b", "8", "-e", "64M", "-f", "2", "-n", "7", "-w", "3", "-m", "4", "-N", "2", "-c", "0"});
  const Options l = Accepted({"--minbytes", "8", "--maxbytes=64M", "--stepfactor", "2", "--iters", "7",
                              "--warmup_iters", "3", "--agg_iters", "4", "--run_cycles", "2", "--check", "0"});
  for (const Options& o : {s, l}) {
    EXPECT_EQ(o.range.min_bytes, 8);
    EXPECT_EQ(o.range.max_bytes, 64 << 20);
    EXPECT_EQ(o.range.step_factor, 2);
    EXPECT_EQ(o.iters, 7);
    EXPECT_TRUE(o.iters_given);
    EXPECT_EQ(o.warmup_iters, 3);
    EXPECT_EQ(o.agg_iters, 4);
    EXPECT_EQ(o.run_cycles, 2);
    EXPECT_EQ(o.checks, 0);
  }
}

TEST(Options, AllMeansEveryTypeAndOperation) {
  const Options o = Accepted({"-d", "all", "-o", "all", "-r", "all"});
  EXPECT_EQ(o.types.size(), 14u);
  EXPECT_EQ(o.ops.size(), 9u);
  EXPECT_TRUE(o.all_roots);
}

TEST(Options, AnOperationThatTheTypeHasNotIsNamed) {
  EXPECT_THAT(Accepted({"-d", "int16", "-o", "bxor"}).ops, ElementsAre(ReduceOp::kBxor));
  EXPECT_THAT(Accepted({"-d", "f8e4m3", "-o", "mulsum"}).ops, ElementsAre(ReduceOp::kPreMulSum));
  EXPECT_THAT(Parse({"-d", "half", "-o", "band"}).text, HasSubstr("-o band is for int8"));
}

TEST(Options, GpuOnlyOptionsAreAcceptedAndExplained) {
  const Options o = Accepted({"-G", "3", "-R", "1", "-x", "0", "-D", "0", "-V", "8", "-y", "0"});
  EXPECT_EQ(o.notes.size(), 4u);
  EXPECT_TRUE(o.host_stream);
}

TEST(Options, HelpIsNoError) {
  const ParsedOptions parsed = Parse({"--help"});
  EXPECT_EQ(parsed.exit_code, 0);
  EXPECT_FALSE(parsed.options.has_value());
  EXPECT_THAT(parsed.text, HasSubstr("--procs"));
}

struct BadCase {
  std::vector<const char*> arguments;
  const char* text;  // must appear in the message
};

TEST(Options, BadValuesExitWithTwoAndSayWhy) {
  const BadCase cases[] = {
      {{"-b", "eight"}, "eight"},
      {{"-b", "-8"}, "-8"},
      {{"-b", "8Q"}, "8Q"},
      {{"-b", "64M", "-e", "8"}, "-b 64M is more than -e 8"},
      {{"-b", "8", "-e", "64", "-i", "0"}, "-i 0"},
      {{"-f", "0"}, "stepfactor"},
      {{"-n", "0"}, "iters"},
      {{"-n", "many"}, "many"},
      {{"-n"}, "iters"},
      {{"-d", "float8"}, "float8"},
      {{"-o", "xor"}, "xor"},
      {{"-r", "root"}, "root"},
      {{"-r", "-1"}, "-1"},
      {{"-a", "4"}, "average"},
      {{"-z", "9"}, "blocking"},
      {{"-D", "1"}, "device_implementation"},
      {{"--procs", "0"}, "procs"},
      {{"-t", "0"}, "nthreads"},
      {{"-u", "-1"}, "unalign"},
      {{"--memory", "cuda"}, "host device only"},
      {{"--memory", "disk"}, "disk"},
      {{"--latency", "-m", "2"}, "--latency"},
      {{"-I", "1", "-n", "5", "-K", "5"}, "-K"},
      {{"--demand", "gen:uniform"}, "--demand"},  // not a program with a demand
      {{"--prox", "2"}, "--prox"},
      {{"stray"}, "stray"},
  };
  for (const BadCase& c : cases) {
    const ParsedOptions parsed = Parse(c.arguments);
    EXPECT_EQ(parsed.exit_code, 2) << c.text;
    EXPECT_FALSE(parsed.options.has_value()) << c.text;
    EXPECT_THAT(parsed.text, HasSubstr(c.text));
    EXPECT_THAT(parsed.text, HasSubstr("all_reduce_perf"));
  }
}

TEST(Options, OnlyAllToAllVTakesADemand) {
  const ParsedOptions parsed = Parse({"--demand", "gen:zipf:0.8:7"}, /*takes_demand=*/true);
  ASSERT_TRUE(parsed.options.has_value()) << parsed.text;
  EXPECT_EQ(parsed.options->demand, "gen:zipf:0.8:7");
}

TEST(SizeRange, FactorAndStep) {
  EXPECT_THAT((SizeRange{8, 64, 1, 2}).Sizes(4), ElementsAre(8, 16, 32, 64));
  EXPECT_THAT((SizeRange{8, 63, 1, 2}).Sizes(4), ElementsAre(8, 16, 32));
  EXPECT_THAT((SizeRange{1, 5010, 1251, 1}).Sizes(1), ElementsAre(1, 1252, 2503, 3754, 5005));
  EXPECT_THAT((SizeRange{8, 8, 0, 1}).Sizes(4), ElementsAre(8));
}

TEST(SizeRange, LeavesZero) {
  EXPECT_THAT((SizeRange{0, 16, 1, 2}).Sizes(4), ElementsAre(0, 4, 8, 16));
  EXPECT_THAT((SizeRange{0, 8, 4, 1}).Sizes(4), ElementsAre(0, 4, 8));
}

}  // namespace
}  // namespace mycel::perf
