#include "import/float64.h"

#include <onnx_schema.pb.h>

#include <algorithm>
#include <string_view>

#include "base/low_precision.h"
#include "import/stand_ins.h"
#include "ops/float64_arithmetic.h"
#include "ops/scatter.h"

namespace tenon {
namespace {

using Code = nvonnxparser::ErrorCode;

constexpr int32_t kDouble = onnx::TensorProto::DOUBLE;

// Operators whose rows make layers that compute in float64, or only move elements. Each is in
// testdata/models/float64_*.
constexpr std::string_view kOperators[] = {"Abs",
                                           "Acos",
                                           "Acosh",
                                           "Add",
                                           "ArgMax",
                                           "ArgMin",
                                           "Asin",
                                           "Asinh",
                                           "Atan",
                                           "Atanh",
                                           "Ceil",
                                           "Clip",
                                           "Compress",
                                           "Concat",
                                           "Cos",
                                           "Cosh",
                                           "CumProd",
                                           "CumSum",
                                           "DepthToSpace",
                                           "Div",
                                           "Equal",
                                           "Erf",
                                           "Exp",
                                           "Expand",
                                           "Flatten",
                                           "Floor",
                                           "Gather",
                                           "GatherElements",
                                           "GatherND",
                                           "Greater",
                                           "GreaterOrEqual",
                                           "Identity",
                                           "IsInf",
                                           "IsNaN",
                                           "LeakyRelu",
                                           "Less",
                                           "LessOrEqual",
                                           "Log",
                                           "LogSoftmax",
                                           "Max",
                                           "Mean",
                                           "Min",
                                           "Mod",
                                           "Mul",
                                           "Neg",
                                           "Pad",
                                           "Pow",
                                           "Range",
                                           "Reciprocal",
                                           "ReduceL1",
                                           "ReduceL2",
                                           "ReduceLogSum",
                                           "ReduceLogSumExp",
                                           "ReduceMax",
                                           "ReduceMean",
                                           "ReduceMin",
                                           "ReduceProd",
                                           "ReduceSum",
                                           "ReduceSumSquare",
                                           "Relu",
                                           "Reshape",
                                           "ReverseSequence",
                                           "Round",
                                           "ScatterElements",
                                           "ScatterND",
                                           "Shape",
                                           "Sigmoid",
                                           "Sign",
                                           "Sin",
                                           "Sinh",
                                           "Size",
                                           "Slice",
                                           "Softmax",
                                           "Softplus",
                                           "SpaceToDepth",
                                           "Split",
                                           "Sqrt",
                                           "Squeeze",
                                           "Sub",
                                           "Sum",
                                           "Tan",
                                           "Tanh",
                                           "Tile",
                                           "TopK",
                                           "Transpose",
                                           "Trilu",
                                           "Unsqueeze",
                                           "Where"};

bool computes_in_float64(NodeContext& n) {
  const std::string op = qualified_operator(n.proto().domain(), n.op());
  if (std::find(std::begin(kOperators), std::end(kOperators), op) == std::end(kOperators))
    return false;
  return !op.starts_with("Scatter") || n.text("reduction", "none") == "none";
}

bool is_conversion(NodeContext& n) {
  return n.proto().domain().empty() && (n.op() == "Cast" || n.op() == "CastLike");
}

// Layers whose int64 results are float64 where an input is.
constexpr LayerType kMoving[] = {LayerType::kCONCATENATION,
                                 LayerType::kGATHER,
                                 LayerType::kIDENTITY,
                                 LayerType::kPADDING,
                                 LayerType::kREVERSE_SEQUENCE,
                                 LayerType::kSCATTER,
                                 LayerType::kSELECT,
                                 LayerType::kSHUFFLE,
                                 LayerType::kSLICE,
                                 LayerType::kSQUEEZE,
                                 LayerType::kUNSQUEEZE,
                                 layer_type(PrivateLayer::kFloat64Pointwise),
                                 layer_type(PrivateLayer::kFloat64Reduce),
                                 layer_type(PrivateLayer::kFloat64Cumulative)};

// Layers that read float64 and make something else. Bodies know what they capture.
constexpr LayerType kReading[] = {LayerType::kSHAPE, layer_type(PrivateLayer::kFromFloat64),
                                  layer_type(PrivateLayer::kFloat64Order),
                                  layer_type(PrivateLayer::kLoop),
                                  layer_type(PrivateLayer::kConditional)};

bool is_among(std::span<const LayerType> kinds, const Op& op) {
  const auto* scatter = dynamic_cast<const Scatter*>(&op);
  if (scatter != nullptr && scatter->reduction != ScatterReduction::kNone) return false;
  return std::find(kinds.begin(), kinds.end(), op.kind()) != kinds.end();
}

// Input i, if it is a tensor.
Value* tensor_among(const NodeContext& n, int i) {
  Value* const* tensor = std::get_if<Value*>(&n.inputs()[static_cast<size_t>(i)]);
  return tensor == nullptr ? nullptr : *tensor;
}

// The float32 tensor whose elements a float64 tensor has.
Value* widened_float32(const Value& value) {
  const Node* node = value.producer;
  if (node == nullptr || node->as<ToFloat64>() == nullptr) return nullptr;
  return node->inputs[0]->type == DataType::kFLOAT ? node->inputs[0] : nullptr;
}

// A tensor that a layer makes, of a type that C++ computes with.
Value& as_plain(Layers& layers, Value& value) {
  Value& made = value.is_weight() ? layers.constant(value) : value;
  const bool is_packed = bits_of(made.type) < 8 || is_low_precision(made.type);
  return is_packed ? layers.cast(made, DataType::kFLOAT) : made;
}

}  // namespace

bool Layers::is_float64(const Value& value) const {
  return value.type == DataType::kINT64 && model_type(value) == kDouble;
}

void Layers::note_float64(const Node& node) {
  const bool takes = std::any_of(node.inputs.begin(), node.inputs.end(),
                                 [&](const Value* v) { return v != nullptr && is_float64(*v); });
  if (!takes) return;
  const bool moves = is_among(kMoving, *node.op);
  if (!moves && !is_among(kReading, *node.op))
    fail_import(Code::kUNSUPPORTED_NODE_DATATYPE, "not supported yet: layer {} in float64",
                node.op->name());
  for (const Value* out : node.outputs)
    if (moves && out->type == DataType::kINT64) set_model_type(*out, kDouble);
}

Value& Layers::as_float64(Value& value) {
  if (is_float64(value)) return value;
  Value*& known = state_.float64_of[&value];
  if (known != nullptr) return *known;
  if (const auto it = state_.float64_weights.find(&value); it != state_.float64_weights.end())
    known = &network_.add_weight(it->second, value.name);
  else
    known = &add(std::make_unique<ToFloat64>(), {&as_plain(*this, value)});
  set_model_type(*known, kDouble);
  return *known;
}

Value& Layers::from_float64(Value& value, DataType type) {
  auto op = std::make_unique<FromFloat64>();
  op->to = type;
  return add(std::move(op), {&value});
}

Value& Layers::as_float32(Value& value) {
  if (!is_float64(value)) return value;
  if (Value* before = widened_float32(value)) return *before;
  Value*& known = state_.float32_of[&value];
  if (known == nullptr) known = &from_float64(value, DataType::kFLOAT);
  return *known;
}

Value& Layers::float64_pointwise(PointwiseStep::Family family, int32_t function,
                                 std::vector<Value*> inputs, float alpha, float beta) {
  auto op = std::make_unique<Float64Pointwise>();
  op->family = family;
  op->function = function;
  op->alpha = alpha;
  op->beta = beta;
  return add(std::move(op), std::move(inputs));
}

Float64Use prepare_float64(NodeContext& n) {
  bool any = false, by_float32 = false;
  for (const Item& item : n.inputs())
    for (const Value* v : tensors_in(item)) {
      any |= v != nullptr && n.model_type(*v) == kDouble;
      by_float32 |= v != nullptr && is_float(v->type) && n.is_runtime(*v);
    }
  const bool makes = type_in_attributes(n.proto()) == kDouble;
  if (!any && !makes) return Float64Use::kNone;
  // Their rows make float64 of what the attribute says.
  if (!any && (n.op() == "Constant" || n.op() == "ConstantOfShape" || is_conversion(n)))
    return Float64Use::kComputes;
  const bool computes = is_conversion(n) || (any && !by_float32 && computes_in_float64(n));
  bool exact = computes;
  for (int i = 0; i < n.input_count(); ++i) {
    Value* value = tensor_among(n, i);
    if (value == nullptr || n.model_type(*value) != kDouble) continue;
    // What has come by float32 stays so.
    const bool stays = !n.is_float64(*value) && n.is_runtime(*value);
    exact &= !stays;
    if (!stays) n.replace_input(i, computes ? n.as_float64(*value) : n.as_float32(*value));
  }
  return exact ? Float64Use::kComputes : Float64Use::kRounds;
}

void round_inputs(NodeContext& n) {
  for (int i = 0; i < n.input_count(); ++i)
    if (Value* value = tensor_among(n, i)) n.replace_input(i, n.as_float32(*value));
}

Item rounded_to_float32(ImportState& state, const std::string& name, Item item) {
  Value** tensor = std::get_if<Value*>(&item);
  Layers layers(state, name);
  if (tensor != nullptr && *tensor != nullptr) *tensor = &layers.as_float32(**tensor);
  return item;
}

}  // namespace tenon
