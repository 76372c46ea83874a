// What is particular to loopback; tests/conformance holds what every transport must do.
#include "transport/loopback/loopback_transport.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace mycel {
namespace {

using testing::HasSubstr;

TransportOptions OptionsOf(int32_t rank, int32_t rank_count, uint64_t communicator) {
  TransportOptions options;
  options.rank = Rank(rank);
  options.rank_count = rank_count;
  options.communicator = communicator;
  options.payload_bytes = 4096;
  return options;
}

const SteadyTime kSoon = std::chrono::steady_clock::now() + std::chrono::seconds(10);

TEST(LoopbackTransportTest, ARankThatIsTakenIsRefused) {
  LoopbackTransport first;
  LoopbackTransport second;
  ASSERT_TRUE(first.Prepare(OptionsOf(1, 2, 7)).ok());
  const Status status = second.Prepare(OptionsOf(1, 2, 7)).status();
  EXPECT_EQ(status.code(), StatusCode::kFailedPrecondition);
  EXPECT_THAT(StatusMessage(status), HasSubstr("rank 1 is taken"));
}

TEST(LoopbackTransportTest, RanksThatDisagreeAreRefused) {
  LoopbackTransport first;
  LoopbackTransport second;
  ASSERT_TRUE(first.Prepare(OptionsOf(0, 2, 7)).ok());
  EXPECT_EQ(second.Prepare(OptionsOf(1, 3, 7)).status().code(), StatusCode::kFailedPrecondition);
}

TEST(LoopbackTransportTest, CommunicatorsDoNotReachEachOther) {
  LoopbackTransport first;
  LoopbackTransport second;
  const std::string first_address = first.Prepare(OptionsOf(0, 2, 7)).value();
  const std::string second_address = second.Prepare(OptionsOf(1, 2, 8)).value();
  ASSERT_TRUE(first.Connect({first_address, second_address}, kSoon).ok());
  EXPECT_TRUE(first.Reaches(Rank(0)));
  EXPECT_FALSE(first.Reaches(Rank(1)));
  EXPECT_EQ(first.BoardOf(Rank(1)), nullptr);
  EXPECT_EQ(first.OpenSend(Rank(1), 0).status().code(), StatusCode::kInvalidArgument);
}

TEST(LoopbackTransportTest, ChannelsCostMemoryOnlyWhenOpened) {
  std::vector<std::unique_ptr<LoopbackTransport>> transports;
  std::vector<std::string> addresses;
  for (int32_t r = 0; r < 3; ++r) {
    transports.push_back(std::make_unique<LoopbackTransport>());
    addresses.push_back(transports.back()->Prepare(OptionsOf(r, 3, 9)).value());
  }
  for (auto& transport : transports) ASSERT_TRUE(transport->Connect(addresses, kSoon).ok());
  EXPECT_EQ(transports[0]->MemoryBytes(), sizeof(RankBoard));
  ASSERT_TRUE(transports[1]->OpenSend(Rank(0), 1).ok());
  ASSERT_TRUE(transports[0]->OpenRecv(Rank(1), 1).ok());
  EXPECT_EQ(transports[0]->MemoryBytes(), sizeof(RankBoard) + ChannelBytes(4096));
}

TEST(LoopbackTransportTest, ACommunicatorIdMayBeUsedAgainWhenAllHaveLeft) {
  std::string first_address;
  {
    LoopbackTransport transport;
    first_address = transport.Prepare(OptionsOf(0, 1, 11)).value();
  }
  LoopbackTransport transport;
  EXPECT_NE(transport.Prepare(OptionsOf(0, 1, 11)).value(), first_address);
}

}  // namespace
}  // namespace mycel
