// Fibers: stacks that one thread switches between by hand. The deterministic simulation runs every rank on one.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>

namespace mycel::sim {

/// A function with its own stack. Resume runs it until it calls Fiber::Yield or returns. One thread only.
class Fiber {
 public:
  explicit Fiber(std::function<void()> body);
  ~Fiber();
  Fiber(const Fiber&) = delete;
  Fiber& operator=(const Fiber&) = delete;

  bool done() const { return done_; }
  /// Called from outside any fiber.
  void Resume();
  /// Called from inside a fiber: back to whoever resumed it. Outside a fiber it does nothing.
  static void Yield();

 private:
  struct Context;
  static void Main(Fiber* fiber);

  std::function<void()> body_;
  std::unique_ptr<std::byte[]> stack_;
  std::unique_ptr<Context> context_;
  bool started_ = false;
  bool done_ = false;
};

}  // namespace mycel::sim
