// `mycel topo calibrate`: two ranks measure the memory between them.
#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <string>

#include "bindings/cli/run_cli.h"
#include "core/topo/topology_json.h"

namespace mycel::cli {
namespace {

using testing::ContainsRegex;
using testing::HasSubstr;

/// A port that nobody listened at a moment ago.
int FreePort() {
  const int socket_fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t length = sizeof address;
  EXPECT_EQ(bind(socket_fd, reinterpret_cast<sockaddr*>(&address), length), 0);
  EXPECT_EQ(getsockname(socket_fd, reinterpret_cast<sockaddr*>(&address), &length), 0);
  close(socket_fd);
  return ntohs(address.sin_port);
}

/// Rank 1 of 2 in a process of its own, without output.
pid_t StartSecondRank(const std::string& meeting, const std::string& file) {
  const pid_t child = fork();
  if (child != 0) return child;
  setenv("OMPI_COMM_WORLD_RANK", "1", 1);
  setenv("OMPI_COMM_WORLD_SIZE", "2", 1);
  setenv("MYCEL_COMM_ID", meeting.c_str(), 1);
  setenv("MYCEL_TIMEOUT", "60", 1);
  execl(MYCEL_CLI_PATH, "mycel", "topo", "calibrate", "--topo", "host-2", "--bytes", "256K", "--out", file.c_str(),
        static_cast<char*>(nullptr));
  _exit(127);
}

TEST(TopoCalibrate, WritesWhatTwoRanksReach) {
  const std::string meeting = "127.0.0.1:" + std::to_string(FreePort());
  const std::string file = TempPath("calibrated.json");
  const pid_t second = StartSecondRank(meeting, file);
  ASSERT_GT(second, 0);
  const CliResult first = RunCli({"topo", "calibrate", "--topo", "host-2", "--bytes", "256K", "--out", file},
                                 {{"OMPI_COMM_WORLD_RANK", "0"},
                                  {"OMPI_COMM_WORLD_SIZE", "2"},
                                  {"MYCEL_COMM_ID", meeting},
                                  {"MYCEL_TIMEOUT", "60"}});
  int status = -1;
  EXPECT_EQ(waitpid(second, &status, 0), second);
  EXPECT_EQ(status, 0);
  ASSERT_EQ(first.exit_code, 0) << first.err;
  EXPECT_THAT(first.out, ContainsRegex("rank0 +memory +shm +8 "));
  EXPECT_THAT(first.out, HasSubstr("1 patterns of 256 KiB measured"));
  const StatusOr<Topology> calibrated = ReadTopologyFile(file);
  ASSERT_TRUE(calibrated.ok()) << calibrated.status();
  EXPECT_EQ(calibrated->name(), "host-2-calibrated");
  EXPECT_EQ(calibrated->rank_count(), 2);
  EXPECT_NE(calibrated->links()[0].bandwidth, Rational(8)) << "measured to the thousandth";
}

TEST(TopoCalibrate, WhatIsMissingIsSaid) {
  ExpectRefused({"topo", "calibrate", "--topo", "host-2"}, 2, {"--out"});
  ExpectRefused({"topo", "calibrate", "--topo", "host-2", "--out", "x"}, 2, {"mpirun or srun"});
  for (const char* bytes : {"0", "2G", "4000000G"})
    ExpectRefused({"topo", "calibrate", "--topo", "host-2", "--out", "x", "--bytes", bytes}, 2, {"--bytes", "1 GiB"});
  for (const char* rank : {"", "one", "1x", "-1", "3", "99999999999"}) {
    const CliResult odd =
        RunCli({"topo", "calibrate", "--topo", "host-2", "--out", "x"}, {{"PMI_RANK", rank}, {"PMI_SIZE", "3"}});
    EXPECT_THAT(odd.err, HasSubstr("mpirun or srun")) << "PMI_RANK='" << rank << "'";
  }
  const std::map<std::string, std::string> launched = {{"PMI_RANK", "0"}, {"PMI_SIZE", "3"}};
  EXPECT_THAT(RunCli({"topo", "calibrate", "--topo", "host-2", "--out", "x"}, launched).err,
              HasSubstr("MYCEL_COMM_ID is not set"));
  std::map<std::string, std::string> meeting = launched;
  meeting["MYCEL_COMM_ID"] = "127.0.0.1:1";
  const CliResult wrong = RunCli({"topo", "calibrate", "--topo", "host-2", "--out", "x"}, meeting);
  EXPECT_EQ(wrong.exit_code, 3);
  EXPECT_THAT(wrong.err, HasSubstr("host-2 has 2 ranks, the job 3"));
}

}  // namespace
}  // namespace mycel::cli
