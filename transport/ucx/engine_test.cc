// What is particular to the engine; tests/conformance holds what every transport must do.
#include "transport/ucx/engine.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <cstring>

#include "core/base/rng.h"

namespace mycel {
namespace {

EngineAddress Sample() {
  EngineAddress address;
  address.token[0] = 17;
  address.token[1] = ~uint64_t{0};
  address.who = "host a, pid 17";
  address.rails = {{"10.0.0.0/24", std::string("\0\1rail", 6)}, {"", "b"}};
  return address;
}

TEST(EngineAddressTest, ComesBackAsItWas) {
  const EngineAddress sample = Sample();
  const EngineAddress back = EngineAddress::Decode(sample.Encode()).value();
  EXPECT_EQ(back.token[0], sample.token[0]);
  EXPECT_EQ(back.token[1], sample.token[1]);
  EXPECT_EQ(back.who, sample.who);
  EXPECT_EQ(back.rails, sample.rails);
}

TEST(EngineAddressTest, NoCutOneIsTaken) {
  const std::string whole = Sample().Encode();
  // Cut before the last rail it is a shorter address; anywhere else it is none.
  const size_t first_rail_ends = whole.size() - 9;
  for (size_t bytes = 0; bytes < whole.size(); ++bytes) {
    const StatusOr<EngineAddress> cut = EngineAddress::Decode(whole.substr(0, bytes));
    EXPECT_EQ(cut.ok(), bytes == first_rail_ends) << bytes;
    if (!cut.ok()) {
      EXPECT_EQ(cut.status().code(), StatusCode::kInvalidArgument);
    }
  }
}

TEST(EngineAddressTest, GarbageIsRefusedOrHarmless) {
  Rng rng(20'261'130);
  for (int i = 0; i < 20'000; ++i) {
    std::string garbage = Sample().Encode();
    for (int k = 0; k < 3; ++k) garbage[rng.Below(garbage.size())] = static_cast<char>(rng.Below(256));
    const StatusOr<EngineAddress> decoded = EngineAddress::Decode(garbage);
    if (decoded.ok()) {
      EXPECT_FALSE(decoded->rails.empty());
    }
  }
}

TEST(BoardFactsTest, TravelWholeAndErrorsStay) {
  RankBoard from{};
  RankBoard to{};
  from.operation = 17;
  CallRecord call;
  call.operation = 17;
  call.signature = 18;
  call.count = 19;
  from.history.Post(call);
  from.collective = 2;
  from.count = uint64_t{1} << 40;
  from.root = -1;
  CopyFacts(FactsOf(from), &to);
  EXPECT_EQ(FactsOf(to), FactsOf(from));
  EXPECT_EQ(to.history.Find(17).signature, 18U);
  EXPECT_EQ(to.history.Find(16).operation, 0U);
  std::snprintf(from.error_text, sizeof(from.error_text), "rank 2 broke");
  from.error = 5;
  CopyFacts(FactsOf(from), &to);
  EXPECT_EQ(to.error.load(), 5U);
  EXPECT_STREQ(to.error_text, "rank 2 broke");
  // A text of a peer need not end, ours does.
  BoardFacts endless = FactsOf(from);
  std::memset(endless.error_text, 'x', sizeof(endless.error_text));
  RankBoard third{};
  CopyFacts(endless, &third);
  EXPECT_EQ(std::strlen(third.error_text), sizeof(third.error_text) - 1);
}

}  // namespace
}  // namespace mycel
