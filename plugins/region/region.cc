// Region_TRT 1: the last layer of YOLOv2, darknet's region.
#include <tenon/kernels/elementary.h>
#include <tenon/plugin.h>

namespace tenon::plugins::TENON_TARGET {

using namespace tenon::kit;  // NOLINT: what plugin authors write

namespace {

// Channels of a box: where it is and how large, whether there is one, and a score for each class.
// One box of some pixels.
template <class E> struct RegionBox {
  const E* x;
  E* y;
  int64_t plane, coordinates, classes;

  TENON_HD void operator()(int64_t box, int64_t pixel, int64_t count) const {
    const int64_t first = coordinates + 1, end = first + classes;
    const int64_t at = box * end * plane + pixel;
    const auto each = [&](int64_t channel, const auto& f) {
      const InputSpan<E> from(x + at + channel * plane, count);
      for (int64_t i = 0; i < count; ++i) f(i, from[i]);
    };
    const auto write = [&](int64_t channel, const auto& f) {
      const InputSpan<E> from(x + at + channel * plane, count);
      const OutputSpan<E> to(y + at + channel * plane);
      for (int64_t i = 0; i < count; ++i) to[i] = f(i, from[i]);
      to.store(count);
    };
    const auto squeezed = [](int64_t, float value) { return kernels::sigmoid(value); };
    for (int64_t c = 0; c < 2; ++c) write(c, squeezed);
    for (int64_t c = 2; c < coordinates; ++c) write(c, [](int64_t, float value) { return value; });
    write(coordinates, squeezed);
    float largest[kSpan], sum[kSpan];
    for (int64_t i = 0; i < count; ++i) largest[i] = -HUGE_VALF, sum[i] = 0;
    for (int64_t c = first; c < end; ++c)
      each(c,
           [&](int64_t i, float value) { largest[i] = value > largest[i] ? value : largest[i]; });
    for (int64_t c = first; c < end; ++c)
      each(c, [&](int64_t i, float value) { sum[i] += kernels::share(value - largest[i]); });
    for (int64_t c = first; c < end; ++c)
      write(c, [&](int64_t i, float value) { return kernels::share(value - largest[i]) / sum[i]; });
  }
};

struct Region {
  int32_t boxes = 5, coordinates = 4, classes = 80;

  using T = Types<float, Half, BFloat16>;
  static constexpr auto attributes =
      std::tuple{attribute("num", &Region::boxes).says("boxes of a pixel"),
                 attribute("coords", &Region::coordinates).says("numbers of a box"),
                 attribute("classes", &Region::classes)};
  static constexpr Spec spec{
      .name = "Region_TRT",
      .inputs = {{"x", kT}},
      .outputs = {{"y", kT}},
      .protocol = Protocol::kV2,
      .text =
          "The head of YOLOv2, (N, num * (coords + 1 + classes), H, W): of each box the sigmoid of "
          "its place (two channels) and of its objectness, and the softmax of its classes. Width "
          "and height stay.",
      .differs =
          "Attributes are read one by one, and boxes may have other than 4 coordinates. float16 "
          "and bfloat16. There is no tree of classes."};

  void prepare() const {
    require_at_least("num", boxes, 1);
    require_at_least("coords", coordinates, 2);
    require_at_least("classes", classes, 1);
  }
  void check(std::span<const Shape> in) const {
    const int64_t numbers = int64_t{coordinates} + 1 + classes;
    if (in[0].rank() != 4 || in[0][1] != boxes * numbers)
      throw std::invalid_argument("x must be (N, " + std::to_string(boxes * numbers)
                                  + ", H, W), that is num * (coords + 1 + classes) channels, found "
                                  + text_of(in[0]));
  }
  template <class E> void run(const Device& device, Tensor<const E> x, Tensor<E> y) const {
    const int64_t plane = x.shape[2] * x.shape[3];
    device.parallel_spans(x.shape[0] * boxes, plane,
                          RegionBox<E>{x.data, y.data, plane, coordinates, classes});
  }
};
TENON_PLUGIN(Region);

}  // namespace
}  // namespace tenon::plugins::TENON_TARGET
