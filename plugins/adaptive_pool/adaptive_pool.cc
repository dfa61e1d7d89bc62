// AdaptivePoolPluginDynamic 1 (amirstan): torch.nn.functional.adaptive_avg_pool and
// adaptive_max_pool.
#include <tenon/plugin.h>

namespace tenon::plugins::TENON_TARGET {

using namespace tenon::kit;  // NOLINT: what plugin authors write

namespace {

enum class Pooling { kMaximum = 0, kAverage = 1 };
constexpr int kMaxAxes = 3;

// Tensors of a call. The pooled axes are the last three; those that are not there are 1.
template <class E> struct PoolCall {
  const E* x;
  E* y;
  int64_t in[kMaxAxes], out[kMaxAxes];
  Pooling pooling;

  TENON_HD int64_t first(int axis, int64_t cell) const { return cell * in[axis] / out[axis]; }
  TENON_HD int64_t end(int axis, int64_t cell) const {
    return ((cell + 1) * in[axis] + out[axis] - 1) / out[axis];
  }
};

// What is known of some elements.
struct Pooled {
  float sum = 0, largest = -HUGE_VALF;
  bool has_nan = false;

  TENON_HD void add(float value) {
    sum += value;
    has_nan = has_nan || value != value;
    largest = value > largest ? value : largest;
  }
  TENON_HD float result(Pooling pooling, int64_t count) const {
    if (pooling == Pooling::kAverage) return sum / static_cast<float>(count);
    return has_nan ? sum : largest;
  }
};

#if defined(__CUDACC__)

// One element of the result.
template <class E> struct PooledCell {
  PoolCall<E> call;

  TENON_HD void operator()(int64_t i) const {
    int64_t first[kMaxAxes], end[kMaxAxes], rest = i, count = 1, plane = 1;
    for (int a = kMaxAxes - 1; a >= 0; --a) {
      const int64_t cell = rest % call.out[a];
      rest /= call.out[a];
      first[a] = call.first(a, cell);
      end[a] = call.end(a, cell);
      count *= end[a] - first[a];
      plane *= call.in[a];
    }
    const E* from = call.x + rest * plane;
    Pooled pooled;
    for (int64_t d = first[0]; d < end[0]; ++d)
      for (int64_t h = first[1]; h < end[1]; ++h)
        for (int64_t w = first[2]; w < end[2]; ++w)
          pooled.add(static_cast<float>(from[(d * call.in[1] + h) * call.in[2] + w]));
    call.y[i] = static_cast<E>(pooled.result(call.pooling, count));
  }
};

#else

// A line of the result. Columns are pooled first, as vectors, and then those of each cell.
template <class E> class PooledLine {
 public:
  PooledLine(const PoolCall<E>& call, int64_t line)
      : call_(call), to_(call.y + line * call.out[2]) {
    const int64_t row = line % call.out[1], layer = line / call.out[1] % call.out[0];
    const int64_t plane = line / call.out[1] / call.out[0];
    first_row_ = call.first(1, row);
    end_row_ = call.end(1, row);
    first_layer_ = plane * call.in[0] + call.first(0, layer);
    end_layer_ = plane * call.in[0] + call.end(0, layer);
  }

  void run() {
    for (int64_t cell = 0; cell < call_.out[2];) {
      const int64_t begin = call_.first(2, cell);
      int64_t stop = cell;  // the first cell whose columns do not fit a span with those before
      while (stop < call_.out[2] && call_.end(2, stop) - begin <= kSpan) ++stop;
      if (stop == cell) {
        Pooled pooled;
        for (int64_t at = begin; at < call_.end(2, cell); at += kSpan) {
          const int64_t count = std::min(kSpan, call_.end(2, cell) - at);
          pool_columns(at, count);
          add(0, count, pooled);
        }
        store(cell++, pooled);
        continue;
      }
      pool_columns(begin, call_.end(2, stop - 1) - begin);
      for (; cell < stop; ++cell) {
        Pooled pooled;
        add(call_.first(2, cell) - begin, call_.end(2, cell) - begin, pooled);
        store(cell, pooled);
      }
    }
  }

 private:
  void pool_columns(int64_t begin, int64_t count) {
    for (int64_t i = 0; i < count; ++i) {
      sum_[i] = 0;
      largest_[i] = -HUGE_VALF;
      not_numbers_[i] = 0;
    }
    for (int64_t d = first_layer_; d < end_layer_; ++d)
      for (int64_t h = first_row_; h < end_row_; ++h) {
        const InputSpan<E> from(call_.x + (d * call_.in[1] + h) * call_.in[2] + begin, count);
        if (call_.pooling == Pooling::kAverage) {
          for (int64_t i = 0; i < count; ++i) sum_[i] += from[i];
        } else {
          for (int64_t i = 0; i < count; ++i) {
            const float value = from[i];
            sum_[i] += value;
            not_numbers_[i] += value != value ? 1.f : 0.f;
            largest_[i] = value > largest_[i] ? value : largest_[i];
          }
        }
      }
  }
  // Columns [begin, end) of those that were pooled.
  void add(int64_t begin, int64_t end, Pooled& pooled) const {
    for (int64_t i = begin; i < end; ++i) {
      pooled.sum += sum_[i];
      pooled.has_nan = pooled.has_nan || not_numbers_[i] > 0;
      pooled.largest = largest_[i] > pooled.largest ? largest_[i] : pooled.largest;
    }
  }
  void store(int64_t cell, const Pooled& pooled) const {
    const int64_t count = (end_layer_ - first_layer_) * (end_row_ - first_row_)
                          * (call_.end(2, cell) - call_.first(2, cell));
    to_[cell] = static_cast<E>(pooled.result(call_.pooling, count));
  }

  const PoolCall<E>& call_;
  E* to_;
  int64_t first_layer_, end_layer_, first_row_, end_row_;
  float sum_[kSpan], largest_[kSpan], not_numbers_[kSpan];
};

#endif

struct AdaptivePool {
  std::vector<int32_t> output_size;
  Pooling pooling = Pooling::kMaximum;

  using T = Types<float, Half, BFloat16>;
  static constexpr auto attributes =
      std::tuple{attribute("output_size", &AdaptivePool::output_size)
                     .says("of the last axes; 0 or less: as it is. Not needed with a second input"),
                 attribute("pooling_type", &AdaptivePool::pooling,
                           {{"max", Pooling::kMaximum}, {"avg", Pooling::kAverage}})};
  static constexpr Spec spec{
      .name = "AdaptivePoolPluginDynamic",
      .inputs = {{"x", kT}, {"size", kAny, kOptional}},
      .outputs = {{"y", kT}},
      .protocol = Protocol::kV2,
      .text =
          "torch.nn.functional.adaptive_max_pool or adaptive_avg_pool over the last 1 to 3 axes of "
          "x, to output_size, or to the shape of the second input, whose elements have no meaning.",
      .differs = "NaNs stay, as in PyTorch. float16 and bfloat16."};

  void shapes(std::span<const Extents> in, std::span<Extents> out) const {
    const size_t axes = in.size() > 1 ? in[1].size() : output_size.size();
    if (axes < 1 || axes > kMaxAxes || axes > in[0].size())
      throw std::invalid_argument(
          "output_size, or a second input, must have 1 to 3 axes, and no more than x; found "
          + std::to_string(axes));
    out[0] = in[0];
    for (size_t i = 0; i < axes; ++i) {
      Extent& extent = out[0][in[0].size() - axes + i];
      if (in.size() > 1)
        extent = in[1][i];
      else if (output_size[i] > 0)
        extent = output_size[i];
    }
  }
  void check(std::span<const Shape> in) const {
    const int axes = in.size() > 1 ? in[1].rank() : static_cast<int>(output_size.size());
    for (int i = in[0].rank() - axes; i < in[0].rank(); ++i)
      if (in[0][i] == 0) throw std::invalid_argument("x has no elements to pool");
  }
  template <class E>
  void run(const Device& device, Tensor<const E> x, Tensor<const void> size, Tensor<E> y) const {
    // A second input without elements has no address.
    const int given = size.shape.rank();
    const int axes = given > 0 ? given : static_cast<int>(output_size.size());
    PoolCall<E> call{x.data, y.data, {1, 1, 1}, {1, 1, 1}, pooling};
    for (int i = 0; i < axes; ++i) {
      const int axis = x.shape.rank() - axes + i;
      call.in[kMaxAxes - axes + i] = x.shape[axis];
      call.out[kMaxAxes - axes + i] = y.shape[axis];
    }
    if (y.shape.volume() == 0) return;
#if defined(__CUDACC__)
    device.parallel_for(y.shape.volume(), PooledCell<E>{call});
#else
    device.parallel_ranges(y.shape.volume() / call.out[2], 8, [&](int64_t begin, int64_t end) {
      with_wide_vectors([&, begin, end](auto) {
        for (int64_t line = begin; line < end; ++line) PooledLine<E>(call, line).run();
      });
    });
#endif
  }
};
TENON_PLUGIN(AdaptivePool);

}  // namespace
}  // namespace tenon::plugins::TENON_TARGET
