// The recordings beside this file, for tests; they run in the repository root.
#pragma once

#include <gtest/gtest.h>

#include <fstream>
#include <sstream>
#include <string>

#include "transport/discover/recording.h"

namespace mycel {

inline std::string RecordingText(const std::string& name) {
  std::ifstream in("transport/discover/recordings/" + name + ".json");
  std::ostringstream text;
  text << in.rdbuf();
  EXPECT_TRUE(in.good()) << name;
  return text.str();
}

inline Recording SampleRecording(const std::string& name) {
  StatusOr<Recording> recording = ReadRecording(RecordingText(name), name);
  EXPECT_TRUE(recording.ok()) << recording.status();
  return recording.ok() ? *std::move(recording) : Recording();
}

inline Machine SampleMachine(const std::string& name) {
  const Recording recording = SampleRecording(name);
  return DescribeMachine(recording.files, recording.answers);
}

}  // namespace mycel
