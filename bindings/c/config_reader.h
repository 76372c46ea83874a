// ConfigReader: checks the fields of a config struct of mycel.h one by one and names the one that is wrong.
#pragma once

#include <cstddef>
#include <cstring>
#include <optional>
#include <string>

#include "bindings/c/mycel.h"
#include "core/base/clock.h"
#include "core/base/status.h"

namespace mycel {

class ConfigReader {
 public:
  /// A planner's name or a topology's file name.
  static constexpr size_t kTextBytesMax = 4096;

  /// `function` begins the texts; `initializer`: the macro that a caller begins with.
  ConfigReader(const char* function, const char* initializer) : function_(function), initializer_(initializer) {}

  Status Bad(const char* field, const std::string& value, const std::string& allowed) const {
    return InvalidArgument(std::string(function_) + ": config." + field + " is " + value + "; it must be " + allowed +
                           ", or left as " + initializer_ + " sets it");
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

  Status Timeout(double seconds, std::optional<int64_t>* out_ns) const {
    if (seconds == MYCEL_CONFIG_UNDEF_REAL) return OkStatus();
    if (!(seconds >= 0.001 && seconds <= 1e9)) {
      return Bad("timeout", std::to_string(seconds), "0.001 to 1000000000 seconds");
    }
    *out_ns = SecondsToNs(seconds);
    return OkStatus();
  }

  /// `Config`: mycelConfig_t or its like; `first_bytes`: of the first published one.
  template <typename Config>
  Status Header(const Config& config, unsigned int magic, size_t first_bytes, const char* type) const {
    const std::string begin = std::string(function_) + ": config.";
    const std::string cure = "; begin with `" + std::string(type) + " config = " + initializer_ + ";`";
    if (config.magic != magic) {
      return InvalidArgument(begin + "magic is " + std::to_string(config.magic) + ", not that of a " + type + cure);
    }
    const unsigned int version = config.version;
    if (version < 1 || version > MYCEL_VERSION_CODE) {
      return InvalidArgument(begin + "version is " + std::to_string(version) + ", this library is " +
                             std::to_string(MYCEL_VERSION_CODE) +
                             ": compile with the header of the library that the program runs with");
    }
    const size_t size = config.size;
    if (size < first_bytes || size > sizeof(Config)) {
      return InvalidArgument(begin + "size is " + std::to_string(size) + ", this library's " + type + " has " +
                             std::to_string(sizeof(Config)) + " bytes" + cure);
    }
    return OkStatus();
  }

 private:
  const char* function_;
  const char* initializer_;
};

}  // namespace mycel
