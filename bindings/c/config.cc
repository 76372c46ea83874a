#include "bindings/c/config.h"

#include <cmath>
#include <cstddef>
#include <cstring>

#include "core/base/clock.h"

namespace mycel {
namespace {

// The first published config; later ones only append.
constexpr size_t kFirstBytes = offsetof(mycelConfig_t, wait) + sizeof(mycelConfig_t::wait);
constexpr size_t kNameBytesMax = 63;
// A planner's name or a topology's file name.
constexpr size_t kTextBytesMax = 4096;

class Reader {
 public:
  explicit Reader(const char* function) : function_(function) {}

  Status Bad(const char* field, const std::string& value, const std::string& allowed) const {
    return InvalidArgument(std::string(function_) + ": config." + field + " is " + value + "; it must be " + allowed +
                           ", or left as MYCEL_CONFIG_INITIALIZER sets it");
  }

  Status Integer(const char* field, int value, int least, int most, std::optional<int32_t>* out) const {
    if (value == MYCEL_CONFIG_UNDEF_INT) return OkStatus();
    if (value < least || value > most) {
      return Bad(field, std::to_string(value), std::to_string(least) + " to " + std::to_string(most));
    }
    *out = value;
    return OkStatus();
  }

  Status Flag(const char* field, int value, std::optional<bool>* out) const {
    std::optional<int32_t> read;
    MYCEL_RETURN_IF_ERROR(Integer(field, value, 0, 1, &read));
    if (read) *out = *read == 1;
    return OkStatus();
  }

  Status Text(const char* field, const char* value, size_t most, std::optional<std::string>* out) const {
    if (value == nullptr) return OkStatus();
    const size_t length = strnlen(value, most + 1);
    if (length == 0 || length > most) {
      return Bad(field, length == 0 ? "empty" : "too long", "1 to " + std::to_string(most) + " bytes");
    }
    // It stands in texts and in the lines that ranks compare.
    for (size_t i = 0; i < length; ++i) {
      if (static_cast<unsigned char>(value[i]) < 0x20) return Bad(field, "text with control characters", "one line");
    }
    *out = std::string(value, length);
    return OkStatus();
  }

 private:
  const char* function_;
};

Status CheckHeader(const mycelConfig_t& config, const char* function) {
  const std::string begin = std::string(function) + ": config.";
  const std::string cure = "; begin with `mycelConfig_t config = MYCEL_CONFIG_INITIALIZER;`";
  if (config.magic != MYCEL_CONFIG_MAGIC) {
    return InvalidArgument(begin + "magic is " + std::to_string(config.magic) + ", not MYCEL_CONFIG_MAGIC" + cure);
  }
  if (config.version < 1 || config.version > MYCEL_VERSION_CODE) {
    return InvalidArgument(begin + "version is " + std::to_string(config.version) + ", this library is " +
                           std::to_string(MYCEL_VERSION_CODE) +
                           ": compile with the header of the library that the program runs with");
  }
  if (config.size < kFirstBytes || config.size > sizeof(mycelConfig_t)) {
    return InvalidArgument(begin + "size is " + std::to_string(config.size) + ", this library's mycelConfig_t has " +
                           std::to_string(sizeof(mycelConfig_t)) + " bytes" + cure);
  }
  return OkStatus();
}

}  // namespace

StatusOr<CommConfig> ReadConfig(const mycelConfig_t* config, const char* function) {
  CommConfig read;
  if (config == nullptr) return read;
  MYCEL_RETURN_IF_ERROR(CheckHeader(*config, function));
  const Reader reader(function);
  MYCEL_RETURN_IF_ERROR(reader.Flag("blocking", config->blocking, &read.blocking));
  MYCEL_RETURN_IF_ERROR(reader.Integer("minLanes", config->minLanes, 1, kConfigLanesMax, &read.lanes_min));
  MYCEL_RETURN_IF_ERROR(reader.Integer("maxLanes", config->maxLanes, 1, kConfigLanesMax, &read.lanes_max));
  if (read.lanes_min.value_or(1) > read.lanes_max.value_or(kConfigLanesMax)) {
    return reader.Bad("minLanes", std::to_string(*read.lanes_min),
                      "at most config.maxLanes, which is " + std::to_string(*read.lanes_max));
  }
  MYCEL_RETURN_IF_ERROR(reader.Flag("reproducible", config->reproducible, &read.reproducible));
  MYCEL_RETURN_IF_ERROR(reader.Text("commName", config->commName, kNameBytesMax, &read.name));
  MYCEL_RETURN_IF_ERROR(reader.Text("planner", config->planner, kTextBytesMax, &read.planner));
  MYCEL_RETURN_IF_ERROR(reader.Text("topology", config->topology, kTextBytesMax, &read.topology));
  if (config->timeout != MYCEL_CONFIG_UNDEF_REAL) {
    if (!(config->timeout >= 0.001 && config->timeout <= 1e9)) {
      return reader.Bad("timeout", std::to_string(config->timeout), "0.001 to 1000000000 seconds");
    }
    read.timeout_ns = SecondsToNs(config->timeout);
  }
  std::optional<int32_t> wait;
  MYCEL_RETURN_IF_ERROR(reader.Integer("wait", config->wait, mycelWaitAuto, mycelWaitSleep, &wait));
  if (wait) {
    static constexpr WaitMode kModes[] = {WaitMode::kAuto, WaitMode::kSpin, WaitMode::kYield, WaitMode::kSleep};
    read.wait = kModes[*wait];
  }
  return read;
}

CommConfig Inherit(CommConfig wanted, const CommConfig& parent) {
  const auto take = [](auto& field, const auto& from) {
    if (!field) field = from;
  };
  take(wanted.blocking, parent.blocking);
  take(wanted.timeout_ns, parent.timeout_ns);
  take(wanted.planner, parent.planner);
  take(wanted.reproducible, parent.reproducible);
  take(wanted.wait, parent.wait);
  // Bounds go together: one of the child's and one of the parent's may contradict each other.
  if (!wanted.lanes_min && !wanted.lanes_max) {
    wanted.lanes_min = parent.lanes_min;
    wanted.lanes_max = parent.lanes_max;
  }
  return wanted;  // the topology is the parent's only as far as its ranks are the same: see Compose
}

}  // namespace mycel
