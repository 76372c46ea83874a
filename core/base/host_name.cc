#include "core/base/host_name.h"

#include <unistd.h>

#include <array>

namespace mycel {

const std::string& HostName() {
  static const std::string name = [] {
    std::array<char, 256> buffer{};
    return gethostname(buffer.data(), buffer.size() - 1) == 0 ? std::string(buffer.data()) : std::string("?");
  }();
  return name;
}

}  // namespace mycel
