#include "transport/discover/network_devices.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace mycel {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

/// A /sys with what is written into it.
class NetworkDevicesTest : public testing::Test {
 protected:
  NetworkDevicesTest() : root_(testing::TempDir() + "/sys-" + std::to_string(getpid())) {}
  ~NetworkDevicesTest() override { std::filesystem::remove_all(root_); }
  void Write(const std::string& file, const std::string& text) const {
    const std::filesystem::path path = root_ / file;
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path) << text << "\n";
  }
  const std::filesystem::path root_;
};

TEST_F(NetworkDevicesTest, ActiveRdmaPortsComeFirst) {
  Write("class/infiniband/mlx5_1/ports/1/state", "4: ACTIVE");
  Write("class/infiniband/mlx5_0/ports/1/state", "4: ACTIVE");
  Write("class/infiniband/mlx5_0/ports/2/state", "1: DOWN");
  EXPECT_THAT(NetworkDevices(root_), ElementsAre("mlx5_0:1", "mlx5_1:1"));
}

TEST_F(NetworkDevicesTest, WithoutRdmaThereIsStillAWay) {
  Write("class/infiniband/mlx5_0/ports/1/state", "1: DOWN");
  const std::vector<std::string> devices = NetworkDevices(root_);
  ASSERT_FALSE(devices.empty());
  EXPECT_THAT(devices.front(), testing::Not(HasSubstr(":1")));
}

TEST(ParseDevicesTest, UnknownNamesAreRefusedWithThoseThatExist) {
  EXPECT_THAT(ParseDevices("lo").value(), ElementsAre("lo"));
  EXPECT_THAT(ParseDevices("lo,lo").value(), ElementsAre("lo", "lo"));
  for (const char* text : {"doesnotexist", "lo,doesnotexist"}) {
    const Status status = ParseDevices(text).status();
    EXPECT_EQ(status.code(), StatusCode::kInvalidArgument);
    const std::string message = StatusMessage(status);
    EXPECT_THAT(message, HasSubstr("'doesnotexist'"));
    EXPECT_THAT(message, HasSubstr("it has"));
    EXPECT_THAT(message, HasSubstr("lo"));
  }
  EXPECT_FALSE(ParseDevices("lo,").ok());
}

TEST(ShareOfDevicesTest, RanksShareThemOut) {
  const std::vector<std::string> four = {"a", "b", "c", "d"};
  EXPECT_THAT(ShareOfDevices(four, 0, 1), ElementsAre("a", "b", "c", "d"));
  EXPECT_THAT(ShareOfDevices(four, 0, 2), ElementsAre("a", "c"));
  EXPECT_THAT(ShareOfDevices(four, 1, 2), ElementsAre("b", "d"));
  EXPECT_THAT(ShareOfDevices(four, 2, 3), ElementsAre("c"));
  EXPECT_THAT(ShareOfDevices(four, 3, 4), ElementsAre("d"));
  EXPECT_THAT(ShareOfDevices(four, 6, 8), ElementsAre("c"));
  EXPECT_THAT(ShareOfDevices({"a"}, 3, 4), ElementsAre("a"));
}

TEST(NetworkOfTest, InterfacesHaveASubnetAndPortsAreOneNetwork) {
  EXPECT_EQ(NetworkOf("lo"), "127.0.0.0/8");
  EXPECT_EQ(NetworkOf("mlx5_0:1"), "rdma");
  EXPECT_EQ(NetworkOf("no-such-interface"), "");
}

}  // namespace
}  // namespace mycel
