#include "ops/pooling.h"

#include <limits>

#include "ops/quantize.h"
#include "ops/support/infer.h"
#include "ops/support/operations.h"
#include "ops/support/reference.h"
#include "ops/support/window.h"

namespace tenon {

using nvinfer1::PoolingType;

TENON_REGISTER_OP(Pooling);

void Pooling::visit(FieldVisitor& v) {
  v("type", type);
  v("window", window);
  v("stride", stride);
  v("pre_padding", pre_padding);
  v("post_padding", post_padding);
  v("dilation", dilation);
  v("padding_mode", padding_mode);
  v("blend", blend);
  v("average_excludes_padding", average_excludes_padding);
  v("average_counts_all", average_counts_all);
  v("places", indices);
}

namespace {

std::vector<Window> windows_of(const Pooling& op) {
  return make_windows(op.window.rank(), op.window, op.stride, op.dilation, op.pre_padding,
                      op.post_padding);
}

// The elements of one window along one axis.
struct Span {
  int64_t first, step, begin, end;  // taps [begin, end) lie in the input, at first + tap * step
  int64_t padded;                   // taps that lie in the input or its padding

  Span(const Window& w, int64_t in, int64_t position)
      : first(position * w.stride - w.pre), step(w.dilation), begin(w.kernel), end(0), padded(0) {
    for (int64_t tap = 0; tap < w.kernel; ++tap) {
      const int64_t at = first + tap * step;
      if (at < in + w.post) ++padded;
      if (at < 0 || at >= in) continue;
      begin = std::min(begin, tap);
      end = tap + 1;
    }
  }
};

struct Planes {
  int64_t in[3] = {1, 1, 1}, out[3] = {1, 1, 1};
  Window w[3];
};

template <class T> using Wide = std::conditional_t<is_real<T>, double, int64_t>;

template <class T>
T pool_window(const Pooling& op, const T* x, const Planes& p, const Span (&s)[3]) {
  using Limits = std::numeric_limits<std::conditional_t<is_real<T>, double, T>>;
  Wide<T> sum = 0, largest = Limits::has_infinity ? static_cast<Wide<T>>(-Limits::infinity())
                                                  : static_cast<Wide<T>>(Limits::lowest());
  for (int64_t z = s[0].begin; z < s[0].end; ++z)
    for (int64_t y = s[1].begin; y < s[1].end; ++y)
      for (int64_t k = s[2].begin; k < s[2].end; ++k) {
        const int64_t iz = s[0].first + z * s[0].step, iy = s[1].first + y * s[1].step;
        const auto value = static_cast<Wide<T>>(
            load(x[(iz * p.in[1] + iy) * p.in[2] + s[2].first + k * s[2].step]));
        sum += value;
        if (value > largest || value != value) largest = value;  // a NaN stays
      }
  if (op.type == PoolingType::kMAX) return store<T>(largest);
  int64_t count = 1;
  for (int i = 0; i < 3; ++i)
    count *= op.average_counts_all         ? p.w[i].kernel
             : op.average_excludes_padding ? std::max<int64_t>(0, s[i].end - s[i].begin)
                                           : s[i].padded;
  const double average = count == 0 ? 0 : static_cast<double>(sum) / static_cast<double>(count);
  if (op.type == PoolingType::kAVERAGE) return store<T>(average);
  return store<T>((1 - double{op.blend}) * static_cast<double>(largest) + op.blend * average);
}

// A NaN is greater than every number.
template <class T> bool is_greater(T a, T b) {
  return a > b || (a != a && b == b);
}

// Where in the plane, rows first, the first maximum of a window is; -1 for no elements.
template <class T> int64_t index_of_maximum(const T* x, const Planes& p, const Span (&s)[3]) {
  int64_t index = -1;
  for (int64_t z = s[0].begin; z < s[0].end; ++z)
    for (int64_t y = s[1].begin; y < s[1].end; ++y)
      for (int64_t k = s[2].begin; k < s[2].end; ++k) {
        const int64_t iz = s[0].first + z * s[0].step, iy = s[1].first + y * s[1].step;
        const int64_t at = (iz * p.in[1] + iy) * p.in[2] + s[2].first + k * s[2].step;
        if (index < 0 || is_greater(load(x[at]), load(x[index]))) index = at;
      }
  return index;
}

int64_t columns_first(int64_t index, const Planes& p) {
  const int64_t x = index % p.in[2], y = index / p.in[2] % p.in[1], z = index / p.in[2] / p.in[1];
  return (x * p.in[1] + y) * p.in[0] + z;
}

// Values and indices, counted from `base`.
template <class T>
void pool_plane_with_indices(const Pooling& op, const T* x, const Planes& p, int64_t base, T* to,
                             int64_t* indices) {
  for (int64_t z = 0; z < p.out[0]; ++z)
    for (int64_t y = 0; y < p.out[1]; ++y)
      for (int64_t k = 0; k < p.out[2]; ++k) {
        const Span spans[] = {Span(p.w[0], p.in[0], z), Span(p.w[1], p.in[1], y),
                              Span(p.w[2], p.in[2], k)};
        const int64_t index = index_of_maximum(x, p, spans);
        *to++ = index < 0 ? pool_window<T>(op, x, p, spans) : x[index];
        *indices++ = index < 0                                     ? -1
                     : op.indices == PoolingIndices::kColumnsFirst ? base + columns_first(index, p)
                                                                   : base + index;
      }
}

template <class T> void pool_plane(const Pooling& op, const T* x, const Planes& p, T* to) {
  for (int64_t z = 0; z < p.out[0]; ++z)
    for (int64_t y = 0; y < p.out[1]; ++y)
      for (int64_t k = 0; k < p.out[2]; ++k)
        *to++ = pool_window<T>(
            op, x, p,
            {Span(p.w[0], p.in[0], z), Span(p.w[1], p.in[1], y), Span(p.w[2], p.in[2], k)});
}

}  // namespace

void Pooling::infer(Inference& c) const {
  require_inputs(c, 1, 1);
  require(type >= PoolingType::kMAX && type <= PoolingType::kMAX_AVERAGE_BLEND,
          "expected a PoolingType (0 to 2), found {}", static_cast<int32_t>(type));
  check_padding_mode(padding_mode);
  require(indices >= PoolingIndices::kNone && indices <= PoolingIndices::kColumnsFirst,
          "expected PoolingIndices (0 to 2), found {}", static_cast<int32_t>(indices));
  require(indices == PoolingIndices::kNone || type == PoolingType::kMAX,
          "only maxima have indices");
  if (!is_byte(c.type(0)) || type != PoolingType::kMAX) require_float(c, 0, "the data");
  const int spatial = c.rank(0) - 2;
  require(spatial == 2 || spatial == 3,
          "expected data of rank 4 or 5 (N,C, then two or three spatial axes), found {}",
          text_of(c.dims(0)));
  require(window.rank() == spatial, "expected a window of {} axes, found {}", spatial,
          window.rank());
  const auto windows = windows_of(*this);
  Dims dims{c.dims(0)[0], c.dims(0)[1]};
  for (size_t i = 0; i < windows.size(); ++i)
    dims.push_back(with_context(fmt::format("spatial axis {}", i), [&] {
      return pooled(c.pool(), c.dims(0)[i + 2], windows[i], padding_mode);
    }));
  c.set_output(0, c.type(0), dims);
  if (indices != PoolingIndices::kNone) c.set_output(1, DataType::kINT64, std::move(dims));
}

void Pooling::reference(const ReferenceCall& call) const {
  const Shape &in = call.inputs[0].shape, &out = call.outputs[0].shape;
  require(in[0] == out[0] && in[1] == out[1], "cannot pool {} to {}", in, out);
  const auto windows = windows_of(*this);
  Planes planes;
  for (size_t i = 0; i < windows.size(); ++i) {
    const auto axis = static_cast<int>(i) + 2;
    const size_t at = 3 - windows.size() + i;
    planes.in[at] = in[axis];
    planes.out[at] = out[axis];
    planes.w[at] = resolved(windows[i], in[axis], out[axis], padding_mode);
  }
  const int64_t in_plane = in.volume(2, in.rank()), out_plane = out.volume(2, out.rank());
  with_type(call.outputs[0].type, [&](auto zero) {
    using T = decltype(zero);
    parallel_for(out[0] * out[1], 1, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const T* x = call.inputs[0].as<T>() + i * in_plane;
        T* to = call.outputs[0].as<T>() + i * out_plane;
        if (indices == PoolingIndices::kNone)
          pool_plane(*this, x, planes, to);
        else
          pool_plane_with_indices(*this, x, planes, i * in_plane, to,
                                  call.outputs[1].as<int64_t>() + i * out_plane);
      }
    });
  });
}

double Pooling::operations(std::span<const Shape>, std::span<const Shape> outputs) const {
  return count_of(window) * count_of(outputs[0]);
}

}  // namespace tenon
