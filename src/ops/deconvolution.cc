#include "ops/deconvolution.h"

#include "ops/epilogue.h"
#include "ops/infer.h"
#include "ops/reference.h"
#include "ops/window.h"

namespace tenon {

TENON_REGISTER_OP(Deconvolution);

void Deconvolution::visit(FieldVisitor& v) {
  v("output_maps", output_maps);
  v("kernel", kernel);
  v("stride", stride);
  v("dilation", dilation);
  v("pre_padding", pre_padding);
  v("post_padding", post_padding);
  v("output_padding", output_padding);
  v("padding_mode", padding_mode);
  v("groups", groups);
  epilogue.visit(v, "epilogue_");
}

namespace {

std::vector<Window> windows_of(const Deconvolution& op) {
  return make_windows(op.kernel.rank(), op.kernel, op.stride, op.dilation, op.pre_padding,
                      op.post_padding);
}

int64_t extra(const Deconvolution& op, size_t axis) {
  return op.output_padding.rank() == 0 ? 0 : op.output_padding[static_cast<int>(axis)];
}

void check_kernel(const Deconvolution& op, const Inference& c) {
  const Dim channels = c.dims(0)[1];
  if (!channels->is_constant()) return;
  const int64_t depth = channels->value.integer;
  require(depth % op.groups == 0, "expected input channels that {} groups divide, found {}",
          op.groups, depth);
  Shape expected{depth, op.output_maps / op.groups};
  for (int64_t k : op.kernel) expected.push_back(k);
  require_count(c, 1, "the kernel", expected.volume());
  const auto shape = c.constant_shape(1);
  if (!shape || shape->rank() != expected.rank()) return;
  require(*shape == expected, "expected a kernel (input 1) of shape {}, found {}", expected,
          *shape);
}

// Adds to a plane of results what one channel contributes; the first of three axes has extent 1 in
// two dimensions.
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
    for (int64_t iz = 0; iz < in[0]; ++iz) {
      const int64_t oz = iz * w[0].stride + kz * w[0].dilation - w[0].pre;
      if (oz < 0 || oz >= out[0]) continue;
      for (int64_t iy = 0; iy < in[1]; ++iy) {
        const int64_t oy = iy * w[1].stride + ky * w[1].dilation - w[1].pre;
        if (oy < 0 || oy >= out[1]) continue;
        const float* row = x + (iz * in[1] + iy) * in[2];
        double* to = sum + (oz * out[1] + oy) * out[2];
        for (int64_t ix = 0; ix < in[2]; ++ix) {
          const int64_t ox = ix * w[2].stride + shift;
          if (ox >= 0 && ox < out[2]) to[ox] += weight * static_cast<double>(row[ix]);
        }
      }
    }
  }
};

}  // namespace

void Deconvolution::infer(Inference& c) const {
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
  require(output_padding.rank() == 0 || output_padding.rank() == spatial,
          "expected {} entries in the output padding, found {}", spatial, output_padding.rank());
  for (int64_t p : output_padding)
    require(p >= 0, "expected output padding of at least 0, found {}", p);
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
      return deconvolved(c.pool(), c.dims(0)[i + 2], windows[i], extra(*this, i), padding_mode);
    }));
  check_epilogue(c, epilogue, 3, dims);
  c.set_output(0, c.type(0), std::move(dims));
}

void Deconvolution::reference(const ReferenceCall& call) const {
  const Shape &in = call.inputs[0].shape, &out = call.outputs[0].shape;
  const auto windows = windows_of(*this);
  Plane plane{{1, 1, 1}, {1, 1, 1}, {}};
  const auto spatial = windows.size();
  for (size_t i = 0; i < spatial; ++i) {
    const auto axis = static_cast<int>(i) + 2;
    const size_t at = 3 - spatial + i;
    plane.in[at] = in[axis];
    plane.out[at] = out[axis];
    plane.w[at] =
        resolved_transposed(windows[i], in[axis], out[axis], extra(*this, i), padding_mode);
  }
  const int64_t depth = in[1] / groups, maps = output_maps / groups, taps = kernel.volume();
  const int64_t in_plane = in.volume(2, in.rank()), out_plane = out.volume(2, out.rank());
  require(call.inputs[1].shape.volume() == in[1] * maps * taps && out[1] == output_maps
              && in[1] % groups == 0 && out[0] == in[0],
          "data {}, kernel {} and result {} of a deconvolution of {} groups do not fit", in,
          call.inputs[1].shape, out, groups);
  const Floats x(call.inputs[0]), k(call.inputs[1]);
  const Floats bias(call.inputs.size() > 2 ? call.inputs[2] : TensorView{});
  with_float(call.outputs[0].type, [&](auto zero) {
    using T = decltype(zero);
    parallel_for(out[0] * output_maps, 1, [&](int64_t begin, int64_t end) {
      std::vector<double> sum(static_cast<size_t>(out_plane));
      for (int64_t i = begin; i < end; ++i) {
        const int64_t n = i / output_maps, m = i % output_maps, group = m / maps;
        std::fill(sum.begin(), sum.end(), bias.data() == nullptr ? 0.0 : double{bias[m]});
        for (int64_t d = group * depth; d < (group + 1) * depth; ++d)
          plane.add(x.data() + (n * in[1] + d) * in_plane, k.data() + (d * maps + m % maps) * taps,
                    sum.data());
        T* to = call.outputs[0].as<T>() + i * out_plane;
        for (size_t p = 0; p < sum.size(); ++p) to[p] = store<T>(sum[p]);
      }
    });
  });
  run_epilogue(epilogue, call, 3);
}

}  // namespace tenon
