// What passes ask about layers and tensors.
#pragma once

#include <optional>
#include <vector>

#include "network/network.h"

namespace tenon {

/// Who uses what, in a network that does not change meanwhile.
class Uses {
 public:
  explicit Uses(const Network& network) : users_(network.users()) {}
  const std::vector<Node*>& of(const Value& value) const {
    return users_[static_cast<size_t>(value.id)];
  }
  /// The one layer that uses it; null when there are several or none, or it is a network output.
  Node* only(const Value& value) const {
    return of(value).size() == 1 && !value.is_output ? of(value).front() : nullptr;
  }

 private:
  std::vector<std::vector<Node*>> users_;
};

/// Whether nothing is forced on the layer that a rewrite could lose: precision or output types.
bool is_plain(const Node& node);
/// Whether elements of an output are known on the host: the planner evaluates such layers there.
bool is_on_host(const Node& node);
/// Whether all outputs and all present inputs have one type: float32, float16 or bfloat16.
bool is_float_only(const Node& node);

/// The extents when all are known.
std::optional<Shape> constant_shape(const Dims& dims);
/// The constant that a layer's input is, if it is there and its numbers can be read; else null.
const Tensor* float_constant(const Value* value);
/// The elements of a small integer tensor that are known on the host as constants.
std::optional<std::vector<int64_t>> host_integers(const Value* value);
/// The number of a constant with one element.
std::optional<double> scalar(const Value* value);
/// `count` numbers along `axis` of a constant whose other extents are 1 (all equal for a scalar).
std::optional<std::vector<double>> along_axis(const Value* value, int axis, int64_t count);
/// A tensor of a float type; nothing when a number does not fit it.
std::optional<Tensor> to_tensor(DataType type, const Shape& shape,
                                const std::vector<double>& numbers);
/// What `sum` adds to `product`, whose extents it keeps; null where it is no plain sum of it.
Value* addend_of(const Node& sum, const Value& product);
/// Whether a constant is one row, which is the same for all rows of `product`.
bool is_row_of(const Tensor& constant, const Value& product);
/// a - b when it is a known number.
std::optional<int64_t> difference(Dim a, Dim b);

}  // namespace tenon
