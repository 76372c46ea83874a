#include "scheduler/design/step_time.h"

#include <cmath>

#include "core/base/check.h"

namespace mycel::design {
namespace {

/// us that B needs for `bytes`.
double BytesUs(const Machine& machine, double bytes) { return bytes / (machine.bandwidth_GBps * 1e3); }

}  // namespace

double StepsUs(const Machine& machine, int32_t steps, const Rational& bandwidth, double bytes) {
  return steps * machine.alpha_us + bandwidth.ToDouble() * BytesUs(machine, bytes);
}

double CrossoverBytes(const Machine& machine, int32_t early_steps, const Rational& early, int32_t later_steps,
                      const Rational& later) {
  MYCEL_CHECK(early_steps < later_steps && later < early);
  const double us = (later_steps - early_steps) * machine.alpha_us / (early - later).ToDouble();
  return us * machine.bandwidth_GBps * 1e3;
}

double PipelinedTreesUs(const Machine& machine, int32_t depth, const Rational& bandwidth, double bytes) {
  const double root =
      std::sqrt(bandwidth.ToDouble() * BytesUs(machine, bytes)) + std::sqrt((depth - 1) * machine.alpha_us);
  return root * root;
}

double TreesWinFromBytes(const Machine& machine, const Rational& steps, int32_t depth, const Rational& trees) {
  MYCEL_CHECK(trees < steps);
  const double gap = (steps - trees).ToDouble();
  const double us = 4 * trees.ToDouble() * (depth - 1) * machine.alpha_us / (gap * gap);
  return us * machine.bandwidth_GBps * 1e3;
}

}  // namespace mycel::design
