#include "import/stand_ins.h"

#include <onnx_schema.pb.h>

#include <algorithm>
#include <string_view>

#include "ops/bitwise.h"
#include "ops/identity.h"

namespace tenon {
namespace {

using Type = onnx::TensorProto;
using Code = nvonnxparser::ErrorCode;
using Operation = nvinfer1::ElementWiseOperation;

// What an operator makes of integers that are kept in a wider type.
enum class Rule {
  kRefused,  // something that depends on the width
  kKeeps,    // elements of the same type, which it only moves or which cannot leave the range
  kWraps,    // elements of the same type, whose low bits are right
  kEnds,     // another type, from the numbers
};

constexpr std::string_view kKeeping[] = {"BitwiseAnd",
                                         "BitwiseOr",
                                         "BitwiseXor",
                                         "CenterCropPad",
                                         "Clip",
                                         "Compress",
                                         "Concat",
                                         "ConcatFromSequence",
                                         "DepthToSpace",
                                         "Expand",
                                         "EyeLike",
                                         "Flatten",
                                         "Gather",
                                         "GatherElements",
                                         "GatherND",
                                         "Identity",
                                         "Max",
                                         "Min",
                                         "Mod",
                                         "Optional",
                                         "OptionalGetElement",
                                         "Pad",
                                         "Reshape",
                                         "ReverseSequence",
                                         "Scatter",
                                         "ScatterElements",
                                         "ScatterND",
                                         "SequenceAt",
                                         "SequenceConstruct",
                                         "SequenceErase",
                                         "SequenceInsert",
                                         "Sign",
                                         "Slice",
                                         "SpaceToDepth",
                                         "Split",
                                         "SplitToSequence",
                                         "Squeeze",
                                         "Tile",
                                         "TopK",
                                         "Transpose",
                                         "Trilu",
                                         "Unique",
                                         "Unsqueeze",
                                         "Where"};

// The greatest and the least of no elements are the border of the wide type, whose low bits are the
// border of an unsigned one.
constexpr std::string_view kWrapping[] = {
    "Abs",   "Add",       "BitShift",  "BitwiseNot", "CumSum",    "Div", "Mul", "Neg",
    "Range", "ReduceMax", "ReduceMin", "ReduceProd", "ReduceSum", "Sub", "Sum"};

constexpr std::string_view kEnding[] = {"ArgMax",
                                        "ArgMin",
                                        "Cast",
                                        "CastLike",
                                        "DequantizeLinear",
                                        "Equal",
                                        "Greater",
                                        "GreaterOrEqual",
                                        "Less",
                                        "LessOrEqual",
                                        "NonZero",
                                        "OptionalHasElement",
                                        "SequenceLength",
                                        "Shape",
                                        "Size",
                                        "com.microsoft::DequantizeLinear"};

Rule rule_of(NodeContext& n) {
  const std::string op = qualified_operator(n.proto().domain(), n.op());
  const auto among = [&](const auto& list) {
    return std::find(std::begin(list), std::end(list), op) != std::end(list);
  };
  if (among(kEnding)) return Rule::kEnds;
  if (among(kWrapping)) return Rule::kWraps;
  if (!among(kKeeping)) return Rule::kRefused;
  // Scattering may add and multiply.
  const bool computes = op.starts_with("Scatter") && n.text("reduction", "none") != "none";
  return computes ? Rule::kWraps : Rule::kKeeps;
}

struct Width {
  int bits;
  bool is_signed;
};

Width width_of(int32_t stand_in) {
  switch (stand_in) {
    case Type::INT16:
      return {16, true};
    case Type::UINT16:
      return {16, false};
    case Type::UINT32:
      return {32, false};
    default:
      return {64, false};
  }
}

bool fits(DataType type, int32_t from, int32_t to) {
  if (is_float(type)) return false;
  const bool is_signed = type != DataType::kBOOL && type != DataType::kUINT8;
  const Width source = from != 0 ? width_of(from) : Width{bits_of(type), is_signed};
  const Width target = width_of(to);
  if (source.is_signed) return target.is_signed && source.bits <= target.bits;
  return source.bits <= target.bits - target.is_signed;
}

Value& bits(Layers& layers, BitwiseOperation operation, Value& x, double operand) {
  auto op = std::make_unique<Bitwise>();
  op->operation = operation;
  return layers.add(std::move(op), {&x, &layers.scalar(x, operand)});
}

Value& wrapped(Layers& layers, Value& x, int32_t type) {
  const Width width = width_of(type);
  const auto size = static_cast<double>(int64_t{1} << width.bits);
  Value& low = bits(layers, BitwiseOperation::kAnd, x, size - 1);
  if (!width.is_signed) return low;
  // Flipping the sign bit and taking its weight away again copies it to the bits above.
  Value& flipped = bits(layers, BitwiseOperation::kXor, low, size / 2);
  return layers.binary(Operation::kSUB, flipped, size / 2);
}

// The type of the first input of one of the four types; 0 for none.
int32_t stand_in_among(const NodeContext& n) {
  for (const Item& item : n.inputs())
    for (const Value* v : tensors_in(item))
      if (v != nullptr && is_stand_in(n.model_type(*v))) return n.model_type(*v);
  return 0;
}

void note(NodeContext& n, int output, int32_t type) {
  for (Value* v : tensors_in(n.outputs()[static_cast<size_t>(output)]))
    if (v != nullptr) n.set_model_type(*v, type);
}

}  // namespace

bool is_stand_in(int32_t type) {
  return type == Type::INT16 || type == Type::UINT16 || type == Type::UINT32
         || type == Type::UINT64;
}

Value& stand_in_from_outside(Layers& layers, Value& input, int32_t type) {
  Value& x = type == Type::UINT64 ? input : wrapped(layers, input, type);
  layers.set_model_type(x, type);
  return x;
}

Value& cast_to_stand_in(NodeContext& n, Value& x, int32_t from, int32_t to) {
  const DataType wide = *data_type_of(to);
  if (from == to) return x;
  if (fits(x.type, from, to))
    // What keeps its wider type needs a tensor of its own, which has another type in the model.
    return x.type == wide ? n.add(std::make_unique<Identity>(), {&x}) : n.cast(x, wide);
  if (to == Type::UINT64)
    fail_import(Code::kUNSUPPORTED_NODE_DATATYPE,
                "not supported yet: a cast of {} to uint64, which is int64 here; cast to int64",
                from != 0 ? onnx_type_name(from) : std::string(name_of(x.type)));
  const bool is_wide = is_float(x.type) || x.type == DataType::kINT64;
  Value& whole = n.cast(x, is_wide ? DataType::kINT64 : wide);
  return n.cast(wrapped(n, whole, to), wide);
}

void require_sound_stand_ins(NodeContext& n) {
  const int32_t type = stand_in_among(n);
  if (type == 0) return;
  const Rule rule = rule_of(n);
  if (rule == Rule::kRefused || (rule == Rule::kWraps && type == Type::UINT64))
    fail_import(Code::kUNSUPPORTED_NODE_DATATYPE,
                "not supported yet: arithmetic in {}, which is {} here; cast the inputs to {}",
                onnx_type_name(type), name_of(*data_type_of(type)), name_of(*data_type_of(type)));
}

void note_doubles(NodeContext& n) {
  if (type_in_attributes(n.proto()) != 0 || n.op() == "CastLike") return;
  for (const Item& item : n.outputs())
    for (const Value* v : tensors_in(item))
      if (v != nullptr && v->type == DataType::kFLOAT && n.model_type(*v) == 0)
        n.set_model_type(*v, Type::DOUBLE);
}

void finish_stand_ins(NodeContext& n) {
  const int32_t named = type_in_attributes(n.proto());
  const int32_t given = stand_in_among(n);
  const Rule rule = given == 0 ? Rule::kEnds : rule_of(n);
  if (named != 0 && !is_null(n.outputs()[0])) {
    if (!is_exact(named)) note(n, 0, named);
  } else if (rule == Rule::kKeeps || rule == Rule::kWraps) {
    if (rule == Rule::kWraps) n.set_output(0, wrapped(n, *n.output(0), given));
    const int count = n.op() == "Split" ? n.output_count() : 1;
    for (int i = 0; i < count; ++i) note(n, i, given);
  }
}

int32_t type_in_attributes(const onnx::NodeProto& node) {
  for (const auto& a : node.attribute()) {
    if (a.has_t() && a.name() == "value") return a.t().data_type();
    const bool names_type = a.name() == "to" || a.name() == "dtype" || a.name() == "output_dtype"
                            || a.name() == "output_datatype";
    if (!names_type) continue;
    Type::DataType parsed = Type::UNDEFINED;
    if (a.s().empty()) return static_cast<int32_t>(a.i());
    Type::DataType_Parse(a.s(), &parsed);  // before opset 6
    return parsed;
  }
  return 0;
}

}  // namespace tenon
