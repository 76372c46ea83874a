// UserReduction: arithmetic that the program brings along, as a plain struct that crosses every layer down to the loop.
#pragma once

#include <cstddef>

namespace mycel {

/// inout[e] = in[e] (op) inout[e] for e in [0, count): MPI's order, `in` comes from the lower ranks. Called for any
/// part of a vector, in the thread that runs the operation.
using UserFunction = void (*)(const void* in, void* inout, size_t count, void* context);

struct UserReduction {
  UserFunction function = nullptr;
  void* context = nullptr;
  size_t element_bytes = 0;
};

}  // namespace mycel
