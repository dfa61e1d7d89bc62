#include "optimize/match.h"

#include <algorithm>
#include <cmath>

#include "base/half.h"
#include "ops/elementwise.h"

namespace tenon {
namespace {

bool is_number(DataType type) {
  return type == DataType::kFLOAT || type == DataType::kHALF || type == DataType::kBF16;
}

template <class T> bool store(Tensor& to, const std::vector<double>& from) {
  T* data = to.mutable_data<T>();
  for (size_t i = 0; i < from.size(); ++i) {
    data[i] = static_cast<T>(static_cast<float>(from[i]));
    if (std::isfinite(from[i]) && !std::isfinite(static_cast<float>(data[i]))) return false;
  }
  return true;
}

}  // namespace

bool is_plain(const Node& node) {
  if (node.precision) return false;
  return std::none_of(node.output_types.begin(), node.output_types.end(),
                      [](const auto& type) { return type.has_value(); });
}

bool is_on_host(const Node& node) {
  return std::any_of(node.outputs.begin(), node.outputs.end(),
                     [](const Value* out) { return out->content.has_value(); });
}

bool is_float_only(const Node& node) {
  if (node.outputs.empty()) return false;  // an assertion
  const DataType type = node.outputs[0]->type;
  const auto differs = [&](const Value* v) { return v != nullptr && v->type != type; };
  return is_number(type) && std::none_of(node.inputs.begin(), node.inputs.end(), differs)
         && std::none_of(node.outputs.begin(), node.outputs.end(), differs);
}

std::optional<Shape> constant_shape(const Dims& dims) {
  Shape shape;
  for (Dim d : dims) {
    if (!d->is_integer_constant()) return std::nullopt;
    shape.push_back(d->value.integer);
  }
  return shape;
}

const Tensor* float_constant(const Value* value) {
  if (value == nullptr || !value->constant || !is_number(value->type)) return nullptr;
  return &*value->constant;
}

std::optional<std::vector<int64_t>> host_integers(const Value* value) {
  if (value == nullptr || !value->content) return std::nullopt;
  std::vector<int64_t> list;
  for (Dim d : *value->content) {
    if (!d->is_integer_constant()) return std::nullopt;
    list.push_back(d->value.integer);
  }
  return list;
}

std::optional<double> scalar(const Value* value) {
  const Tensor* constant = float_constant(value);
  if (constant == nullptr || constant->count() != 1) return std::nullopt;
  return constant->numbers()[0];
}

std::optional<std::vector<double>> along_axis(const Value* value, int axis, int64_t count) {
  const Tensor* constant = float_constant(value);
  if (constant == nullptr) return std::nullopt;
  if (constant->count() == 1)
    return std::vector<double>(static_cast<size_t>(count), constant->numbers()[0]);
  const Shape& shape = constant->shape();
  if (constant->count() != count || axis >= shape.rank() || shape[axis] != count)
    return std::nullopt;
  return constant->numbers();
}

std::optional<Tensor> to_tensor(DataType type, const Shape& shape,
                                const std::vector<double>& numbers) {
  Tensor tensor(type, shape);
  const bool fits = type == DataType::kFLOAT  ? store<float>(tensor, numbers)
                    : type == DataType::kHALF ? store<Half>(tensor, numbers)
                    : type == DataType::kBF16 ? store<BFloat16>(tensor, numbers)
                                              : false;
  if (!fits) return std::nullopt;
  return tensor;
}

Value* addend_of(const Node& sum, const Value& product) {
  const auto* op = sum.as<ElementWise>();
  if (op == nullptr || op->operation != nvinfer1::ElementWiseOperation::kSUM || !is_plain(sum)
      || sum.outputs[0]->dims != product.dims)
    return nullptr;
  return sum.inputs[sum.inputs[0] == &product ? 1 : 0];
}

bool is_row_of(const Tensor& constant, const Value& product) {
  const Shape& shape = constant.shape();
  if (product.dims.empty() || shape.rank() == 0) return false;
  const Dim columns = product.dims.back();
  return columns->is_integer_constant() && shape.back() == columns->value.integer
         && shape.back() == constant.count();
}

std::optional<int64_t> difference(Dim a, Dim b) {
  // The pool keeps sums with the constant last, and joins constants.
  const auto split = [](Dim d) -> std::pair<Dim, int64_t> {
    if (d->is_integer_constant()) return {nullptr, d->value.integer};
    if (d->op == ExprOp::kAdd && d->b->is_integer_constant()) return {d->a, d->b->value.integer};
    return {d, 0};
  };
  const auto [base_a, offset_a] = split(a);
  const auto [base_b, offset_b] = split(b);
  int64_t result = 0;
  if (base_a != base_b || __builtin_sub_overflow(offset_a, offset_b, &result)) return std::nullopt;
  return result;
}

}  // namespace tenon
