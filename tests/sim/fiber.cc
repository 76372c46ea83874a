// The switch is a dozen instructions on x86-64 (swapcontext makes a system call each time, fifteen times slower) and
// ucontext elsewhere.
#include "tests/sim/fiber.h"

#include <cstdint>

#include "core/base/check.h"

#if defined(__SANITIZE_ADDRESS__)
#define MYCEL_ASAN_FIBERS 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define MYCEL_ASAN_FIBERS 1
#endif
#endif
#if defined(MYCEL_ASAN_FIBERS)
#include <sanitizer/common_interface_defs.h>
#endif

#if !defined(__x86_64__)
#include <ucontext.h>
#endif

namespace mycel::sim {
namespace {

constexpr size_t kStackBytes = 256 * 1024;

thread_local Fiber* t_current = nullptr;

}  // namespace

#if defined(__x86_64__)

// Saves the callee-saved registers on the current stack, stores its pointer to *save, and goes on at `load`.
extern "C" void MycelFiberSwitch(void** save, void* load);
asm(R"(
.text
.globl MycelFiberSwitch
.hidden MycelFiberSwitch
.type MycelFiberSwitch, @function
MycelFiberSwitch:
  pushq %rbp
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  movq %rsp, (%rdi)
  movq %rsi, %rsp
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  ret
.size MycelFiberSwitch, .-MycelFiberSwitch
)");

struct Fiber::Context {
  void* inside = nullptr;   // stack pointer of the suspended fiber
  void* outside = nullptr;  // of whoever resumed it
  void* fake_stack = nullptr;
  const void* outer_stack = nullptr;
  size_t outer_bytes = 0;
};

namespace {

using Entry = void (*)(Fiber*);
Entry g_entry = nullptr;

void Trampoline() {
  g_entry(t_current);
  MYCEL_CHECK(false);  // Main never returns
}

}  // namespace

#else

struct Fiber::Context {
  ucontext_t inside;
  ucontext_t outside;
  void* fake_stack = nullptr;
  const void* outer_stack = nullptr;
  size_t outer_bytes = 0;
};

namespace {

using Entry = void (*)(Fiber*);
Entry g_entry = nullptr;

void Trampoline() { g_entry(t_current); }

}  // namespace

#endif

Fiber::Fiber(std::function<void()> body)
    : body_(std::move(body)), stack_(new std::byte[kStackBytes]), context_(new Context) {
  g_entry = &Fiber::Main;
#if defined(__x86_64__)
  // The first switch pops six registers and returns into Trampoline, with the stack aligned as after a call.
  const uintptr_t top = (reinterpret_cast<uintptr_t>(stack_.get()) + kStackBytes) & ~uintptr_t{15};
  auto* frame = reinterpret_cast<void**>(top) - 8;
  for (int i = 0; i < 6; ++i) frame[i] = nullptr;
  frame[6] = reinterpret_cast<void*>(&Trampoline);
  frame[7] = nullptr;
  context_->inside = frame;
#else
  getcontext(&context_->inside);
  context_->inside.uc_stack.ss_sp = stack_.get();
  context_->inside.uc_stack.ss_size = kStackBytes;
  context_->inside.uc_link = nullptr;
  makecontext(&context_->inside, &Trampoline, 0);
#endif
}

Fiber::~Fiber() { MYCEL_CHECK(done_ || !started_); }

void Fiber::Main(Fiber* fiber) {
#if defined(MYCEL_ASAN_FIBERS)
  __sanitizer_finish_switch_fiber(nullptr, &fiber->context_->outer_stack, &fiber->context_->outer_bytes);
#endif
  fiber->body_();
  fiber->done_ = true;
  Yield();
}

void Fiber::Resume() {
  MYCEL_CHECK(t_current == nullptr);
  MYCEL_CHECK(!done_);
  started_ = true;
  t_current = this;
#if defined(MYCEL_ASAN_FIBERS)
  void* fake = nullptr;
  __sanitizer_start_switch_fiber(&fake, stack_.get(), kStackBytes);
#endif
#if defined(__x86_64__)
  MycelFiberSwitch(&context_->outside, context_->inside);
#else
  swapcontext(&context_->outside, &context_->inside);
#endif
#if defined(MYCEL_ASAN_FIBERS)
  __sanitizer_finish_switch_fiber(fake, nullptr, nullptr);
#endif
  t_current = nullptr;
}

void Fiber::Yield() {
  Fiber* self = t_current;
  if (self == nullptr) return;
  Context& context = *self->context_;
#if defined(MYCEL_ASAN_FIBERS)
  // A fiber that is done never comes back: its fake stack is freed.
  __sanitizer_start_switch_fiber(self->done_ ? nullptr : &context.fake_stack, context.outer_stack, context.outer_bytes);
#endif
#if defined(__x86_64__)
  MycelFiberSwitch(&context.inside, context.outside);
#else
  swapcontext(&context.inside, &context.outside);
#endif
#if defined(MYCEL_ASAN_FIBERS)
  __sanitizer_finish_switch_fiber(context.fake_stack, &context.outer_stack, &context.outer_bytes);
#endif
}

}  // namespace mycel::sim
