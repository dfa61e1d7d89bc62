#include "ops/support/convolution_shared.h"

#include "ops/support/epilogue.h"
#include "ops/support/infer.h"

namespace tenon {
namespace {

// The kernel has a shape of its own, or lists its elements.
void check_kernel(const Inference& c, const ConvolutionAttributes& op, Dim channels, int input,
                  bool transposed) {
  if (!channels->is_constant()) return;
  const int64_t depth = channels->value.integer;
  require(depth % op.groups == 0, "expected input channels that {} groups divide, found {}",
          op.groups, depth);
  Shape expected = transposed ? Shape{depth, op.output_channels / op.groups}
                              : Shape{op.output_channels, depth / op.groups};
  for (int64_t k : op.kernel) expected.push_back(k);
  require_count(c, input, "the kernel", expected.volume());
  const auto shape = c.constant_shape(input);
  if (!shape || shape->rank() != expected.rank()) return;
  require(*shape == expected, "expected a kernel (input {}) of shape {}, found {}", input, expected,
          *shape);
}

// Adds to a plane of results what one channel contributes: two- and three-dimensional alike, the
// first of three axes having extent 1 in two dimensions. A tap joins elements of the smaller plane
// with those of the larger at `stride` times their position: a convolution gathers from the larger
// plane, a transposed one scatters into it.
template <bool transposed> struct Plane {
  int64_t in[3] = {1, 1, 1}, out[3] = {1, 1, 1};
  Window w[3];

  void add(const float* x, const float* k, double* sum) const {
    for (int64_t kz = 0; kz < w[0].kernel; ++kz)
      for (int64_t ky = 0; ky < w[1].kernel; ++ky)
        for (int64_t kx = 0; kx < w[2].kernel; ++kx) add_tap(x, *k++, kz, ky, kx, sum);
  }

  void add_tap(const float* x, double weight, int64_t kz, int64_t ky, int64_t kx,
               double* sum) const {
    const int64_t* small = transposed ? in : out;
    const int64_t* large = transposed ? out : in;
    const int64_t shift = kx * w[2].dilation - w[2].pre;
    for (int64_t sz = 0; sz < small[0]; ++sz) {
      const int64_t lz = sz * w[0].stride + kz * w[0].dilation - w[0].pre;
      if (lz < 0 || lz >= large[0]) continue;
      for (int64_t sy = 0; sy < small[1]; ++sy) {
        const int64_t ly = sy * w[1].stride + ky * w[1].dilation - w[1].pre;
        if (ly < 0 || ly >= large[1]) continue;
        const int64_t small_row = (sz * small[1] + sy) * small[2];
        const int64_t large_row = (lz * large[1] + ly) * large[2];
        const float* from = x + (transposed ? small_row : large_row);
        double* to = sum + (transposed ? large_row : small_row);
        for (int64_t sx = 0; sx < small[2]; ++sx) {
          const int64_t lx = sx * w[2].stride + shift;
          if (lx < 0 || lx >= large[2]) continue;
          if constexpr (transposed)
            to[lx] += weight * static_cast<double>(from[sx]);
          else
            to[sx] += weight * static_cast<double>(from[lx]);
        }
      }
    }
  }
};

template <bool transposed>
void run(const ReferenceCall& call, const ConvolutionAttributes& op,
         const Plane<transposed>& plane) {
  const Shape &in = call.inputs[0].shape, &out = call.outputs[0].shape;
  const int64_t depth = in[1] / op.groups, output_channels = op.output_channels / op.groups;
  const int64_t taps = op.kernel.volume();
  const int64_t in_plane = in.volume(2, in.rank()), out_plane = out.volume(2, out.rank());
  const Floats x(call.inputs[0]), k(call.inputs[1]);
  const Floats bias(call.inputs.size() > 2 ? call.inputs[2] : TensorView{});
  with_float(call.outputs[0].type, [&](auto zero) {
    using T = decltype(zero);
    parallel_for(out[0] * op.output_channels, 1, [&](int64_t begin, int64_t end) {
      std::vector<double> sum(static_cast<size_t>(out_plane));
      for (int64_t i = begin; i < end; ++i) {
        const int64_t n = i / op.output_channels, m = i % op.output_channels,
                      first = m / output_channels * depth;
        std::fill(sum.begin(), sum.end(), bias.data() == nullptr ? 0.0 : double{bias[m]});
        for (int64_t d = 0; d < depth; ++d) {
          const int64_t kernel =
              transposed ? (first + d) * output_channels + m % output_channels : m * depth + d;
          plane.add(x.data() + (n * in[1] + first + d) * in_plane, k.data() + kernel * taps,
                    sum.data());
        }
        T* to = call.outputs[0].as<T>() + i * out_plane;
        for (size_t p = 0; p < sum.size(); ++p) to[p] = store<T>(sum[p]);
      }
    });
  });
}

}  // namespace

void ConvolutionAttributes::visit_attributes(FieldVisitor& v, const std::string& prefix) {
  const auto visit = [&](const char* name, auto& member) { v((prefix + name).c_str(), member); };
  visit("output_channels", output_channels);
  visit("kernel", kernel);
  visit("stride", stride);
  visit("dilation", dilation);
  visit("pre_padding", pre_padding);
  visit("post_padding", post_padding);
  visit("padding_mode", padding_mode);
  visit("groups", groups);
  epilogue.visit(v, prefix + "epilogue_");
}

std::vector<Window> ConvolutionAttributes::windows() const {
  return make_windows(kernel.rank(), kernel, stride, dilation, pre_padding, post_padding);
}

void check_convolution_operands(const Inference& c, const ConvolutionAttributes& op,
                                const ConvolutionInputs& inputs) {
  require_float(c, 0, "the data");
  require_type_of_data(c, inputs.kernel, "the kernel");
  if (c.has_input(inputs.bias)) require_type_of_data(c, inputs.bias, "the bias");
  check_epilogue_operands(c, op.epilogue, inputs.operands);
}

Dims convolution_dims(Inference& c, const ConvolutionAttributes& op, const Dims& data,
                      const ConvolutionInputs& inputs, bool transposed,
                      FunctionRef<Dim(size_t axis, Dim in, const Window&)> extent) {
  check_padding_mode(op.padding_mode);
  const int spatial = static_cast<int>(data.size()) - 2;
  require(spatial == 2 || spatial == 3,
          "expected data of rank 4 or 5 (N,C, then two or three spatial axes), found {}",
          text_of(data));
  require(op.kernel.rank() == spatial, "expected a kernel of {} spatial axes, found {}", spatial,
          op.kernel.rank());
  require(op.groups >= 1 && op.output_channels >= 1 && op.output_channels % op.groups == 0,
          "expected output channels that the groups divide, found {} output channels and {} groups",
          op.output_channels, op.groups);
  const auto windows = op.windows();
  check_kernel(c, op, data[1], inputs.kernel, transposed);
  if (c.has_input(inputs.bias)) require_count(c, inputs.bias, "the bias", op.output_channels);
  Dims dims{data[0], c.pool().constant(op.output_channels)};
  for (size_t i = 0; i < windows.size(); ++i)
    dims.push_back(with_context(fmt::format("spatial axis {}", i),
                                [&] { return extent(i, data[i + 2], windows[i]); }));
  check_epilogue(c, op.epilogue, inputs.operands, dims);
  return dims;
}

void infer_convolution(Inference& c, const ConvolutionAttributes& op, bool transposed,
                       FunctionRef<Dim(size_t axis, Dim in, const Window&)> extent) {
  require_inputs(c, 2, INT32_MAX);
  check_convolution_operands(c, op, {});
  c.set_output(0, c.type(0), convolution_dims(c, op, c.dims(0), {}, transposed, extent));
}

void run_convolution(
    const ReferenceCall& call, const ConvolutionAttributes& op, bool transposed,
    FunctionRef<Window(size_t axis, const Window&, int64_t in, int64_t out)> resolve) {
  const Shape &in = call.inputs[0].shape, &out = call.outputs[0].shape;
  const int64_t elements = op.output_channels * (in[1] / op.groups) * op.kernel.volume();
  require(call.inputs[1].shape.volume() == elements && out[1] == op.output_channels
              && in[1] % op.groups == 0 && out[0] == in[0],
          "data {}, kernel {} and result {} of {} groups do not fit", in, call.inputs[1].shape, out,
          op.groups);
  const auto compute = [&](auto plane) {
    const auto windows = op.windows();
    for (size_t i = 0; i < windows.size(); ++i) {
      const auto axis = static_cast<int>(i) + 2;
      const size_t at = 3 - windows.size() + i;
      plane.in[at] = in[axis];
      plane.out[at] = out[axis];
      plane.w[at] = resolve(i, windows[i], in[axis], out[axis]);
    }
    run(call, op, plane);
  };
  if (transposed)
    compute(Plane<true>());
  else
    compute(Plane<false>());
  run_epilogue(op.epilogue, call, 3);
}

}  // namespace tenon
