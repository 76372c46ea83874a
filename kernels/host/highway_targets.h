// Which instruction sets the host arithmetic is compiled for. Included before any Highway header.
//
// x86: SSSE3 (the baseline: every 64-bit CPU since 2006), AVX2 with F16C, AVX-512. SSE4 would be as fast as SSSE3 here.
// Highway's scalar fallback is left out: it has one lane, while the kernels split and join vectors of 128 bits and more
// (and GCC 12 miscompiles Highway's emulated 128-bit vectors, GCC bug 106322).
// Arm: NEON; SVE's vectors have no size and cannot be members of the accumulators.
//
// Under a sanitizer (MYCEL_FEW_TARGETS) AVX-512 is left out: its code comes from the same lines, and takes a third of
// the longest compilations.
#pragma once

#if defined(__x86_64__)
#define HWY_BASELINE_TARGETS HWY_SSSE3
#if defined(MYCEL_FEW_TARGETS)
#define HWY_DISABLED_TARGETS (HWY_SSE4 | HWY_AVX3 | HWY_AVX3_DL)
#else
#define HWY_DISABLED_TARGETS HWY_SSE4
#endif
#elif defined(__aarch64__)
#define HWY_DISABLED_TARGETS (HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128)
#endif
