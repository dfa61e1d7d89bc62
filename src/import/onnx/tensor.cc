// Constants, shapes as tensors, gathering and conversion.
#include <onnx_schema.pb.h>

#include <algorithm>
#include <cstring>

#include "import/stand_ins.h"
#include "ops/cast.h"
#include "ops/gather.h"
#include "ops/identity.h"
#include "ops/shape_of.h"

namespace tenon {
namespace {

using Code = nvonnxparser::ErrorCode;

// ConstantOfShape beyond this is made when the network runs, not stored in it.
constexpr int64_t kLargestStoredFill = int64_t{1} << 24;

Tensor constant_of(NodeContext& n, std::optional<Tensor>& float64) {
  if (n.has("value")) return n.tensor_in("value", &float64);
  if (n.has("value_float"))
    return filled_tensor(DataType::kFLOAT, Shape(), n.real("value_float", 0));
  if (n.has("value_int")) {
    const int64_t value = n.integer("value_int");
    return Tensor::of<int64_t>(DataType::kINT64, Shape(), std::span(&value, 1));
  }
  if (n.has("value_floats")) {
    const auto values = n.reals_in("value_floats");
    return Tensor::of<float>(DataType::kFLOAT, Shape{static_cast<int64_t>(values.size())}, values);
  }
  if (n.has("value_ints")) {
    const auto values = n.integers_in("value_ints");
    return Tensor::of<int64_t>(DataType::kINT64, Shape{static_cast<int64_t>(values.size())},
                               values);
  }
  for (const char* other : {"value_string", "value_strings", "sparse_value"})
    if (n.has(other))
      fail_import(Code::kUNSUPPORTED_NODE_ATTR, "attribute '{}' is not supported yet", other);
  fail_import(Code::kINVALID_NODE, "it has no value");
}

// The only element of `value`, everywhere.
Tensor repeated(const Tensor& value, const Shape& shape) {
  const size_t size = value.bytes();
  require(bits_of(value.type()) >= 8, "filling with {} is not supported yet",
          name_of(value.type()));
  Tensor t(value.type(), shape);
  for (int64_t i = 0; i < t.count(); ++i)
    std::memcpy(t.mutable_data<std::byte>() + static_cast<size_t>(i) * size, value.data(), size);
  return t;
}

Value& indices_of(NodeContext& n, int i) {
  Value& indices = n.input(i);
  const bool fine = indices.type == DataType::kINT32 || indices.type == DataType::kINT64;
  return fine ? indices : n.cast(indices, DataType::kINT64);
}

void gather(NodeContext& n, nvinfer1::GatherMode mode, int32_t axis, int32_t batch_axes = 0) {
  n.expect_inputs(2, 2);
  auto op = std::make_unique<Gather>();
  op->mode = mode;
  op->axis = axis;
  op->batch_axes = batch_axes;
  n.set_output(0, n.add(std::move(op), {&n.input(0), &indices_of(n, 1)}));
}

int32_t known_type(int64_t onnx_type) {
  const auto type = static_cast<int32_t>(std::clamp<int64_t>(onnx_type, -1, 1000));
  if (!data_type_of(type))
    fail_import(Code::kUNSUPPORTED_NODE_DATATYPE, "a cast to {} is not supported yet",
                onnx_type_name(type));
  return type;
}

// Integers saturate on their way from floats, and wrap on that from other integers. `model_type` is
// the ONNX type for which `type` stands in; 0 for none.
void convert(NodeContext& n, DataType type, int32_t model_type) {
  auto op = std::make_unique<Cast>();
  op->to = type;
  op->saturate = n.flag("saturate", true);
  const std::string rounding = n.text("round_mode", "up");
  require(rounding == "up" || rounding == "down" || rounding == "nearest",
          "attribute 'round_mode' is \"{}\"; expected up, down or nearest", rounding);
  op->power_rounding = rounding == "up"     ? PowerRounding::kUp
                       : rounding == "down" ? PowerRounding::kDown
                                            : PowerRounding::kNearest;
  Value& x = n.input(0);
  if (model_type == onnx::TensorProto::DOUBLE)
    n.set_output(0, n.as_float64(x));
  else if (n.is_float64(x) && bits_of(type) >= 8 && !is_low_precision(type))
    n.set_output(0, n.cast(x, type));
  else if (Value& number = n.as_float32(x); number.type != type)
    n.set_output(0, n.add(std::move(op), {&number}));
  else  // a tensor of its own, where its type in the model becomes another one
    n.set_output(
        0, n.input_model_type(0) != model_type ? n.add(std::make_unique<Identity>(), {&x}) : x);
}

void convert_to_stand_in(NodeContext& n, int32_t type) {
  n.ignore("saturate");
  n.ignore("round_mode");
  Value& x = n.input(0);
  const bool is_float64 = n.is_float64(x);
  Value& y = cast_to_stand_in(n, is_float64 ? n.cast(x, DataType::kINT64) : x,
                              is_float64 ? 0 : n.input_model_type(0), type);
  n.set_model_type(y, type);
  n.set_output(0, y);
}

}  // namespace

TENON_IMPORT(Constant, 1, "numbers only, not sparse") {
  const std::string name = n.output_count() > 0 ? n.proto().output(0) : "";
  std::optional<Tensor> float64;
  Value& weight = n.network().add_weight(constant_of(n, float64), name);
  if (float64) n.keep_float64(weight, *float64);
  n.set_output(0, weight);
}

TENON_IMPORT(ConstantOfShape, 9, "") {
  const auto extents = n.host_elements(0, "the shape");
  require(extents.size() <= Shape::kMaxRank,
          "the shape has {} dimensions; at most {} are supported", extents.size(), Shape::kMaxRank);
  std::optional<Tensor> float64;
  Tensor value =
      n.has("value") ? n.tensor_in("value", &float64) : filled_tensor(DataType::kFLOAT, Shape(), 0);
  if (float64) value = *float64;
  const auto weight = [&](Tensor tensor, const std::string& name) -> Value& {
    Value& made = n.network().add_weight(std::move(tensor), name);
    if (float64) n.set_model_type(made, onnx::TensorProto::DOUBLE);
    return made;
  };
  require(value.count() == 1, "attribute 'value' has {} elements; expected 1", value.count());
  Dims target(extents.begin(), extents.end());
  Shape shape;
  for (Dim d : target) {
    if (!d->is_integer_constant()) break;
    require(d->value.integer >= 0, "the shape has the negative extent {}", d->value.integer);
    shape.push_back(d->value.integer);
  }
  const bool known = shape.rank() == static_cast<int>(target.size());
  if (!known || shape.volume() > kLargestStoredFill) {
    n.set_output(0, n.expand(n.constant(weight(value.reshaped(Shape()), "")), target));
    return;
  }
  n.charge(bytes_of(value.type(), shape.volume()));
  n.set_output(0, weight(repeated(value, shape), n.proto().output(0)));
}

TENON_IMPORT(Shape, 1, "") {
  Value& x = n.input(0);
  const int64_t rank = n.rank(x);
  const auto clamp = [&](int64_t index) {
    return std::clamp<int64_t>(index < 0 ? std::max<int64_t>(index, -rank) + rank : index, 0, rank);
  };
  const int64_t start = clamp(n.integer("start", 0)), end = clamp(n.integer("end", rank));
  Value& shape = n.add(std::make_unique<ShapeOf>(), {&x});
  if (start == 0 && end == rank) {
    n.set_output(0, shape);
    return;
  }
  n.set_output(0, n.slice(shape, {n.number(start)}, {n.number(std::max<int64_t>(end - start, 0))},
                          {n.number(1)}));
}

TENON_IMPORT(Size, 1, "") {
  Value& shape = n.add(std::make_unique<ShapeOf>(), {&n.input(0)});
  n.set_output(0, n.reduce(nvinfer1::ReduceOperation::kPROD, shape, 1, false));
}

TENON_IMPORT(Gather, 1, "") {
  gather(n, nvinfer1::GatherMode::kDEFAULT,
         normalized_axis(n.integer("axis", 0), n.rank(n.input(0))));
}
TENON_IMPORT(GatherElements, 11, "") {
  gather(n, nvinfer1::GatherMode::kELEMENT,
         normalized_axis(n.integer("axis", 0), n.rank(n.input(0))));
}
TENON_IMPORT(GatherND, 11, "") {
  const int64_t batch = n.integer("batch_dims", 0);
  require(batch >= 0 && batch < n.rank(n.input(0)), "attribute 'batch_dims' is {}", batch);
  gather(n, nvinfer1::GatherMode::kND, 0, static_cast<int32_t>(batch));
}

TENON_IMPORT(Cast, 1, "numbers only; to uint64 from unsigned types only") {
  int64_t to = 0;
  if (n.opset() < 6) {
    const std::string name = n.text("to", "");
    require(onnx::TensorProto::DataType_IsValid(1), "{}", name);
    onnx::TensorProto::DataType parsed = onnx::TensorProto::UNDEFINED;
    onnx::TensorProto::DataType_Parse(name, &parsed);
    to = parsed;
  } else {
    to = n.integer("to");
  }
  const int32_t type = known_type(to);
  if (is_stand_in(type))
    convert_to_stand_in(n, type);
  else
    convert(n, *data_type_of(type), is_exact(type) ? 0 : type);
}

TENON_IMPORT(CastLike, 15, "numbers only") {
  n.expect_inputs(2, 2);
  const int32_t type = n.input_model_type(1);
  if (is_stand_in(type))
    convert_to_stand_in(n, type);
  else
    convert(n, n.input(1).type, type);
}

}  // namespace tenon
