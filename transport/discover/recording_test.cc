#include "transport/discover/recording.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "transport/discover/sample_recording.h"

namespace mycel {
namespace {

using testing::HasSubstr;

TEST(RecordingTest, WhatIsWrittenReadsBack) {
  for (const char* name : {"dgx-h100", "mi300x"}) {
    Recording recording = SampleRecording(name);
    recording.answers.notes.emplace_back("a note with \"quotes\"\nand a line");
    const std::string text = WriteRecording(recording);
    const StatusOr<Recording> back = ReadRecording(text, name);
    ASSERT_TRUE(back.ok()) << back.status();
    EXPECT_EQ(WriteRecording(*back), text);
    EXPECT_EQ(back->files.lines, recording.files.lines);
    EXPECT_EQ(back->files.real_paths, recording.files.real_paths);
    EXPECT_EQ(back->answers.notes, recording.answers.notes);
    EXPECT_EQ(back->answers.mtu_of_port, recording.answers.mtu_of_port);
  }
}

std::string Replaced(std::string text, const std::string& what, const std::string& with) {
  const size_t at = text.find(what);
  EXPECT_NE(at, std::string::npos) << what;
  return text.replace(at, what.size(), with);
}

TEST(RecordingTest, BadOnesNameTheKey) {
  const std::string good = RecordingText("dgx-h100");
  struct Row {
    std::string text;
    const char* said;
  };
  const Row rows[] = {
      {"", "no JSON"},
      {"[1, 2]", "is no object"},
      {good.substr(0, good.size() / 2), "no JSON"},
      {Replaced(good, "mycel-machine", "mycel-topology"), "\"format\": \"mycel-topology\""},
      {Replaced(good, "\"version\": 1", "\"version\": 2"), "\"version\""},
      {Replaced(good, "\"host\"", "\"hots\""), "unknown key \"hots\""},
      {Replaced(good, "\"host\": \"dgx-one\"", "\"host\": 7"), "needs a text at \"host\""},
      {Replaced(good, "\"notes\": []", "\"notes\": [1]"), "note"},
      {Replaced(good, "\"packages\": 2", "\"packages\": -2"), "cpus needs a whole number"},
      {Replaced(good, "\"vendor\": \"nvidia\"", "\"vendor\": \"acme\""), "gpu 0 has \"vendor\": \"acme\""},
      {Replaced(good, "\"end\": \"switch\"", "\"end\": \"moon\""), "gpu 0 wire 0 has \"end\": \"moon\""},
      {Replaced(good, "\"count\": 5", "\"count\": 5e9"), "wire 0 needs a whole number"},
      {Replaced(good, "\"gbps\": \"25\"", "\"gbps\": \"-25\""), "wire 0 has \"gbps\": \"-25\""},
      {Replaced(good, "\"gbps\": \"25\"", "\"gbps\": 25"), "wire 0 needs a text at \"gbps\""},
      {Replaced(good, "\"gbps\": \"25\"", "\"gbps\": \"1/999983\""), "at most three decimals"},
      {Replaced(good, "\"mlx5_0:1\": 4096", "\"mlx5_0:1\": \"x\""), "rdma_mtu"},
      {Replaced(good, "\"0x068000\"", "68000"), "\"files\", \"bus/pci/devices/0000:05:00.0/class\""},
  };
  for (const Row& row : rows) {
    const Status status = ReadRecording(row.text, "FILE").status();
    EXPECT_EQ(status.code(), StatusCode::kInvalidArgument) << row.said;
    EXPECT_THAT(StatusMessage(status), HasSubstr("FILE:"));
    EXPECT_THAT(StatusMessage(status), HasSubstr(row.said));
  }
}

}  // namespace
}  // namespace mycel
