// TorchUnfoldPluginDynamic 1 (amirstan): torch.nn.functional.unfold.
#include <tenon/plugin.h>

namespace tenon::plugins::TENON_TARGET {

using namespace tenon::kit;  // NOLINT: what plugin authors write

namespace {

struct UnfoldAxis {
  int64_t kernel = 1, dilation = 1, padding = 0, stride = 1;

  // Of an Extent, or a number. Less than 1 where none fits.
  template <class N> N windows(const N& extent) const {
    return (extent + 2 * padding - dilation * (kernel - 1) - 1) / stride + 1;
  }
};

// Windows of a line of one tap; the result is (N, C * kernel, windows).
template <class E> struct UnfoldedLine {
  const E* x;
  E* y;
  UnfoldAxis rows, columns;
  int64_t height, width, down, across;  // windows along the axes

  TENON_HD void operator()(int64_t line, int64_t first, int64_t count) const {
    const int64_t row_of_result = line / down, tap = row_of_result % (rows.kernel * columns.kernel);
    const int64_t row = at(rows, line % down, tap / columns.kernel);
    const int64_t plane = row_of_result / (rows.kernel * columns.kernel);
    const int64_t column = at(columns, first, tap % columns.kernel);
    const E* const from = x + (plane * height + row) * width + column;
    E* const to = y + line * across + first;
    // Windows from `begin` to `end` read the input.
    const bool is_inside = row >= 0 && row < height;
    const int64_t begin = is_inside ? windows_below(-column, count) : count;
    const int64_t end = is_inside ? windows_below(width - column, count) : count;
    for (int64_t i = 0; i < begin; ++i) to[i] = static_cast<E>(0.f);
    if (columns.stride == 1)
      for (int64_t i = begin; i < end; ++i) to[i] = from[i];
    else
      for (int64_t i = begin; i < end; ++i) to[i] = from[i * columns.stride];
    for (int64_t i = end; i < count; ++i) to[i] = static_cast<E>(0.f);
  }

 private:
  TENON_HD static int64_t at(const UnfoldAxis& axis, int64_t window, int64_t tap) {
    return window * axis.stride - axis.padding + tap * axis.dilation;
  }
  // How many of `count` windows are before a distance from the first.
  TENON_HD int64_t windows_below(int64_t distance, int64_t count) const {
    if (distance <= 0) return 0;
    const int64_t windows = (distance + columns.stride - 1) / columns.stride;
    return windows < count ? windows : count;
  }
};

struct Unfold {
  std::vector<int32_t> kernel, dilation = {1, 1}, padding = {0, 0}, stride = {1, 1};

  using T = Types<float, Half, BFloat16, int32_t>;
  static constexpr auto attributes =
      std::tuple{attribute("kernel_size", &Unfold::kernel).required(),
                 attribute("dilation", &Unfold::dilation), attribute("padding", &Unfold::padding),
                 attribute("stride", &Unfold::stride)};
  static constexpr Spec spec{
      .name = "TorchUnfoldPluginDynamic",
      .inputs = {{"x", kT}},
      .outputs = {{"y", kT}},
      .protocol = Protocol::kV2,
      .text =
          "torch.nn.functional.unfold: the windows of x (N, C, H, W) as columns (N, C * kernel, "
          "windows). Attributes have one number, or one for rows and one for columns.",
      .differs = "float16 and bfloat16."};

  void prepare() const {
    axis(0);
    axis(1);
  }
  void shapes(std::span<const Extents> in, std::span<Extents> out) const {
    require_axes("x", in[0], "N, C, H, W");
    const UnfoldAxis rows = axis(0), columns = axis(1);
    out[0] = {in[0][0], in[0][1] * (rows.kernel * columns.kernel),
              max(rows.windows(in[0][2]), Extent(0)) * max(columns.windows(in[0][3]), Extent(0))};
  }
  template <class E> void run(const Device& device, Tensor<const E> x, Tensor<E> y) const {
    const UnfoldAxis rows = axis(0), columns = axis(1);
    if (y.shape.volume() == 0) return;
    const int64_t across = columns.windows(x.shape[3]);
    const int64_t down = y.shape[2] / across;
    device.parallel_spans(
        y.shape[0] * y.shape[1] * down, across,
        UnfoldedLine<E>{x.data, y.data, rows, columns, x.shape[2], x.shape[3], down, across});
  }

 private:
  static int64_t number(const char* name, const std::vector<int32_t>& list, size_t at,
                        int64_t min) {
    if (list.empty() || list.size() > 2)
      throw std::invalid_argument(std::string(name) + " must have 1 or 2 elements, found "
                                  + std::to_string(list.size()));
    const int64_t value = list[list.size() == 1 ? 0 : at];
    if (value < min || value > (1 << 20))
      throw std::invalid_argument(std::string(name) + " must be " + std::to_string(min)
                                  + " to 1048576, found " + std::to_string(value));
    return value;
  }
  UnfoldAxis axis(size_t at) const {
    return {number("kernel_size", kernel, at, 1), number("dilation", dilation, at, 1),
            number("padding", padding, at, 0), number("stride", stride, at, 1)};
  }
};
TENON_PLUGIN(Unfold);

}  // namespace
}  // namespace tenon::plugins::TENON_TARGET
