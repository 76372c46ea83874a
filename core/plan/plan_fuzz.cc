// libFuzzer target: any bytes as a plan file. What the reader accepts must survive every consumer of plans.
//   cmake --preset fuzz && cmake --build --preset fuzz --target plan_fuzz && build-fuzz/bin/plan_fuzz -max_len=4096
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "core/base/check.h"
#include "core/plan/encode.h"
#include "core/plan/plan_json.h"
#include "core/plan/verify.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const mycel::StatusOr<mycel::Plan> plan = mycel::ReadPlanText(text, "fuzz");
  if (!plan.ok()) return 0;
  const mycel::StatusOr<mycel::Plan> again = mycel::ReadPlanText(mycel::WritePlan(*plan), "again");
  MYCEL_CHECK(again.ok());
  MYCEL_CHECK_EQ(mycel::HashOf(*again), mycel::HashOf(*plan));
  if (!mycel::Verify(*plan).ok()) return 0;
  for (const mycel::Rank rank : mycel::Ids<mycel::Rank>(plan->rank_count)) mycel::Encode(*plan, rank);
  return 0;
}
