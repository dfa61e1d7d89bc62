// Triton's classification extension: the best classes of an output in the place of its elements.
#pragma once

#include <string_view>
#include <vector>

#include "model.h"

namespace tenon::server {

/// The output becomes BYTES: for each item of axis 0, or for all elements without a batch, the
/// `count` largest elements, or all if there are fewer, as "value:index" or "value:index:label". Of
/// equal ones the lower index is first, and NaNs are last. Throws Error for types without an order.
/// @param output becomes UINT8: its strings, each behind its length in four bytes.
/// @param labels by index; an empty or missing one is left out.
/// @return the shape of the strings.
Shape classify(Tensor& output, size_t count, bool has_batch,
               const std::vector<std::string>& labels);

/// The strings, which the tensor owns.
std::vector<std::string_view> bytes_elements(Tensor& tensor);

}  // namespace tenon::server
