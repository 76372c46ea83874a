// What the fake driver runs when a kernel is launched.
#pragma once

#include <cstddef>
#include <string>

namespace mycel::fake {

/// One block of a kernel, on the host.
using FakeKernel = void (*)(const void* arguments, unsigned block, unsigned blocks);

struct FakeKernelFacts {
  FakeKernel run = nullptr;
  size_t argument_bytes = 0;  // of the only parameter, which is passed by value
};

/// Null `run` when there is no kernel of this name.
FakeKernelFacts FindFakeKernel(const std::string& name);

}  // namespace mycel::fake
