// AdaptivePoolPluginDynamic 1 (amirstan): torch.nn.functional.adaptive_avg_pool and
// adaptive_max_pool.
#include <tenon/plugin.h>

namespace tenon::plugins::TENON_TARGET {

using namespace tenon::kit;  // NOLINT: what plugin authors write

namespace {

enum class Pooling { kMaximum = 0, kAverage = 1 };
constexpr int kMaxAxes = 3;

// One element of the result. The pooled axes are the last three; those that are not there are 1.
template <class E> struct PooledCell {
  const E* x;
  E* y;
  int64_t in[kMaxAxes], out[kMaxAxes];
  Pooling pooling;

  TENON_HD void operator()(int64_t i) const {
    int64_t first[kMaxAxes], end[kMaxAxes], rest = i, count = 1, plane = 1;
    for (int a = kMaxAxes - 1; a >= 0; --a) {
      const int64_t at = rest % out[a];
      rest /= out[a];
      first[a] = at * in[a] / out[a];
      end[a] = ((at + 1) * in[a] + out[a] - 1) / out[a];
      count *= end[a] - first[a];
      plane *= in[a];
    }
    const E* from = x + rest * plane;
    float sum = 0, largest = -HUGE_VALF;
    bool has_nan = false;
    for (int64_t d = first[0]; d < end[0]; ++d)
      for (int64_t h = first[1]; h < end[1]; ++h)
        for (int64_t w = first[2]; w < end[2]; ++w) {
          const auto value = static_cast<float>(from[(d * in[1] + h) * in[2] + w]);
          sum += value;
          has_nan = has_nan || value != value;
          largest = value > largest ? value : largest;
        }
    if (pooling == Pooling::kAverage)
      y[i] = static_cast<E>(sum / static_cast<float>(count));
    else
      y[i] = static_cast<E>(has_nan ? sum : largest);
  }
};

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
    PooledCell<E> cell{x.data, y.data, {1, 1, 1}, {1, 1, 1}, pooling};
    for (int i = 0; i < axes; ++i) {
      const int axis = x.shape.rank() - axes + i;
      cell.in[kMaxAxes - axes + i] = x.shape[axis];
      cell.out[kMaxAxes - axes + i] = y.shape[axis];
    }
    device.parallel_for(y.shape.volume(), cell);
  }
};
TENON_PLUGIN(AdaptivePool);

}  // namespace
}  // namespace tenon::plugins::TENON_TARGET
