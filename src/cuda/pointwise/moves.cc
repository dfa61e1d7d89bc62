// Layers that choose, convert or copy elements.
#include <limits>

#include "base/error.h"
#include "cuda/kernels.h"
#include "cuda/nvrtc/prelude.h"
#include "cuda/pointwise/layers.h"
#include "ops/bit_cast.h"
#include "ops/cast.h"
#include "ops/identity.h"
#include "ops/select.h"

namespace tenon::cuda {
namespace {

// An element type of as many bits, for elements that stay as they are.
std::string bits_type(DataType type) {
  switch (bits_of(type)) {
    case 4:
      return "Nibble";
    case 8:
      return "UInt8";
    case 16:
      return "Bits16";
    case 32:
      return "Int32";
    default:
      return "Int64";
  }
}

template <class T> std::string saturated_to(const std::string& x) {
  using Limits = std::numeric_limits<T>;
  // The bounds as float may lie just outside the range, so they are excluded.
  return fmt::format("saturated({}, {}, {}, {}ull, {}ull)", x,
                     literal(static_cast<float>(Limits::min())),
                     literal(static_cast<float>(Limits::max())),
                     static_cast<uint64_t>(static_cast<int64_t>(Limits::min())),
                     static_cast<uint64_t>(static_cast<int64_t>(Limits::max())));
}

std::string to_integer(DataType type, const std::string& x) {
  switch (type) {
    case DataType::kINT8:
      return saturated_to<int8_t>(x);
    case DataType::kUINT8:
      return saturated_to<uint8_t>(x);
    case DataType::kINT32:
      return saturated_to<int32_t>(x);
    default:
      return saturated_to<int64_t>(x);
  }
}

ElementFunction converted(const Cast& op, DataType from) {
  ElementFunction f;
  if (from == op.to) {
    f.operands = {{0, bits_type(from)}};
    f.result_type = bits_type(from);
    f.result = "x0";
    return f;
  }
  f.operands = {{0, std::string(element_of(from))}};
  f.result_type = element_of(op.to);
  const std::string x = number_of(from, "x0");
  const bool is_real = is_float(from) || from == DataType::kINT4;
  const char* saturate = op.saturate ? "true" : "false";
  switch (op.to) {
    case DataType::kBOOL:
      f.result = x + " != 0";
      break;
    case DataType::kFP8:
      f.result = fmt::format("fp8_bits({}, {})", x, saturate);
      break;
    case DataType::kE8M0:
      f.result =
          fmt::format("e8m0_bits({}, {}, {})", x, saturate, static_cast<int>(op.power_rounding));
      break;
    case DataType::kFP4:
      f.result = fmt::format("fp4_bits({})", x);
      break;
    case DataType::kINT4:
      f.result = fmt::format("int4_bits({})", x);
      break;
    default:
      f.result = is_integer(op.to) && is_real ? to_integer(op.to, x) : x;
  }
  return f;
}

}  // namespace

ElementOffer move_layer(const KernelRequest& request) {
  ElementLayer layer;
  const DataType from = request.inputs[0].type, to = request.outputs[0].type;
  if (const auto* cast = dynamic_cast<const Cast*>(&request.op)) {
    layer.function = converted(*cast, from);
    return layer;
  }
  if (dynamic_cast<const Select*>(&request.op) != nullptr) {
    layer.function = {
        {{0, "Bool"}, {1, bits_type(to)}, {2, bits_type(to)}}, bits_type(to), "", "x0 ? x1 : x2"};
    return layer;
  }
  layer.function = {{{0, bits_type(from)}}, bits_type(to), "", "x0"};
  return layer;
}

Offer offer_move(const KernelRequest& request) {
  return offer_elements(request, move_layer(request));
}

Offer load_move(const KernelRequest& request, const StoredKernel& stored) {
  return load_elements(request, move_layer(request), stored);
}

}  // namespace tenon::cuda
