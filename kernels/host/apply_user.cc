// A user's function in place of our loops. It combines two buffers at a time, so the result grows from the last input
// towards the first: inputs[i] (op) (inputs[i + 1] (op) ...), which keeps the ranks' order for operations that do not
// commute.
#include <cstring>
#include <vector>

#include "core/base/check.h"
#include "kernels/host/apply_tables.h"

namespace mycel {

void ApplyUser(const void* const* inputs, int input_count, void* const* outputs, int output_count, size_t count,
               const ApplyOptions& options) {
  MYCEL_CHECK(options.user != nullptr && options.user->function != nullptr);
  const UserReduction& user = *options.user;
  const size_t bytes = count * user.element_bytes;
  if (input_count == 1) return CopyBytes(inputs[0], outputs, output_count, bytes, options.stream_outputs);
  // Beside the buffers: an output may be an input that is still to be read.
  thread_local std::vector<std::byte> result;
  if (result.size() < bytes) result.resize(bytes);
  std::memcpy(result.data(), inputs[input_count - 1], bytes);
  for (int i = input_count - 2; i >= 0; --i) user.function(inputs[i], result.data(), count, user.context);
  CopyBytes(result.data(), outputs, output_count, bytes, options.stream_outputs);
}

}  // namespace mycel
