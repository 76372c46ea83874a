#include "transport/discover/gpu_libraries.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace mycel {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

void ExpectWire(const GpuWire& wire, const std::string& peer, WireEnd end, int32_t count, Rational gbps) {
  EXPECT_EQ(wire.peer, peer);
  EXPECT_EQ(wire.end, end) << peer;
  EXPECT_EQ(wire.count, count) << peer;
  EXPECT_EQ(wire.gbps, gbps) << peer;
}

TEST(NvmlTest, LinksToTheSamePlaceAddUp) {
  MachineAnswers answers;
  AskNvml(&answers, MYCEL_FAKE_NVML);
  ASSERT_EQ(answers.gpus.size(), 2);
  EXPECT_EQ(answers.gpus[0].pci.bus_id, "0000:1b:00.0");
  EXPECT_EQ(answers.gpus[1].name, "NVIDIA H100 80GB HBM3");
  const std::vector<GpuWire>& wires = answers.gpus[1].wires;
  ASSERT_EQ(wires.size(), 4);
  ExpectWire(wires[0], "0000:05:00.0", WireEnd::kSwitch, 2, Rational(25));
  ExpectWire(wires[1], "0000:06:00.0", WireEnd::kSwitch, 1, Rational(25));
  ExpectWire(wires[2], "0000:1b:00.0", WireEnd::kGpu, 1, Rational(25));
  ExpectWire(wires[3], "0000:07:00.0", WireEnd::kOther, 1, Rational(0));
  EXPECT_THAT(answers.notes, ElementsAre(HasSubstr("0000:1b:00.0, link 5: NVLink version 9"),
                                         HasSubstr("0000:bb:00.0, link 5: NVLink version 9"),
                                         "NVML: GPU 2 does not answer: GPU is lost"));
}

TEST(RocmSmiTest, OnlyDirectLinksCountAndBundlesHaveANumber) {
  MachineAnswers answers;
  AskRocmSmi(&answers, MYCEL_FAKE_ROCM_SMI);
  ASSERT_EQ(answers.gpus.size(), 3);
  EXPECT_EQ(answers.gpus[0].pci.bus_id, "0001:c1:02.1");
  EXPECT_EQ(answers.gpus[0].vendor, GpuVendor::kAmd);
  ASSERT_EQ(answers.gpus[0].wires.size(), 1);
  ExpectWire(answers.gpus[0].wires[0], "0001:c2:02.1", WireEnd::kGpu, 4, Rational(50));
  ASSERT_EQ(answers.gpus[1].wires.size(), 2);
  ExpectWire(answers.gpus[1].wires[1], "0001:c3:02.1", WireEnd::kGpu, 1, Rational(50));
}

TEST(GpuLibrariesTest, AbsentOnesSayNothingAndOthersWhatTheyLack) {
  MachineAnswers answers;
  AskNvml(&answers, "libno-such-library.so.1");
  AskRocmSmi(&answers, "libno-such-library.so");
  EXPECT_TRUE(answers.gpus.empty());
  EXPECT_TRUE(answers.notes.empty());
  AskNvml(&answers, MYCEL_FAKE_ROCM_SMI);
  AskRocmSmi(&answers, MYCEL_FAKE_NVML);
  EXPECT_TRUE(answers.gpus.empty());
  EXPECT_THAT(answers.notes, ElementsAre(HasSubstr("lacks functions"), HasSubstr("lacks functions")));
}

}  // namespace
}  // namespace mycel
