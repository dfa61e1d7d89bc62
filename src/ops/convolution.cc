#include "ops/convolution.h"

#include "ops/epilogue.h"
#include "ops/infer.h"
#include "ops/reference.h"
#include "ops/window.h"

namespace tenon {

TENON_REGISTER_OP(Convolution);

void Convolution::visit(FieldVisitor& v) {
  v("output_maps", output_maps);
  v("kernel", kernel);
  v("stride", stride);
  v("dilation", dilation);
  v("pre_padding", pre_padding);
  v("post_padding", post_padding);
  v("padding_mode", padding_mode);
  v("groups", groups);
  epilogue.visit(v, "epilogue_");
}

namespace {

std::vector<Window> windows_of(const Convolution& op) {
  return make_windows(op.kernel.rank(), op.kernel, op.stride, op.dilation, op.pre_padding,
                      op.post_padding);
}

// The kernel has a shape of its own, or lists its elements.
void check_kernel(const Convolution& op, const Inference& c) {
  const Dim channels = c.dims(0)[1];
  if (!channels->is_constant()) return;
  const int64_t depth = channels->value.integer;
  require(depth % op.groups == 0, "expected input channels that {} groups divide, found {}",
          op.groups, depth);
  Shape expected{op.output_maps, depth / op.groups};
  for (int64_t k : op.kernel) expected.push_back(k);
  require_count(c, 1, "the kernel", expected.volume());
  const auto shape = c.constant_shape(1);
  if (!shape || shape->rank() != expected.rank()) return;
  require(*shape == expected, "expected a kernel (input 1) of shape {}, found {}", expected,
          *shape);
}

// Adds to a plane of results what one channel contributes: two- and three-dimensional alike, the
// first of three axes having extent 1 in two dimensions.
struct Plane {
  int64_t in[3], out[3];
  Window w[3];

  void add(const float* x, const float* k, double* sum) const {
    for (int64_t kz = 0; kz < w[0].kernel; ++kz)
      for (int64_t ky = 0; ky < w[1].kernel; ++ky)
        for (int64_t kx = 0; kx < w[2].kernel; ++kx) add_tap(x, *k++, kz, ky, kx, sum);
  }

  void add_tap(const float* x, double weight, int64_t kz, int64_t ky, int64_t kx,
               double* sum) const {
    const int64_t shift = kx * w[2].dilation - w[2].pre;
    for (int64_t oz = 0; oz < out[0]; ++oz) {
      const int64_t iz = oz * w[0].stride + kz * w[0].dilation - w[0].pre;
      if (iz < 0 || iz >= in[0]) continue;
      for (int64_t oy = 0; oy < out[1]; ++oy) {
        const int64_t iy = oy * w[1].stride + ky * w[1].dilation - w[1].pre;
        if (iy < 0 || iy >= in[1]) continue;
        const float* row = x + (iz * in[1] + iy) * in[2];
        double* to = sum + (oz * out[1] + oy) * out[2];
        for (int64_t ox = 0; ox < out[2]; ++ox) {
          const int64_t ix = ox * w[2].stride + shift;
          if (ix >= 0 && ix < in[2]) to[ox] += weight * static_cast<double>(row[ix]);
        }
      }
    }
  }
};

}  // namespace

void Convolution::infer(Inference& c) const {
  require_inputs(c, 2, INT32_MAX);
  check_padding_mode(padding_mode);
  require_float(c, 0, "the data");
  require_type_of_data(c, 1, "the kernel");
  const int spatial = c.rank(0) - 2;
  require(spatial == 2 || spatial == 3,
          "expected data of rank 4 or 5 (N,C, then two or three spatial axes), found {}",
          text_of(c.dims(0)));
  require(kernel.rank() == spatial, "expected a kernel of {} spatial axes, found {}", spatial,
          kernel.rank());
  require(groups >= 1 && output_maps >= 1 && output_maps % groups == 0,
          "expected output maps that the groups divide, found {} maps and {} groups", output_maps,
          groups);
  const auto windows = windows_of(*this);
  check_kernel(*this, c);
  if (c.has_input(2)) {
    require_type_of_data(c, 2, "the bias");
    require_count(c, 2, "the bias", output_maps);
  }
  Dims dims{c.dims(0)[0], c.pool().constant(output_maps)};
  for (size_t i = 0; i < windows.size(); ++i)
    dims.push_back(with_context(fmt::format("spatial axis {}", i), [&] {
      return convolved(c.pool(), c.dims(0)[i + 2], windows[i], padding_mode);
    }));
  check_epilogue(c, epilogue, 3, dims);
  c.set_output(0, c.type(0), std::move(dims));
}

void Convolution::reference(const ReferenceCall& call) const {
  const Shape &in = call.inputs[0].shape, &out = call.outputs[0].shape;
  const auto windows = windows_of(*this);
  Plane plane{{1, 1, 1}, {1, 1, 1}, {}};
  const auto spatial = windows.size();
  for (size_t i = 0; i < spatial; ++i) {
    const auto axis = static_cast<int>(i) + 2;
    const size_t at = 3 - spatial + i;
    plane.in[at] = in[axis];
    plane.out[at] = out[axis];
    plane.w[at] = resolved(windows[i], in[axis], out[axis], padding_mode);
  }
  const int64_t depth = in[1] / groups, taps = kernel.volume();
  const int64_t in_plane = in.volume(2, in.rank()), out_plane = out.volume(2, out.rank());
  require(call.inputs[1].shape.volume() == output_maps * depth * taps && out[1] == output_maps
              && in[1] % groups == 0 && out[0] == in[0],
          "data {}, kernel {} and result {} of a convolution of {} groups do not fit", in,
          call.inputs[1].shape, out, groups);
  const Floats x(call.inputs[0]), k(call.inputs[1]);
  const Floats bias(call.inputs.size() > 2 ? call.inputs[2] : TensorView{});
  with_float(call.outputs[0].type, [&](auto zero) {
    using T = decltype(zero);
    parallel_for(out[0] * output_maps, 1, [&](int64_t begin, int64_t end) {
      std::vector<double> sum(static_cast<size_t>(out_plane));
      for (int64_t i = begin; i < end; ++i) {
        const int64_t n = i / output_maps, m = i % output_maps;
        const int64_t first = m / (output_maps / groups) * depth;
        std::fill(sum.begin(), sum.end(), bias.data() == nullptr ? 0.0 : double{bias[m]});
        for (int64_t d = 0; d < depth; ++d)
          plane.add(x.data() + (n * in[1] + first + d) * in_plane,
                    k.data() + (m * depth + d) * taps, sum.data());
        T* to = call.outputs[0].as<T>() + i * out_plane;
        for (size_t p = 0; p < sum.size(); ++p) to[p] = store<T>(sum[p]);
      }
    });
  });
  run_epilogue(epilogue, call, 3);
}

}  // namespace tenon
