// `mycel` as a whole, and the commands that only show: usage errors, help, params, info.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <thread>

#include "bindings/cli/run_cli.h"
#include "core/base/build_info.h"
#include "core/base/env.h"
#include "core/plan/collective.h"
#include "core/plan/types.h"

namespace mycel::cli {
namespace {

using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

TEST(Usage, WithoutACommandTheHelpIsShownAsAnError) {
  const CliResult result = RunCli({});
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_EQ(result.out, "");
  EXPECT_THAT(result.err, HasSubstr("Usage: mycel"));
  EXPECT_THAT(RunCli({"topo"}).err, HasSubstr("Usage: mycel topo"));
  EXPECT_EQ(RunCli({"topo"}).exit_code, 2);
}

TEST(Usage, HelpOffersWhatWorks) {
  const CliResult result = RunCli({"--help"});
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_EQ(result.err, "");
  for (const char* command : {"topo", "plan", "verify", "sim", "convert", "params", "info", "status"}) {
    EXPECT_THAT(result.out, HasSubstr("\n  " + std::string(command) + " "));
    const CliResult help = RunCli({command, "--help"});
    EXPECT_EQ(help.exit_code, 0) << command;
    EXPECT_THAT(help.out, HasSubstr("Usage: mycel " + std::string(command)));
  }
  const CliResult topo = RunCli({"topo", "--help"});
  for (const char* command : {"list", "show", "check", "discover", "import", "calibrate"}) {
    EXPECT_THAT(topo.out, HasSubstr("\n  " + std::string(command) + " "));
    EXPECT_EQ(RunCli({"topo", command, "--help"}).exit_code, 0) << command;
  }
}

TEST(Usage, Version) {
  const CliResult result = RunCli({"--version"});
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_EQ(result.out, "mycel " + std::string(GetBuildInfo().version) + "\n");
}

TEST(Usage, UnknownNamesGetTheNearest) {
  ExpectRefused({"plna"}, 2, {"unknown command 'plna'", "did you mean plan?", "mycel --help"});
  ExpectRefused({"topo", "shwo", "ring8"}, 2, {"unknown command 'shwo'", "did you mean show?", "mycel topo --help"});
  ExpectRefused({"plan", "--tpoo", "ring8"}, 2, {"unknown option --tpoo", "did you mean --topo?"});
  ExpectRefused({"plan", "--topo=ring8", "--collectiv=allgather"}, 2,
                {"unknown option --collectiv", "did you mean --collective?"});
  ExpectRefused({"verify", "a", "b"}, 2, {"unexpected argument 'b'"});
  ExpectRefused({"--jsno"}, 2, {"unknown option --jsno"});
  ExpectRefused({"params", "x"}, 2, {"unexpected argument 'x'"});
}

TEST(Usage, UnknownVariablesAreWarnedAboutOnce) {
  const CliResult result = RunCli({"info"}, {{"MYCEL_TIMEOT", "3"}});
  EXPECT_EQ(result.exit_code, 0);
  const size_t at = result.err.find("MYCEL_TIMEOT is unknown");
  EXPECT_NE(at, std::string::npos) << result.err;
  EXPECT_THAT(result.err, HasSubstr("did you mean MYCEL_TIMEOUT?"));
  EXPECT_EQ(result.err.find("MYCEL_TIMEOT is unknown", at + 1), std::string::npos);
}

TEST(Usage, AFullDiskIsNotSilent) {
  const std::string command = std::string(MYCEL_CLI_PATH) + " info > /dev/full 2> " + TempPath("full");
  const int status = std::system(command.c_str());
  EXPECT_EQ(WEXITSTATUS(status), 3);
}

TEST(Output, FilesAreReplacedAsAWhole) {
  const std::string folder = TempPath("out");
  std::filesystem::create_directories(folder);
  const auto plan_into = [](const std::string& path) {
    return RunCli({"plan", "--topo", "ring8", "--collective", "allgather", "--out", path}).exit_code;
  };
  const std::string file = folder + "/plan.json";
  std::ofstream(file) << "old";
  std::filesystem::permissions(file, std::filesystem::perms(0640));
  EXPECT_EQ(plan_into(file), 0);
  EXPECT_GT(std::filesystem::file_size(file), 1000U);
  EXPECT_EQ(std::filesystem::status(file).permissions(), std::filesystem::perms(0640));

  // A link stays one, whether what it leads to is there or not.
  const std::string link = folder + "/link.json";
  std::ofstream(file) << "old";
  std::filesystem::create_symlink("plan.json", link);
  for (const bool dangling : {false, true}) {
    if (dangling) std::filesystem::remove(file);
    EXPECT_EQ(plan_into(link), 0);
    EXPECT_TRUE(std::filesystem::is_symlink(link));
    EXPECT_TRUE(std::filesystem::is_regular_file(std::filesystem::symlink_status(file)));
    EXPECT_GT(std::filesystem::file_size(file), 1000U);
  }
  const auto entries = std::filesystem::directory_iterator(folder);
  EXPECT_EQ(std::distance(begin(entries), end(entries)), 2);  // no draft is left
  EXPECT_EQ(plan_into(folder + "/none/plan.json"), 3);
}

TEST(Output, PipesAreWrittenInto) {
  const std::string pipe = TempPath("pipe");
  const std::string copy = TempPath("copy");
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  // The reader outlives a writer that never comes by ten seconds at most.
  const std::string reader = "timeout 10 cat " + pipe + " > " + copy;
  int read = -1;
  std::thread reading([&] { read = std::system(reader.c_str()); });
  EXPECT_EQ(RunCli({"plan", "--topo", "ring8", "--collective", "allgather", "--out", pipe}).exit_code, 0);
  reading.join();
  EXPECT_EQ(WEXITSTATUS(read), 0);
  EXPECT_TRUE(std::filesystem::is_fifo(pipe));
  EXPECT_GT(std::filesystem::file_size(copy), 1000U);
}

TEST(Params, ShowsEveryVariableWithValueOriginAndAllowed) {
  const CliResult result = RunCli({"params"}, {{"MYCEL_TIMEOUT", "12.5"}});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  for (const EnvVariable& row : EnvVariables()) {
    EXPECT_THAT(result.out, HasSubstr("\n" + std::string(row.name) + " "));
    EXPECT_THAT(result.out, HasSubstr(std::string(row.text)));
    EXPECT_THAT(result.out, HasSubstr(EnvAllowed(row)));
  }
  EXPECT_THAT(result.out, testing::ContainsRegex("MYCEL_TIMEOUT +12\\.5 +environment +a number from"));
  EXPECT_THAT(result.out, testing::ContainsRegex("MYCEL_WAIT +auto +default +one of"));
  EXPECT_THAT(result.out, Not(HasSubstr("\033")));  // no colours into files
}

TEST(Params, ABadValueIsShownAndRefused) {
  for (const auto& [name, value] : std::map<std::string, std::string>{{"MYCEL_TIMEOUT", "soon"},
                                                                      {"MYCEL_WAIT", "nap"},
                                                                      {"MYCEL_PAYLOAD_BYTES", "-4"},
                                                                      {"MYCEL_SPIN_US", "1e9x"}}) {
    const CliResult result = RunCli({"params"}, {{name, value}});
    EXPECT_EQ(result.exit_code, 3) << name;
    EXPECT_THAT(result.out, HasSubstr(value));
    EXPECT_THAT(result.err, StartsWith("mycel: environment variable " + name));
    EXPECT_THAT(result.err, HasSubstr("must be"));
  }
}

TEST(Params, JsonSaysTheSame) {
  const CliResult result = RunCli({"params", "--json"}, {{"MYCEL_TIMEOUT", "12.5"}, {"MYCEL_WAIT", "nap"}});
  const nlohmann::json json = nlohmann::json::parse(result.out, nullptr, false);
  ASSERT_EQ(json.size(), EnvVariables().size()) << result.out;
  for (size_t i = 0; i < json.size(); ++i) EXPECT_EQ(json[i]["name"], EnvVariables()[i].name);
  const nlohmann::json& timeout = json[static_cast<size_t>(Env::kTimeout)];
  EXPECT_EQ(timeout["value"], "12.5");
  EXPECT_EQ(timeout["origin"], "environment");
  EXPECT_EQ(timeout["default"], "300");
  EXPECT_TRUE(timeout["error"].is_null());
  const nlohmann::json& wait = json[static_cast<size_t>(Env::kWait)];
  EXPECT_EQ(wait["value"], "nap");
  EXPECT_THAT(wait["error"], HasSubstr("one of auto|spin|yield|sleep"));
}

TEST(Params, TheReferencePageIsUpToDate) {
  std::ostringstream page;
  page << std::ifstream("core/base/VARIABLES.md").rdbuf();
  EXPECT_EQ(RunCli({"params", "--markdown"}, {{"MYCEL_TIMEOUT", "12.5"}}).out, page.str())
      << "run: build/bin/mycel params --markdown > core/base/VARIABLES.md";
}

TEST(Status, WithoutCommunicatorsThereIsNothingToShow) {
  const CliResult named = RunCli({"status", "no such communicator"});
  EXPECT_EQ(named.exit_code, 1);
  EXPECT_THAT(named.out, StartsWith("no communicator of 'no such communicator' here\n"));
  const CliResult json = RunCli({"status", "--json", "no such communicator"});
  EXPECT_EQ(json.exit_code, 1);
  EXPECT_TRUE(nlohmann::json::parse(json.out, nullptr, false)["communicators"].empty()) << json.out;
}

TEST(Info, SaysWherePlansAreKept) {
  const std::string folder = TempPath("cache");
  std::filesystem::create_directories(folder + "/plans");
  std::ofstream(folder + "/plans/0123456789abcdef.plan") << std::string(2048, 'x');
  const CliResult kept = RunCli({"info"}, {{"MYCEL_CACHE_DIR", folder}});
  EXPECT_THAT(kept.out, HasSubstr(folder + "/plans"));
  EXPECT_THAT(kept.out, HasSubstr("1 plan, 2 KiB of at most 256 MiB"));
  EXPECT_THAT(RunCli({"info"}, {{"MYCEL_CACHE_DIR", "off"}}).out, HasSubstr("none: MYCEL_CACHE_DIR is off"));
  // `mycel plan` stays cold: it neither reads nor keeps.
  EXPECT_EQ(RunCli({"plan", "--topo", "dgx-a100-x2", "--collective", "allgather", "--json"},
                   {{"MYCEL_CACHE_DIR", TempPath("unused")}})
                .exit_code,
            0);
  EXPECT_FALSE(std::filesystem::exists(TempPath("unused")));
}

TEST(Info, SaysWhatThisBuildIsAndOffers) {
  const CliResult result = RunCli({"info"});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out, StartsWith("mycel " + std::string(GetBuildInfo().version)));
  EXPECT_THAT(result.out, HasSubstr(std::string(GetBuildInfo().compiler)));
  for (const BuildFeature& feature : GetBuildInfo().features) {
    EXPECT_THAT(result.out, testing::ContainsRegex(std::string(feature.name) + " +" + (feature.found ? "yes" : "no")));
  }
  for (const char* name : {"host", "shm", "loopback", "auto", "ring", "direct"}) {
    EXPECT_THAT(result.out, HasSubstr("\n  " + std::string(name)));
  }
  for (const CollectiveInfo& collective : AllCollectives()) {
    EXPECT_THAT(result.out, HasSubstr(" " + std::string(collective.name)));
  }
  for (const DataType type : AllDataTypes()) EXPECT_THAT(result.out, HasSubstr(" " + std::string(NameOf(type))));
  for (const ReduceOp op : AllReduceOps()) EXPECT_THAT(result.out, HasSubstr(" " + std::string(NameOf(op))));
}

}  // namespace
}  // namespace mycel::cli
