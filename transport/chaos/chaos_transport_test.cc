// What is particular to chaos: determinism, and what delays, stalls and drops look like on a virtual clock. The
// conformance suite runs it over loopback with real threads.
#include "transport/chaos/chaos_transport.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "transport/loopback/loopback_transport.h"

namespace mycel {
namespace {

/// Two ranks on one thread and a virtual clock.
struct Pair {
  uint64_t now_ns = 1000;
  std::vector<std::unique_ptr<ChaosTransport>> transports;

  explicit Pair(ChaosOptions options) {
    options.now_ns = [this] { return now_ns; };
    std::vector<std::string> addresses;
    for (int32_t r = 0; r < 2; ++r) {
      transports.push_back(std::make_unique<ChaosTransport>(std::make_unique<LoopbackTransport>(), options));
      TransportOptions transport_options;
      transport_options.rank = Rank(r);
      transport_options.rank_count = 2;
      transport_options.payload_bytes = 4096;
      transport_options.communicator = 5;
      addresses.push_back(transports.back()->Prepare(transport_options).value());
    }
    for (auto& transport : transports) {
      EXPECT_TRUE(transport->Connect(addresses, std::chrono::steady_clock::now() + std::chrono::seconds(1)).ok());
    }
  }
};

void Publish(ChannelEnd& end, uint32_t bytes) {
  SlotHeader& header = end.headers[end.step % kSlotCountMax];
  header.bytes = bytes;
  header.flag.store(++end.step, std::memory_order_release);
}

bool Consume(ChannelEnd& end, uint32_t* bytes) {
  const SlotHeader& header = end.headers[end.step % kSlotCountMax];
  if (header.flag.load(std::memory_order_acquire) != end.step + 1) return false;
  *bytes = header.bytes;
  end.release->released.store(++end.step, std::memory_order_release);
  return true;
}

/// Sends 60 messages over two channels, one every 500 ns, and notes when each arrived and when its release came back.
std::vector<std::string> Story(uint64_t seed) {
  ChaosOptions options;
  options.seed = seed;
  options.stall_probability = 0.05;
  Pair pair(options);
  std::vector<std::string> story;
  std::vector<ChannelEnd> out;
  std::vector<ChannelEnd> in;
  for (int32_t index = 0; index < 2; ++index) {
    out.push_back(pair.transports[0]->OpenSend(Rank(1), index).value());
    in.push_back(pair.transports[1]->OpenRecv(Rank(0), index).value());
  }
  std::vector<uint64_t> released(2);
  for (uint32_t turn = 0; in[0].step + in[1].step < 60 || released[0] + released[1] < 60; ++turn) {
    if (turn < 60) Publish(out[turn % 2], turn);
    pair.transports[turn % 2]->Progress();
    for (size_t i = 0; i < 2; ++i) {
      uint32_t bytes = 0;
      while (Consume(in[i], &bytes)) {
        story.push_back("message " + std::to_string(bytes) + " at " + std::to_string(pair.now_ns));
        EXPECT_EQ(bytes, 2 * (in[i].step - 1) + i);  // each channel stays FIFO
      }
      const uint64_t now_released = out[i].release->released.load(std::memory_order_acquire);
      if (now_released == released[i]) continue;
      released[i] = now_released;
      story.push_back("release " + std::to_string(i) + " " + std::to_string(now_released) + " at " +
                      std::to_string(pair.now_ns));
    }
    pair.now_ns += 500;
    if (turn > 1'000'000) ADD_FAILURE() << "stuck with seed " << seed;
    if (turn > 1'000'000) break;
  }
  return story;
}

TEST(ChaosTransportTest, TheSeedDecidesEverything) {
  EXPECT_EQ(Story(7), Story(7));
  EXPECT_NE(Story(7), Story(8));
}

TEST(ChaosTransportTest, ChannelsOvertakeEachOther) {
  std::vector<uint32_t> numbers;
  for (const std::string& line : Story(3)) {
    if (line.rfind("message ", 0) == 0) numbers.push_back(static_cast<uint32_t>(std::stoul(line.substr(8))));
  }
  EXPECT_EQ(numbers.size(), 60U);
  EXPECT_FALSE(std::is_sorted(numbers.begin(), numbers.end()));
}

TEST(ChaosTransportTest, NothingMovesBeforeItsTime) {
  ChaosOptions options;
  options.delay_probability = 1;
  options.delay_ns_max = 1;
  options.stall_probability = 1;
  options.stall_ns = 5000;
  Pair pair(options);
  ChannelEnd out = pair.transports[0]->OpenSend(Rank(1), 0).value();
  ChannelEnd in = pair.transports[1]->OpenRecv(Rank(0), 0).value();
  EXPECT_EQ(pair.transports[0]->NextDueNs(), kNeverDue);
  Publish(out, 9);
  uint32_t bytes = 0;
  EXPECT_FALSE(pair.transports[1]->Progress());
  EXPECT_FALSE(Consume(in, &bytes));
  EXPECT_EQ(pair.transports[0]->NextDueNs(), 6001U);
  EXPECT_EQ(pair.transports[1]->NextDueNs(), 6001U);
  pair.now_ns = 6000;
  EXPECT_FALSE(pair.transports[0]->Progress());
  pair.now_ns = 6001;
  EXPECT_TRUE(pair.transports[1]->Progress());  // the target can move it as well
  ASSERT_TRUE(Consume(in, &bytes));
  EXPECT_EQ(bytes, 9U);
  EXPECT_FALSE(pair.transports[0]->Progress());
  EXPECT_EQ(out.release->released.load(), 0U);  // the release travels too
  pair.now_ns = pair.transports[0]->NextDueNs();
  EXPECT_EQ(pair.now_ns, 11'002U);
  EXPECT_TRUE(pair.transports[0]->Progress());
  EXPECT_EQ(out.release->released.load(), 1U);
}

TEST(ChaosTransportTest, ADroppedMessageTakesItsChannelWithIt) {
  ChaosOptions options;
  options.drop_probability = 0.2;
  options.seed = 4;
  Pair pair(options);
  ChannelEnd out = pair.transports[0]->OpenSend(Rank(1), 0).value();
  ChannelEnd in = pair.transports[1]->OpenRecv(Rank(0), 0).value();
  for (uint32_t k = 0; k < 60; ++k) Publish(out, k);
  uint32_t bytes = 0;
  for (int turn = 0; turn < 1000; ++turn, pair.now_ns += 100'000) {
    pair.transports[0]->Progress();
    while (Consume(in, &bytes)) EXPECT_EQ(bytes + 1, in.step);
  }
  EXPECT_LT(in.step, 60U);
  EXPECT_EQ(pair.transports[0]->NextDueNs(), kNeverDue);
  pair.transports[0].reset();
  EXPECT_FALSE(Consume(in, &bytes)) << "a dropped message must stay lost";
}

TEST(ChaosTransportTest, ARepeatedMessageIsSeenOnce) {
  ChaosOptions options;
  options.duplicate_probability = 1;
  Pair pair(options);
  ChannelEnd out = pair.transports[0]->OpenSend(Rank(1), 0).value();
  ChannelEnd in = pair.transports[1]->OpenRecv(Rank(0), 0).value();
  uint32_t bytes = 0;
  bool again = false;
  for (uint32_t k = 0; k < 300; ++k) {
    Publish(out, k);
    pair.transports[0]->Progress();
    pair.now_ns = std::max(pair.now_ns, pair.transports[0]->NextDueNs());
    EXPECT_TRUE(pair.transports[0]->Progress());
    pair.now_ns += 2'000'000;
    again |= pair.transports[0]->Progress();  // nothing but repetitions and releases are under way
    if (k < 8) continue;                      // eight at most wait to be read
    while (Consume(in, &bytes)) EXPECT_EQ(bytes + 1, in.step);
  }
  EXPECT_TRUE(again);
  EXPECT_EQ(in.step, 300U);
}

TEST(ChaosTransportTest, ATruncatedMessageSaysSo) {
  ChaosOptions options;
  options.truncate_probability = 1;
  Pair pair(options);
  ChannelEnd out = pair.transports[0]->OpenSend(Rank(1), 0).value();
  ChannelEnd in = pair.transports[1]->OpenRecv(Rank(0), 0).value();
  uint32_t bytes = 0;
  for (uint32_t k = 0; k < 60; ++k) {
    Publish(out, k);
    pair.transports[0]->Progress();
    pair.now_ns += 2'000'000;
    pair.transports[0]->Progress();
    ASSERT_TRUE(Consume(in, &bytes));
    EXPECT_TRUE(k == 0 ? bytes == 0 : bytes < k) << k;
  }
}

TEST(ChaosTransportTest, ALeavingRankDeliversWhatItPublished) {
  ChaosOptions options;
  options.delay_probability = 1;
  options.delay_ns_max = 1'000'000'000;
  Pair pair(options);
  ChannelEnd out = pair.transports[0]->OpenSend(Rank(1), 0).value();
  ChannelEnd in = pair.transports[1]->OpenRecv(Rank(0), 0).value();
  for (uint32_t k = 0; k < 10; ++k) Publish(out, k);
  pair.transports[1]->Progress();
  pair.transports[0].reset();
  uint32_t bytes = 0;
  for (uint32_t k = 0; k < 10; ++k) {
    ASSERT_TRUE(Consume(in, &bytes));
    EXPECT_EQ(bytes, k);
  }
  EXPECT_FALSE(pair.transports[1]->Progress());
}

}  // namespace
}  // namespace mycel
