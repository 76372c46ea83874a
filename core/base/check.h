// Programmer errors: a broken invariant stops the process with the place and the values. Always on; MYCEL_DCHECK only
// where NDEBUG is not set (per-slice paths). Never reachable from user input.
#pragma once

#include <sstream>
#include <string>

namespace mycel {

/// Prints the message with file and line and aborts.
[[noreturn]] void CheckFailed(const char* file, int line, const char* expression, const std::string& values);

namespace check_internal {
template <typename A, typename B>
std::string Values(const A& a, const B& b) {
  std::ostringstream out;
  out << " (" << a << " vs " << b << ")";
  return out.str();
}
}  // namespace check_internal

}  // namespace mycel

#define MYCEL_CHECK(cond)                                             \
  do {                                                                \
    if (!(cond)) [[unlikely]]                                         \
      ::mycel::CheckFailed(__FILE__, __LINE__, #cond, std::string()); \
  } while (false)

#define MYCEL_CHECK_OP_(a, op, b)                                                \
  do {                                                                           \
    const auto& mycel_a_ = (a);                                                  \
    const auto& mycel_b_ = (b);                                                  \
    if (!(mycel_a_ op mycel_b_)) [[unlikely]]                                    \
      ::mycel::CheckFailed(__FILE__, __LINE__, #a " " #op " " #b,                \
                           ::mycel::check_internal::Values(mycel_a_, mycel_b_)); \
  } while (false)

#define MYCEL_CHECK_EQ(a, b) MYCEL_CHECK_OP_(a, ==, b)
#define MYCEL_CHECK_NE(a, b) MYCEL_CHECK_OP_(a, !=, b)
#define MYCEL_CHECK_LT(a, b) MYCEL_CHECK_OP_(a, <, b)
#define MYCEL_CHECK_LE(a, b) MYCEL_CHECK_OP_(a, <=, b)
#define MYCEL_CHECK_GT(a, b) MYCEL_CHECK_OP_(a, >, b)
#define MYCEL_CHECK_GE(a, b) MYCEL_CHECK_OP_(a, >=, b)

#ifdef NDEBUG
#define MYCEL_DCHECK(cond) \
  do {                     \
  } while (false && (cond))
#else
#define MYCEL_DCHECK(cond) MYCEL_CHECK(cond)
#endif
