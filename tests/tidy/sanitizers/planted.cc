// Plants the defect that its argument names. Proof that a sanitizer tree sees what it is for: each must be reported.
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <memory>
#include <string_view>
#include <thread>

namespace {

/// A message copied under a flag that orders nothing; the copy is one that compilers expand inline.
struct Slot {
  unsigned char bytes[64] = {};
};

void RaceOnASlot() {
  Slot slot;
  const auto write = [&slot](unsigned char value) {
    unsigned char source[64];
    std::memset(source, value, sizeof(source));
    std::memcpy(slot.bytes, source, sizeof(slot.bytes));
  };
  std::thread other(write, static_cast<unsigned char>(1));
  write(2);
  other.join();
}

int ReadPastTheEnd() {
  const auto block = std::make_unique<int[]>(4);
  volatile size_t past = 4;
  return block[past];
}

int Overflow() {
  volatile int largest = std::numeric_limits<int>::max();
  return largest + 1;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string_view defect = argc > 1 ? argv[1] : "";
  if (defect == "race") RaceOnASlot();
  if (defect == "heap") return ReadPastTheEnd() == 0 ? 0 : 1;
  if (defect == "overflow") return Overflow() == 0 ? 0 : 1;
  return 0;
}
