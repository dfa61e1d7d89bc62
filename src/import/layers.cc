#include "import/layers.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "base/half.h"
#include "network/reference_run.h"
#include "network/splice.h"
#include "ops/activation.h"
#include "ops/cast.h"
#include "ops/constant.h"
#include "ops/elementwise.h"
#include "ops/float64_arithmetic.h"
#include "ops/reduce.h"
#include "ops/select.h"
#include "ops/shuffle.h"
#include "ops/softmax.h"
#include "ops/unary.h"

namespace tenon {
namespace {

using Family = PointwiseStep::Family;

template <class T> void fill(Tensor& t, double value) {
  if constexpr (std::is_integral_v<T>)
    require(value >= -0x1p63 && value < 0x1p63 && std::in_range<T>(static_cast<int64_t>(value)),
            "expected a number that {} can hold, found {}", name_of(t.type()), value);
  std::fill_n(t.mutable_data<T>(), t.count(), static_cast<T>(value));
}

// The type that both operands become: floats beat integers, more bits beat fewer.
DataType common_type(DataType a, DataType b) {
  if (is_float(a) != is_float(b)) return is_float(a) ? a : b;
  return bits_of(a) >= bits_of(b) ? a : b;
}

}  // namespace

Tensor filled_tensor(DataType type, const Shape& shape, double value) {
  Tensor t(type, shape);
  switch (type) {
    case DataType::kFLOAT:
      fill<float>(t, value);
      break;
    case DataType::kHALF:
      fill<Half>(t, value);
      break;
    case DataType::kBF16:
      std::fill_n(t.mutable_data<BFloat16>(), t.count(), BFloat16(static_cast<float>(value)));
      break;
    case DataType::kINT64:
      fill<int64_t>(t, value);
      break;
    case DataType::kINT32:
      fill<int32_t>(t, value);
      break;
    case DataType::kINT8:
      fill<int8_t>(t, value);
      break;
    case DataType::kUINT8:
      fill<uint8_t>(t, value);
      break;
    case DataType::kBOOL:
      std::fill_n(t.mutable_data<bool>(), t.count(), value != 0);
      break;
    default:
      fail(ErrorCode::kUNSUPPORTED_STATE, "constants of type {} are not supported here yet",
           name_of(type));
  }
  return t;
}

Node& Layers::add_node(std::unique_ptr<Op> op, std::vector<Value*> inputs) {
  bool runtime = inputs.empty();
  for (const Value* in : inputs) runtime |= in != nullptr && is_runtime(*in);
  const std::string kind(op->name());
  const int64_t count = ++added_of_kind_[kind];
  std::string name = count == 1 ? fmt::format("{} [{}]", node_name_, kind)
                                : fmt::format("{} [{} {}]", node_name_, kind, count);
  Node& node = network_.add_node(std::move(op), std::move(inputs), std::move(name));
  added_.push_back(&node);
  network_.infer(node);
  note_float64(node);
  if (runtime)
    for (const Value* out : node.outputs) state_.runtime.insert(out);
  return node;
}

Value& Layers::add(std::unique_ptr<Op> op, std::vector<Value*> inputs) {
  return *add_node(std::move(op), std::move(inputs)).outputs.front();
}

std::unordered_map<const Value*, Value*> Layers::splice(const Network& body,
                                                        const std::vector<Value*>& inputs) {
  auto here = tenon::splice(body, inputs, network_);
  for (const auto& [inside, value] : here)
    if (value->producer != nullptr) state_.runtime.insert(value);
  return here;
}

Value& Layers::constant(Value& weight) {
  Value*& known = state_.constant_layers[&weight];
  if (known != nullptr) return *known;
  auto op = std::make_unique<Constant>();
  op->dimensions = weight.constant->shape();
  // Named after the tensor: it belongs to no node alone.
  Node& node = network_.add_node(std::move(op), {&weight}, weight.name);
  network_.infer(node);
  node.outputs[0]->constant = *weight.constant;
  node.outputs[0]->name = weight.name;
  known = node.outputs[0];
  if (is_float64(weight)) set_model_type(*known, model_type(weight));
  return *known;
}

Value& Layers::constant(Tensor tensor, const std::string& name) {
  const std::string chosen =
      name.empty() ? fmt::format("{} [Constant {}]", node_name_, network_.values().size()) : name;
  return constant(network_.add_weight(std::move(tensor), chosen));
}

Value& Layers::integers(const std::vector<int64_t>& values) {
  return constant(
      Tensor::of<int64_t>(DataType::kINT64, Shape{static_cast<int64_t>(values.size())}, values));
}

Value& Layers::scalar(const Value& like, double value) {
  if (is_float64(like)) {
    const auto bits = std::bit_cast<int64_t>(value);
    Value& made = constant(
        Tensor::of<int64_t>(DataType::kINT64, Shape::filled(rank(like), 1), std::span(&bits, 1)));
    set_model_type(made, model_type(like));
    return made;
  }
  return constant(filled_tensor(like.type, Shape::filled(rank(like), 1), value));
}

void Layers::charge(size_t bytes) {
  require(bytes <= *state_.constant_budget,
          "the constants that this model computes take {} bytes more than are allowed",
          bytes - *state_.constant_budget);
  *state_.constant_budget -= bytes;
}

const Tensor* Layers::known_tensor(Value& value) {
  if (value.constant) return &*value.constant;
  if (value.is_input || state_.runtime.contains(&value)) return nullptr;
  return folded_constant(value, *state_.constant_budget);
}

Value& Layers::binary(nvinfer1::ElementWiseOperation operation, Value& a, Value& b) {
  const int max_rank = std::max(rank(a), rank(b));
  if (is_float64(a) || is_float64(b))
    return float64_pointwise(
        Family::kElementWise, static_cast<int32_t>(operation),
        {&with_rank(as_float64(a), max_rank), &with_rank(as_float64(b), max_rank)});
  const DataType type = common_type(a.type, b.type);
  auto op = std::make_unique<ElementWise>();
  op->operation = operation;
  Value& left = with_rank(cast(a, type), max_rank);
  Value& right = with_rank(cast(b, type), max_rank);
  return add(std::move(op), {&left, &right});
}

Value& Layers::binary(nvinfer1::ElementWiseOperation operation, Value& a, double b) {
  return binary(operation, a, scalar(a, b));
}

Value& Layers::unary(nvinfer1::UnaryOperation operation, Value& x) {
  if (is_float64(x))
    return float64_pointwise(Family::kUnary, static_cast<int32_t>(operation), {&x});
  auto op = std::make_unique<Unary>();
  op->operation = operation;
  return add(std::move(op), {&x});
}

Value& Layers::activation(nvinfer1::ActivationType type, Value& x, float alpha, float beta) {
  if (is_float64(x))
    return float64_pointwise(Family::kActivation, static_cast<int32_t>(type), {&x}, alpha, beta);
  auto op = std::make_unique<Activation>();
  op->type = type;
  op->alpha = alpha;
  op->beta = beta;
  return add(std::move(op), {&x});
}

Value& Layers::reduce(nvinfer1::ReduceOperation operation, Value& x, uint32_t axes, bool keep) {
  if (axes == 0) return x;
  const auto fill = [&](Reduce& op) {
    op.operation = operation;
    op.axes = axes;
    op.keep_dimensions = keep;
  };
  if (is_float64(x)) {
    auto op = std::make_unique<Float64Reduce>();
    fill(op->attributes);
    return add(std::move(op), {&x});
  }
  auto op = std::make_unique<Reduce>();
  fill(*op);
  return add(std::move(op), {&x});
}

Value& Layers::cast(Value& x, DataType type) {
  if (is_float64(x)) return from_float64(x, type);
  if (x.type == type) return x;
  auto op = std::make_unique<Cast>();
  op->to = type;
  return add(std::move(op), {&x});
}

Value& Layers::cast_like(Value& x, const Value& like) {
  return is_float64(like) ? as_float64(x) : cast(x, like.type);
}

Value& Layers::widened(Value& x) {
  return is_float(x.type) ? cast(x, DataType::kFLOAT) : x;
}

Value& Layers::select(Value& condition, Value& then, Value& otherwise) {
  const DataType type = common_type(then.type, otherwise.type);
  const int max_rank = std::max({rank(condition), rank(then), rank(otherwise)});
  const bool in_float64 = is_float64(then) || is_float64(otherwise);
  const auto operand = [&](Value& x) -> Value& {
    return with_rank(in_float64 ? as_float64(x) : cast(x, type), max_rank);
  };
  Value &a = operand(then), &b = operand(otherwise);
  return add(std::make_unique<Select>(), {&with_rank(condition, max_rank), &a, &b});
}

Value& Layers::transpose(Value& x, const std::vector<int32_t>& permutation) {
  if (std::is_sorted(permutation.begin(), permutation.end())) return x;
  if (bits_of(x.type) < 8) {  // elements that share a byte move in a wider type that has them all
    const DataType wide = is_float(x.type) ? DataType::kHALF : DataType::kINT8;
    return cast(transpose(cast(x, wide), permutation), x.type);
  }
  auto op = std::make_unique<Shuffle>();
  op->first_transpose = permutation;
  return add(std::move(op), {&x});
}

Value& Layers::softmax(Value& x, int axis) {
  if (is_float64(x)) {
    Value& max = reduce(nvinfer1::ReduceOperation::kMAX, x, 1u << axis, true);
    Value& powers =
        unary(nvinfer1::UnaryOperation::kEXP, binary(nvinfer1::ElementWiseOperation::kSUB, x, max));
    Value& total = reduce(nvinfer1::ReduceOperation::kSUM, powers, 1u << axis, true);
    return binary(nvinfer1::ElementWiseOperation::kDIV, powers, total);
  }
  auto op = std::make_unique<Softmax>();
  op->axes = 1u << axis;
  return add(std::move(op), {&x});
}

}  // namespace tenon
