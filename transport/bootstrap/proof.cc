#include "transport/bootstrap/proof.h"

#include <sys/random.h>
#include <sys/types.h>

#include <bit>
#include <string>

#include "core/base/check.h"
#include "transport/bootstrap/frames.h"

namespace mycel {
namespace {

uint64_t LittleEndian(const unsigned char* bytes, size_t count) {
  uint64_t value = 0;
  for (size_t i = 0; i < count; ++i) value |= static_cast<uint64_t>(bytes[i]) << (8 * i);
  return value;
}

struct SipState {
  uint64_t v0;
  uint64_t v1;
  uint64_t v2;
  uint64_t v3;

  void Rounds(int count) {
    for (int i = 0; i < count; ++i) {
      v0 += v1;
      v1 = std::rotl(v1, 13) ^ v0;
      v0 = std::rotl(v0, 32);
      v2 += v3;
      v3 = std::rotl(v3, 16) ^ v2;
      v0 += v3;
      v3 = std::rotl(v3, 21) ^ v0;
      v2 += v1;
      v1 = std::rotl(v1, 17) ^ v2;
      v2 = std::rotl(v2, 32);
    }
  }
  void Absorb(uint64_t word) {
    v3 ^= word;
    Rounds(2);
    v0 ^= word;
  }
};

template <typename T>
T Random() {
  T value{};
  MYCEL_CHECK_EQ(getrandom(&value, sizeof(value), 0), static_cast<ssize_t>(sizeof(value)));
  return value;
}

}  // namespace

uint64_t SipHash(const Secret& key, std::string_view message) {
  const uint64_t k0 = LittleEndian(key.data(), 8);
  const uint64_t k1 = LittleEndian(key.data() + 8, 8);
  SipState state{k0 ^ 0x736f6d6570736575U, k1 ^ 0x646f72616e646f6dU, k0 ^ 0x6c7967656e657261U,
                 k1 ^ 0x7465646279746573U};
  const auto* bytes = reinterpret_cast<const unsigned char*>(message.data());
  size_t at = 0;
  for (; at + 8 <= message.size(); at += 8) state.Absorb(LittleEndian(bytes + at, 8));
  state.Absorb(LittleEndian(bytes + at, message.size() - at) | static_cast<uint64_t>(message.size()) << 56);
  state.v2 ^= 0xffU;
  state.Rounds(4);
  return state.v0 ^ state.v1 ^ state.v2 ^ state.v3;
}

uint64_t ProofOf(const Secret& secret, ProofSide side, uint64_t guest_nonce, uint64_t rendezvous_nonce) {
  std::string message(1, static_cast<char>(side));
  PutInteger(&message, guest_nonce, 8);
  PutInteger(&message, rendezvous_nonce, 8);
  return SipHash(secret, message);
}

Secret RandomSecret() { return Random<Secret>(); }

uint64_t RandomNonce() { return Random<uint64_t>(); }

}  // namespace mycel
