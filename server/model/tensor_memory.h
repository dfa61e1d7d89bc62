// Tensors of requests: where they came in, or on the heap. Pinned memory would make whoever frees
// it wait for all models.
#pragma once

#include "model.h"

namespace tenon::server {

/// Of the shape that a client says. Throws Error for negative extents, and for bytes that do not
/// fit 63 bits, whether or not others are 0.
size_t tensor_bytes(const Shape& shape, DataType type);

/// Aligned to 64 bytes and not filled; never null. What is large is asked for in huge pages, as a
/// page fault for each 4 KiB takes longer than to write them. Throws std::bad_alloc.
std::shared_ptr<std::byte> heap_memory(size_t bytes);

/// Zeros.
Tensor heap_tensor(Shape shape, DataType type);
/// For elements that are all written afterwards.
Tensor unfilled_tensor(Shape shape, DataType type);
/// The elements at `data`, which `owner` keeps. @pre they are aligned.
Tensor tensor_over(Shape shape, DataType type, void* data, std::shared_ptr<const void> owner);

/// The same elements: several threads may read them, each by a view of its own. Throws an Error.
Tensor shared_view(Tensor& tensor);
/// A copy, in memory of its own. Throws an Error.
Tensor heap_copy(Tensor& tensor);

}  // namespace tenon::server
