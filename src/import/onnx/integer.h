// Products of quantised integers, as several operators are made of them.
#pragma once

#include <vector>

#include "import/node.h"

namespace tenon {

/// A matrix product with NumPy's rules for vectors and leading axes. Inputs as QuantizedInputs
/// says, null where left out, at least up to the weights' zero points.
Value& integer_product(NodeContext& n, DataType to, std::vector<Value*> inputs);

/// x * w / y in float32; without y, x * w.
Value& product_of_scales(NodeContext& n, Value& x, Value& w, Value* y);

}  // namespace tenon
