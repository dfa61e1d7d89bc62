// Quantisation by given scales, and its inverse.
#include "ops/quantize.h"

#include "base/error.h"
#include "cuda/kernels.h"
#include "cuda/nvrtc/prelude.h"
#include "cuda/pointwise/layers.h"
#include "ops/dequantize.h"

namespace tenon::cuda {
namespace {

// Scales and zero points, laid over the data in blocks.
OperandView scales_of(const ScaleLayout& layout, const Shape& scale, const Shape& data) {
  OperandView view{Shape::filled(data.rank(), 1), Layout::kLinear,
                   block_extents(layout, data, scale)};
  if (scale.volume() == 1) return view;
  if (scale.rank() == 1 && layout.block.rank() == 0) {
    const int axis = normalized_axis(layout.axis, data.rank());
    view.shape[axis] = scale[0];
    view.block = {};
    return view;
  }
  view.shape = scale;
  return view;
}

std::string quantized(const Quantize& op, bool has_zero) {
  if (op.to == DataType::kFP8)
    return fmt::format("fp8_bits(x0 / s, {})", op.saturate ? "true" : "false");
  if (op.to == DataType::kFP4) return "fp4_bits(x0 / s)";
  const IntegerRange own = integer_range(op.to);
  const auto bound = [&](int64_t all, int64_t given) {
    return literal(static_cast<float>(op.lowest == op.highest ? all : given));
  };
  const std::string low = bound(own.lowest, op.lowest), high = bound(own.highest, op.highest);
  constexpr std::string_view kQuotient = "divided(x0, s, 1 / s)";
  return has_zero ? fmt::format("int(rounded({}, {} - z, {} - z) + z)", kQuotient, low, high)
                  : fmt::format("int(rounded({}, {}, {}))", kQuotient, low, high);
}

std::string dequantized(DataType from, bool has_zero) {
  const std::string x = number_of(from, "x0");
  if (!has_zero) return fmt::format("float({}) * s", x);
  // 32-bit integers minus a zero point may need more than a float's 24 bits before they round.
  return from == DataType::kINT32 ? "float(int64(x0) - int64(z)) * s"
                                  : fmt::format("(float({}) - z) * s", x);
}

}  // namespace

ElementOffer quantize_layer(const KernelRequest& request) {
  const auto* quantize = dynamic_cast<const Quantize*>(&request.op);
  const auto* dequantize = dynamic_cast<const Dequantize*>(&request.op);
  const auto& inputs = request.inputs;
  const bool has_zero = inputs.size() > 2 && inputs[2].present;
  ElementLayer layer;
  ElementFunction& f = layer.function;
  for (size_t i = 0; i < (has_zero ? 3u : 2u); ++i)
    f.operands.push_back({i, std::string(element_of(inputs[i].type))});
  f.result_type = element_of(request.outputs[0].type);
  f.statements = fmt::format("  const float s = {};\n", number_of(inputs[1].type, "x1"));
  if (has_zero)
    f.statements += fmt::format("  const float z = {};\n", number_of(inputs[2].type, "x2"));
  f.result =
      quantize != nullptr ? quantized(*quantize, has_zero) : dequantized(inputs[0].type, has_zero);
  layer.data_inputs = 1;
  layer.view = [scales = quantize != nullptr ? quantize->layout : dequantize->layout](
                   size_t input, const Shape& shape, const Shape& result) {
    return input == 0 ? OperandView{shape} : scales_of(scales, shape, result);
  };
  return layer;
}

Offer offer_quantize(const KernelRequest& request) {
  return offer_elements(request, quantize_layer(request));
}

Offer load_quantize(const KernelRequest& request, const StoredKernel& stored) {
  return load_elements(request, quantize_layer(request), stored);
}

}  // namespace tenon::cuda
