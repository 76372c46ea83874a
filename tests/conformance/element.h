// One element of any type as a double and back, for data that is exact in every type.
#pragma once

#include "core/plan/types.h"

namespace mycel {

/// Writes `value` (an integer or a small binary fraction) as one element.
void StoreElement(DataType type, double value, void* element);
double LoadElement(DataType type, const void* element);

}  // namespace mycel
