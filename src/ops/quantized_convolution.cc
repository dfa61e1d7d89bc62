#include "ops/quantized_convolution.h"

#include "ops/quantize.h"
#include "ops/support/infer.h"
#include "ops/support/operations.h"
#include "ops/support/reference.h"
#include "ops/support/window.h"

namespace tenon {

using In = QuantizedInputs;

TENON_REGISTER_OP(QuantizedConvolution);

void QuantizedConvolution::visit(FieldVisitor& v) {
  v("to", to);
  v("is_float8", is_float8);
  bounds.visit(v);
  epilogue.visit(v, "epilogue_");
  if (has_operand()) {
    v("operand_scale", operand.scale);
    v("operand_zero", operand.zero);
  }
  v("output_channels", output_channels);
  v("kernel", kernel);
  v("stride", stride);
  v("dilation", dilation);
  v("pre_padding", pre_padding);
  v("post_padding", post_padding);
  v("padding_mode", padding_mode);
  v("groups", groups);
  sum.visit(v);
}

namespace {

std::vector<Window> windows_of(const QuantizedConvolution& op) {
  return make_windows(op.kernel.rank(), op.kernel, op.stride, op.dilation, op.pre_padding,
                      op.post_padding);
}

void check_weights(const QuantizedConvolution& op, const Inference& c) {
  const auto shape = c.constant_shape(In::kWeights);
  const Dim channels = c.dims(In::kData)[1];
  if (channels->is_integer_constant())
    require(channels->value.integer % op.groups == 0,
            "expected input channels that {} groups divide, found {}", op.groups,
            channels->value.integer);
  if (!shape) return;
  Shape expected{op.output_channels, shape->rank() > 1 ? (*shape)[1] : 0};
  if (channels->is_integer_constant()) expected[1] = channels->value.integer / op.groups;
  for (int64_t k : op.kernel) expected.push_back(k);
  require(*shape == expected, "expected weights (input 1) of shape {}, found {}", expected, *shape);
}

void check_addend(const QuantizedConvolution& op, const Inference& c, const Dims& dims) {
  const DataType addend = c.type(QuantizedConvolution::kAddend);
  const DataType to = op.sum.used ? op.sum.to : op.to;
  require(is_byte(op.to) && is_byte(to) && is_byte(addend),
          "expected int8 or uint8 as the types of product, addend and sum, found {}, {} and {}",
          name_of(op.to), name_of(addend), name_of(to));
  const Dims& found = c.dims(QuantizedConvolution::kAddend);
  require(found == dims, "expected an addend (input {}) of shape {}, found {}",
          QuantizedConvolution::kAddend, text_of(dims), text_of(found));
  if (!op.sum.used) return;
  const IntegerRange range = integer_range(op.sum.to);
  require(op.sum.zero >= range.lowest && op.sum.zero <= range.highest,
          "expected a zero point of the sum from {} to {}, found {}", range.lowest, range.highest,
          op.sum.zero);
  op.sum.bounds.check(op.sum.to);
}

// WindowPlanes of one to three spatial axes as three; missing ones come first, of extent 1.
struct WindowPlanes {
  int64_t in[3] = {1, 1, 1}, out[3] = {1, 1, 1};
  Window window[3];

  // Adds what one tap of the kernel contributes to a plane of sums.
  template <class Number>
  void add(const Number* x, Number weight, int64_t kz, int64_t ky, int64_t kx, Number* sums) const {
    const auto at = [&](int axis, int64_t o, int64_t k) {
      return o * window[axis].stride + k * window[axis].dilation - window[axis].pre;
    };
    for (int64_t oz = 0; oz < out[0]; ++oz) {
      const int64_t iz = at(0, oz, kz);
      if (iz < 0 || iz >= in[0]) continue;
      for (int64_t oy = 0; oy < out[1]; ++oy) {
        const int64_t iy = at(1, oy, ky);
        if (iy < 0 || iy >= in[1]) continue;
        const Number* row = x + (iz * in[1] + iy) * in[2];
        Number* to = sums + (oz * out[1] + oy) * out[2];
        for (int64_t ox = 0; ox < out[2]; ++ox) {
          const int64_t ix = at(2, ox, kx);
          if (ix >= 0 && ix < in[2]) multiply_add(to[ox], weight, row[ix]);
        }
      }
    }
  }
};

WindowPlanes planes_of(const QuantizedConvolution& op, const Shape& in, const Shape& out) {
  WindowPlanes planes;
  const auto windows = windows_of(op);
  for (size_t i = 0; i < windows.size(); ++i) {
    const auto axis = static_cast<int>(i) + 2;
    const size_t at = 3 - windows.size() + i;
    planes.in[at] = in[axis];
    planes.out[at] = out[axis];
    planes.window[at] = resolved(windows[i], in[axis], out[axis], op.padding_mode);
  }
  return planes;
}

}  // namespace

void QuantizedConvolution::infer(Inference& c) const {
  require_inputs(c, 2, has_addend() ? kAddend + 1 : In::kCount);
  require(!has_addend() || c.has_input(kAddend), "expected an addend (input {})", kAddend);
  check_padding_mode(padding_mode);
  const int spatial = c.rank(In::kData) - 2;
  require(spatial >= 1 && spatial <= 3,
          "expected data of rank 3 to 5 (N, C, then one to three spatial axes), found {}",
          text_of(c.dims(In::kData)));
  require(kernel.rank() == spatial, "expected a kernel of {} spatial axes, found {}", spatial,
          kernel.rank());
  require(groups >= 1 && output_channels >= 1 && output_channels % groups == 0,
          "expected output channels that the groups divide, found {} output channels and {} groups",
          output_channels, groups);
  const auto windows = windows_of(*this);
  check_quantized_inputs(c, to, c.pool().constant(output_channels), is_float8);
  check_quantized_result(to, bounds, epilogue, 2);
  require(!sum.used || epilogue.empty(), "an epilogue and a sum together are not supported");
  check_weights(*this, c);
  Dims dims{c.dims(In::kData)[0], c.pool().constant(output_channels)};
  for (size_t i = 0; i < windows.size(); ++i)
    dims.push_back(with_context(fmt::format("spatial axis {}", i), [&] {
      return convolved(c.pool(), c.dims(In::kData)[i + 2], windows[i], padding_mode);
    }));
  if (has_addend()) check_addend(*this, c, dims);
  c.set_output(0, sum.used ? sum.to : to, std::move(dims));
}

void QuantizedConvolution::reference(const ReferenceCall& call) const {
  if (is_float8)
    compute<double>(call);
  else
    compute<int32_t>(call);
}

template <class Number> void QuantizedConvolution::compute(const ReferenceCall& call) const {
  const Shape &in = call.inputs[In::kData].shape, &out = call.outputs[0].shape;
  const WindowPlanes planes = planes_of(*this, in, out);
  const int64_t depth = in[1] / groups, taps = kernel.volume();
  const int64_t in_plane = in.volume(2, in.rank()), out_plane = out.volume(2, out.rank());
  require(call.inputs[In::kWeights].shape.volume() == output_channels * depth * taps
              && out[1] == output_channels && in[1] % groups == 0 && out[0] == in[0],
          "data {}, weights {} and result {} of a convolution of {} groups do not fit", in,
          call.inputs[In::kWeights].shape, out, groups);
  QuantizedOperands operands(output_channels);
  operands.read(call.inputs);
  const auto x = centred<Number>(call.inputs[In::kData], operands.data_zero);
  const auto w = centred<Number>(call.inputs[In::kWeights], 0);
  const size_t bytes = element_bytes(to);
  parallel_for(out[0] * output_channels, 1, [&](int64_t begin, int64_t end) {
    std::vector<Number> sums(static_cast<size_t>(out_plane));
    std::vector<float> numbers(has_operand() ? sums.size() : 0);
    for (int64_t i = begin; i < end; ++i) {
      const int64_t n = i / output_channels, m = i % output_channels;
      const int64_t first = m / (output_channels / groups) * depth;
      std::fill(sums.begin(), sums.end(), operands.bias[static_cast<size_t>(m)]);
      const Number* weight = w.data() + m * depth * taps;
      for (int64_t d = 0; d < depth; ++d) {
        const Number* plane = x.data() + (n * in[1] + first + d) * in_plane;
        for (int64_t kz = 0; kz < planes.window[0].kernel; ++kz)
          for (int64_t ky = 0; ky < planes.window[1].kernel; ++ky)
            for (int64_t kx = 0; kx < planes.window[2].kernel; ++kx)
              planes.add(plane, *weight++ - operands.weights_zero[static_cast<size_t>(m)], kz, ky,
                         kx, sums.data());
      }
      auto* const result =
          call.outputs[0].as<std::byte>() + static_cast<size_t>(i * out_plane) * bytes;
      TensorView addend;
      if (has_addend()) {
        addend = call.inputs[kAddend];
        addend.data = addend.as<std::byte>() + i * out_plane;
      }
      for (size_t k = 0; k < numbers.size(); ++k) numbers[k] = operand.number(byte_of(addend, k));
      store_with_epilogue(operands.for_channel(to, bounds, m), epilogue, sums.data(), out_plane,
                          result, numbers.data());
      if (!sum.used) continue;
      sum.run({result, to, {}}, static_cast<int32_t>(operands.result_zero), addend, out_plane,
              result);
    }
  });
}

double QuantizedConvolution::operations(std::span<const Shape> inputs,
                                        std::span<const Shape> outputs) const {
  const double taps = count_of(kernel) * static_cast<double>(inputs[0][1] / groups);
  return kMultiplyAdd * taps * count_of(outputs[0]);
}

}  // namespace tenon
