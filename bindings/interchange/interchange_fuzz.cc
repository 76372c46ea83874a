// libFuzzer target: any bytes as a plan file of any format. What a reader accepts must survive being executed, proved
// and written again.
//   cmake --preset fuzz && cmake --build --preset fuzz --target interchange_fuzz && build-fuzz/bin/interchange_fuzz
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "bindings/interchange/plan_file.h"
#include "core/base/check.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const mycel::StatusOr<mycel::LoadedPlan> loaded = mycel::JudgePlanText(text, "fuzz");
  if (!loaded.ok() || !loaded->verdict.ok()) return 0;
  for (const mycel::PlanFormat format : mycel::AllPlanFormats()) {
    const mycel::StatusOr<std::string> written = mycel::WritePlanAs(loaded->plan, format);
    MYCEL_CHECK(written.ok() || written.status().code() == mycel::StatusCode::kUnimplemented);
  }
  return 0;
}
