// libFuzzer target of the topology reader. Any bytes give an error or a topology that survives a round trip.
//   cmake --preset fuzz && cmake --build --preset fuzz --target topology_fuzz && build-fuzz/bin/topology_fuzz
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "core/base/check.h"
#include "core/topo/topology_json.h"

// NOLINTNEXTLINE(readability-identifier-naming): the name is libFuzzer's
extern "C" __attribute__((visibility("default"))) int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto topology = mycel::ReadTopologyText(text, "fuzz.json");
  if (!topology.ok()) {
    MYCEL_CHECK(mycel::StatusMessage(topology.status()).rfind("fuzz.json:", 0) == 0);
    return 0;
  }
  const auto again = mycel::ReadTopologyText(mycel::WriteTopology(*topology), "again.json");
  MYCEL_CHECK(again.ok());
  MYCEL_CHECK(*again == *topology);
  return 0;
}
