// Checks and symbolic arithmetic that the shape rules of several layer kinds share.
#pragma once

#include <functional>
#include <initializer_list>
#include <optional>

#include "base/error.h"
#include "network/op.h"

namespace tenon {

/// Throws unless the first `required` inputs are there and there are at most `max_inputs`.
void require_inputs(const Inference& c, int required, int max_inputs);
/// Throws unless input i is float32, float16 or bfloat16.
void require_float(const Inference& c, int i, const char* what);
/// Throws unless input i is int32 or int64.
void require_index(const Inference& c, int i, const char* what);
/// Throws unless input i has the type of input 0.
void require_type_of_data(const Inference& c, int i, const char* what);
/// Throws unless input i, if its extents are known, has `count` elements.
void require_count(const Inference& c, int i, const char* what, int64_t count);

/// Whether all extents are known to be 1.
bool has_one_element(const Dims& dims);

/// The extent that two extents broadcast to; throws when both are known and do not fit.
Dim broadcast(ExprPool& pool, Dim a, Dim b);
/// The same for all axes; ranks must be equal.
Dims broadcast(ExprPool& pool, const Dims& a, const Dims& b);

/// "2x3xs0": dimensions for messages.
std::string text_of(const Dims& dims);

/// The shape of a tensor whose elements may travel as expressions: small, of known extents, of type
/// int32, int64, bool or float32. Nothing for others.
std::optional<Shape> content_shape(DataType type, const Dims& dims);

/// Sets output 0, and its content to what `elements` returns for its shape if `inputs` all have
/// content and the output may have some. Arithmetic that fails (an overflow) leaves it unknown.
void set_output_and_content(Inference& c, DataType type, Dims dims,
                            std::initializer_list<int> inputs,
                            const std::function<Content(const Shape&)>& elements);

/// What `element` makes of the elements of two inputs that broadcast to `out`.
Content broadcast_content(const Inference& c, const Shape& out,
                          const std::function<Dim(Dim, Dim)>& element);

/// The content of input i as an int64 tensor when all its elements are integer constants.
std::optional<Tensor> constant_integers(const Inference& c, int i);

/// The int64 tensor first, first+1, …. A data-moving op run on it tells what it moves where.
Tensor numbered(const Shape& shape, int64_t first = 0);

}  // namespace tenon
