// Operations of integers and booleans, element by element. Arithmetic wraps.
#include "base/error.h"
#include "cuda/kernels.h"
#include "cuda/nvrtc/prelude.h"
#include "cuda/pointwise/layers.h"
#include "ops/activation.h"
#include "ops/bitwise.h"
#include "ops/elementwise.h"
#include "ops/unary.h"

namespace tenon::cuda {
namespace {

using nvinfer1::ActivationType;
using nvinfer1::ElementWiseOperation;
using nvinfer1::UnaryOperation;

// Sums, differences and products are those of unsigned 64-bit numbers, cut to the type.
std::string_view binary(ElementWiseOperation operation) {
  switch (operation) {
    case ElementWiseOperation::kSUM:
      return "T(uint64(x0) + uint64(x1))";
    case ElementWiseOperation::kPROD:
      return "T(uint64(x0) * uint64(x1))";
    case ElementWiseOperation::kMAX:
      return "x0 > x1 ? x0 : x1";
    case ElementWiseOperation::kMIN:
      return "x0 < x1 ? x0 : x1";
    case ElementWiseOperation::kSUB:
      return "T(uint64(x0) - uint64(x1))";
    case ElementWiseOperation::kDIV:
      return "divide<T>(x0, x1, false)";
    case ElementWiseOperation::kPOW:
      return "power<T>(x0, x1)";
    case ElementWiseOperation::kFLOOR_DIV:
      return "divide<T>(x0, x1, true)";
    case ElementWiseOperation::kAND:
      return "x0 != 0 && x1 != 0";
    case ElementWiseOperation::kOR:
      return "x0 != 0 || x1 != 0";
    case ElementWiseOperation::kXOR:
      return "(x0 != 0) != (x1 != 0)";
    case ElementWiseOperation::kEQUAL:
      return "x0 == x1";
    case ElementWiseOperation::kGREATER:
      return "x0 > x1";
    case ElementWiseOperation::kLESS:
      return "x0 < x1";
  }
  fail(ErrorCode::kINTERNAL_ERROR, "element-wise operation {}", static_cast<int32_t>(operation));
}

std::string_view unary(UnaryOperation operation) {
  switch (operation) {
    case UnaryOperation::kABS:
      return "T(x0 < 0 ? 0 - uint64(x0) : uint64(x0))";
    case UnaryOperation::kNEG:
      return "T(0 - uint64(x0))";
    case UnaryOperation::kSIGN:
      return "T((x0 > 0) - (x0 < 0))";
    case UnaryOperation::kNOT:
      return "x0 == 0";
    default:
      return "";
  }
}

std::string_view bitwise(BitwiseOperation operation) {
  switch (operation) {
    case BitwiseOperation::kAnd:
      return "T(x0 & x1)";
    case BitwiseOperation::kOr:
      return "T(x0 | x1)";
    case BitwiseOperation::kXor:
      return "T(x0 ^ x1)";
    case BitwiseOperation::kShiftLeft:
      return "T(shifted_left(x0, x1))";
    case BitwiseOperation::kShiftRight:
      return "T(shifted_right(x0, x1))";
  }
  fail(ErrorCode::kINTERNAL_ERROR, "bitwise operation {}", static_cast<int32_t>(operation));
}

// The element itself where no bound applies, because a double does not hold every int64.
std::string activation(const Activation& op) {
  if (op.type == ActivationType::kRELU) return "x0 < 0 ? T(0) : x0";
  if (op.type != ActivationType::kCLIP) return "";
  return fmt::format(
      "double(x0) > double({1}) || double(x0) < double({0}) "
      "? T(fmax(double({0}), fmin(double({1}), double(x0)))) : x0",
      literal(op.alpha), literal(op.beta));
}

std::string expression_of(const Op& op) {
  if (const auto* pair = dynamic_cast<const ElementWise*>(&op))
    return std::string(binary(pair->operation));
  if (const auto* one = dynamic_cast<const Unary*>(&op)) return std::string(unary(one->operation));
  if (const auto* bits = dynamic_cast<const Bitwise*>(&op))
    return std::string(bitwise(bits->operation));
  if (const auto* bounded = dynamic_cast<const Activation*>(&op)) return activation(*bounded);
  return "";
}

}  // namespace

ElementOffer integer_layer(const KernelRequest& request) {
  const DataType type = request.inputs[0].type;
  if (is_float(type) || bits_of(type) < 8) return "only integers of 8 bits or more, and booleans";
  ElementLayer layer;
  ElementFunction& f = layer.function;
  for (size_t i = 0; i < request.inputs.size(); ++i) {
    if (request.inputs[i].type != type) return "inputs of unlike types are not supported";
    f.operands.push_back({i, std::string(element_of(type))});
  }
  f.result_type = element_of(request.outputs[0].type);
  f.statements = fmt::format("  using T = {}::Value;\n", element_of(type));
  f.result = expression_of(request.op);
  if (f.result.empty()) return "there is no such operation of integers";
  return layer;
}

Offer offer_integer_pointwise(const KernelRequest& request) {
  return offer_elements(request, integer_layer(request));
}

Offer load_integer_pointwise(const KernelRequest& request, const StoredKernel& stored) {
  return load_elements(request, integer_layer(request), stored);
}

}  // namespace tenon::cuda
