// What steps and bandwidth are worth: closed-form times of allgather by breadth-first steps and along pipelined trees,
// and the sizes at which one overtakes the other. First filters; a simulator knows better.
#pragma once

#include <cstdint>

#include "core/base/rational.h"

namespace mycel::design {

/// A machine: latency of a step in us, and GB/s of a rank over all its links.
struct Machine {
  double alpha_us = 1;
  double bandwidth_GBps = 100;
};

/// steps * alpha + bandwidth * bytes / B: allgather of `bytes` (of all ranks together), a barrier after each step.
/// `bandwidth`: time in units of bytes / B, (N - 1) / N at best.
double StepsUs(const Machine& machine, int32_t steps, const Rational& bandwidth, double bytes);

/// The size from which `later` (more steps, less time per byte) beats `early`.
double CrossoverBytes(const Machine& machine, int32_t early_steps, const Rational& early, int32_t later_steps,
                      const Rational& later);

/// The best time along trees of `depth` hops that carry `bandwidth` in as many slices as suit:
/// (sqrt(bandwidth * bytes / B) + sqrt((depth - 1) alpha))^2, a lower bound where that is less than one slice.
double PipelinedTreesUs(const Machine& machine, int32_t depth, const Rational& bandwidth, double bytes);
/// The size from which such trees of `depth` hops beat steps of more time per byte but as much latency at the start:
/// bytes / B = 4 trees (depth - 1) alpha / (steps - trees)^2.
double TreesWinFromBytes(const Machine& machine, const Rational& steps, int32_t depth, const Rational& trees);

}  // namespace mycel::design
