// Proof: how the two ends of a connection show each other that they hold the unique id's secret without sending it.
// Each picks a nonce; each answers both nonces with a keyed hash that names its side, so that neither an old answer nor
// the other side's is one.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace mycel {

/// Random, one per unique id.
using Secret = std::array<unsigned char, 16>;

/// SipHash-2-4 with 64 bits of output. Source: Aumasson, Bernstein, "SipHash: a fast short-input PRF", 2012.
uint64_t SipHash(const Secret& key, std::string_view message);

enum class ProofSide : uint8_t { kRendezvous = 'r', kGuest = 'g' };

/// What `side` answers to the two nonces.
uint64_t ProofOf(const Secret& secret, ProofSide side, uint64_t guest_nonce, uint64_t rendezvous_nonce);

/// From the kernel's random numbers.
Secret RandomSecret();
uint64_t RandomNonce();

}  // namespace mycel
