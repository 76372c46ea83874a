#include "transport/discover/describe.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "transport/discover/sample_recording.h"

namespace mycel {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

const MachineNic& Nic(const Machine& machine, const std::string& name) {
  for (const MachineNic& nic : machine.nics) {
    if (nic.name == name) return nic;
  }
  ADD_FAILURE() << name;
  return machine.nics.front();
}

TEST(DescribeTest, ADgxHasItsGpusBehindSwitchesAndItsPortsBesideThem) {
  const Machine machine = SampleMachine("dgx-h100");
  ASSERT_EQ(machine.gpus.size(), 8);
  const MachineGpu& gpu = machine.gpus[4];
  EXPECT_EQ(gpu.pci.bus_id, "0000:9d:00.0");
  EXPECT_THAT(gpu.pci.path, ElementsAre("pci0000:97", "0000:97:01.0", "0000:98:00.0", "0000:99:01.0", "0000:9d:00.0"));
  EXPECT_EQ(gpu.pci.numa_node, 1);
  EXPECT_EQ(gpu.pci.gbps, Rational(32 * 16 * 128, 8 * 130));
  EXPECT_EQ(machine.cpus.numa_nodes.size(), 2);

  const MachineNic& port = Nic(machine, "mlx5_6:1");
  EXPECT_TRUE(port.usable);
  EXPECT_EQ(port.mbps, 400'000);
  EXPECT_EQ(port.link_layer, "InfiniBand");
  EXPECT_EQ(port.mtu, 4096);
  EXPECT_EQ(port.gid->entry.index, 0);
  EXPECT_EQ(SharedBridges(port.pci, gpu.pci), 3);
  EXPECT_EQ(Nic(machine, "mlx5_8:1").gid->address, "10.20.0.7");
  EXPECT_FALSE(Nic(machine, "mlx5_9:1").usable);
  EXPECT_EQ(Nic(machine, "ens3f0").port_of, "mlx5_8:1");
  EXPECT_FALSE(Nic(machine, "docker0").usable);
  EXPECT_THAT(machine.notes, IsEmpty());

  // The ports' names say nothing about where they are; and storage is not for the GPUs.
  std::vector<std::string> nearest;
  for (const std::vector<int32_t>& nics : NicsOfGpus(machine)) {
    ASSERT_EQ(nics.size(), 1);
    nearest.push_back(machine.nics[static_cast<size_t>(nics.front())].name);
  }
  EXPECT_THAT(nearest, ElementsAre("mlx5_2:1", "mlx5_0:1", "mlx5_3:1", "mlx5_1:1", "mlx5_6:1", "mlx5_4:1", "mlx5_7:1",
                                   "mlx5_5:1"));
}

TEST(DescribeTest, AnMi300xServerUsesRoceWithItsRoutableAddress) {
  const Machine machine = SampleMachine("mi300x");
  ASSERT_EQ(machine.gpus.size(), 8);
  EXPECT_EQ(machine.gpus[7].wires.size(), 7);
  const MachineNic& port = Nic(machine, "bnxt_re5:1");
  EXPECT_EQ(port.gid->entry.index, 3);
  EXPECT_EQ(port.gid->address, "10.21.0.1");
  EXPECT_EQ(Nic(machine, "eth5").port_of, "bnxt_re5:1");
  for (size_t gpu = 0; gpu < 8; ++gpu) {
    ASSERT_EQ(NicsOfGpus(machine)[gpu].size(), 1);
    EXPECT_EQ(machine.nics[static_cast<size_t>(NicsOfGpus(machine)[gpu].front())].name,
              "bnxt_re" + std::to_string(gpu) + ":1");
  }
}

TEST(DescribeTest, FewerPortsThanGpusAreSharedOut) {
  Machine machine = SampleMachine("dgx-h100");
  std::erase_if(machine.nics, [](const MachineNic& nic) { return nic.name != "mlx5_2:1" && nic.name != "mlx5_6:1"; });
  std::vector<int32_t> first;
  for (const std::vector<int32_t>& nics : NicsOfGpus(machine)) {
    ASSERT_EQ(nics.size(), 1);
    first.push_back(nics.front());
  }
  EXPECT_THAT(first, ElementsAre(0, 0, 0, 0, 1, 1, 1, 1)) << "of their own socket";
}

TEST(DescribeTest, TwoPortsAtOneSwitchWithTwoGpusGoToOneEach) {
  Machine machine;
  for (int i = 0; i < 2; ++i) {
    machine.gpus.emplace_back().pci.path = {"pci0000:00", "0000:01:00.0", "gpu" + std::to_string(i)};
    MachineNic& nic = machine.nics.emplace_back();
    nic.rdma = nic.usable = true;
    nic.pci.path = {"pci0000:00", "0000:01:00.0", "nic" + std::to_string(i)};
  }
  EXPECT_THAT(NicsOfGpus(machine), ElementsAre(ElementsAre(0), ElementsAre(1)));
  machine.nics.push_back(machine.nics.back());
  machine.nics.push_back(machine.nics.back());
  EXPECT_THAT(NicsOfGpus(machine), ElementsAre(ElementsAre(0, 2), ElementsAre(1, 3)));
  machine.nics.clear();
  EXPECT_THAT(NicsOfGpus(machine), ElementsAre(IsEmpty(), IsEmpty()));
}

TEST(DescribeTest, GpusThatNoLibraryKnowsAreNoted) {
  Recording recording = SampleRecording("dgx-h100");
  recording.answers.gpus.clear();
  EXPECT_THAT(DescribeMachine(recording.files, recording.answers).notes,
              Contains(HasSubstr("8 NVIDIA display device(s)")));
  recording = SampleRecording("mi300x");
  recording.answers.gpus.pop_back();
  EXPECT_THAT(DescribeMachine(recording.files, recording.answers).notes,
              Contains(HasSubstr("1 AMD display device(s)")));
}

TEST(DescribeTest, APortThatCannotBeOpenedIsNoted) {
  Recording recording = SampleRecording("mi300x");
  recording.answers.mtu_of_port.erase("bnxt_re3:1");
  EXPECT_THAT(DescribeMachine(recording.files, recording.answers).notes,
              ElementsAre(HasSubstr("bnxt_re3:1: is active, but this process cannot open it")));
}

/// A /sys with what is written into it.
class SysFolderTest : public testing::Test {
 protected:
  SysFolderTest() : root_(testing::TempDir() + "/sysfs-" + std::to_string(getpid())) {}
  ~SysFolderTest() override { std::filesystem::remove_all(root_); }
  void Write(const std::string& file, const std::string& text) const {
    const std::filesystem::path path = root_ / file;
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path) << text << "\n";
  }
  void Link(const std::string& from, const std::string& to) const {
    const std::filesystem::path path = root_ / from;
    std::filesystem::create_directories(path.parent_path());
    std::filesystem::create_directories(root_ / to);
    std::filesystem::create_directory_symlink(root_ / to, path);
  }
  const std::filesystem::path root_;
};

TEST_F(SysFolderTest, SpeedsThatAreNoneAreTold) {
  Write("class/infiniband/mlx5_0/ports/1/rate", "400 Gb/sec (4X NDR)");
  Write("class/infiniband/hfi1_0/ports/1/rate", "2.5 Gb/sec (1X SDR)");
  Write("class/infiniband/odd_0/ports/1/rate", "1e30 Gb/sec");
  Write("class/infiniband/odd_0/ports/2/rate", "nan");
  Link("class/net/eth0", "devices/pci0000:00/0000:00:03.0/virtio2/net/eth0");
  Write("class/net/eth0/speed", "25000");
  Link("class/net/eth1", "devices/pci0000:00/0000:00:04.0/virtio3/net/eth1");
  Write("class/net/eth1/speed", "-1");
  Link("class/net/veth7", "devices/virtual/net/veth7");
  Write("class/net/veth7/speed", "10000");
  const FolderFiles files(root_);
  const auto expect = [&](const std::string& name, int64_t mbps, SpeedSource source) {
    EXPECT_EQ(ReadNicSpeed(files, name).mbps, mbps) << name;
    EXPECT_EQ(ReadNicSpeed(files, name).source, source) << name;
  };
  expect("mlx5_0:1", 400'000, SpeedSource::kTold);
  expect("hfi1_0:1", 2'500, SpeedSource::kTold);
  expect("odd_0:1", 0, SpeedSource::kUnknown);
  expect("odd_0:2", 0, SpeedSource::kUnknown);
  expect("eth0", 25'000, SpeedSource::kTold);
  expect("eth1", 0, SpeedSource::kUnknown);
  expect("veth7", 10'000, SpeedSource::kVirtual);
  expect("absent", 0, SpeedSource::kUnknown);
  expect("absent:1", 0, SpeedSource::kUnknown);
}

TEST_F(SysFolderTest, ARecordingTellsTheSameAsTheFolder) {
  Link("class/net/eth0", "devices/pci0000:00/0000:00:03.0/virtio2/net/eth0");
  Link("class/net/eth0/device", "devices/pci0000:00/0000:00:03.0/virtio2");
  Write("class/net/eth0/operstate", "up");
  Write("class/net/eth0/speed", "-1");
  Write("class/net/bonding_masters", "");
  Write("devices/pci0000:00/0000:00:03.0/numa_node", "-1");
  for (const char* port : {"1", "2", "10"})
    Write("class/infiniband/x_0/ports/" + std::string(port) + "/state", "1: DOWN");
  Recording recording;
  const Machine there = DescribeMachine(FolderFiles(root_, &recording.files), recording.answers);
  ASSERT_EQ(there.nics.size(), 4);
  EXPECT_EQ(there.nics[2].name, "x_0:10") << "numbers by value";
  EXPECT_EQ(there.nics[3].pci.bus_id, "0000:00:03.0");
  EXPECT_THAT(there.notes, ElementsAre(HasSubstr("eth0: the system tells no speed")));
  const StatusOr<Recording> back = ReadRecording(WriteRecording(recording), "recording");
  ASSERT_TRUE(back.ok()) << back.status();
  const Machine here = DescribeMachine(back->files, back->answers);
  ASSERT_EQ(here.nics.size(), there.nics.size());
  for (size_t i = 0; i < here.nics.size(); ++i) {
    EXPECT_EQ(here.nics[i].name, there.nics[i].name);
    EXPECT_EQ(here.nics[i].pci.path, there.nics[i].pci.path);
    EXPECT_EQ(here.nics[i].state, there.nics[i].state);
  }
  EXPECT_EQ(here.notes, there.notes);
}

TEST(PcieTest, SpeedsAfterLineCode) {
  EXPECT_EQ(PcieGBps("2.5 GT/s", "1"), Rational(1, 4));
  EXPECT_EQ(PcieGBps("8.0 GT/s PCIe", "16"), Rational(1024, 65));
  EXPECT_EQ(PcieGBps("64.0 GT/s PCIe", "16"), Rational(128));
  EXPECT_EQ(PcieGBps("Unknown", "16"), Rational(0));
  EXPECT_EQ(PcieGBps("8.0 GT/s", "0"), Rational(0));
  EXPECT_EQ(PcieGBps("1e300 GT/s", "16"), Rational(0));
  EXPECT_EQ(PlainName("eth\xff\n0"), "eth??0");
  EXPECT_EQ(PlainName(std::string(100, 'x')), std::string(64, 'x'));
  EXPECT_EQ(NormalBusId("00000001:1B:00.0"), "0001:1b:00.0");
  EXPECT_EQ(NormalBusId("10000000:1B:00.0"), "10000000:1b:00.0");
}

}  // namespace
}  // namespace mycel
