// MMCVBorderAlign 1: mmcv.ops.BorderAlign ("BorderDet", Qiu et al. 2020).
#include <tenon/kernels/roi_region.h>
#include <tenon/plugin.h>

namespace tenon::plugins::TENON_TARGET {

using namespace tenon::kit;  // NOLINT: what plugin authors write

namespace {

// The largest sample along one border of a box: the top from its left, the left from its top, the
// bottom from its right, the right from its bottom.
template <class E> struct BorderElement {
  const E *input, *boxes;
  E* y;
  int64_t channels, height, width, count, samples;

  TENON_HD void operator()(int64_t i) const {
    const int64_t border = i % 4, box = i / 4 % count, channel = i / (4 * count) % channels;
    const int64_t image = i / (4 * count * channels);
    const E* const b = boxes + (image * count + box) * 4;
    const E* const plane = input + ((image * 4 + border) * channels + channel) * height * width;
    const auto at = [&](int64_t k) { return static_cast<float>(b[k]); };
    const int64_t corner = border / 2 * 2;
    const float step = (border % 2 == 0 ? at(2) - at(0) : at(3) - at(1))
                       / static_cast<float>(samples) * (border < 2 ? 1.f : -1.f);
    float largest = -HUGE_VALF;
    for (int64_t s = 0; s <= samples; ++s) {
      const float along = step * static_cast<float>(s);
      const float value = sample(plane, at(corner + 1) + (border % 2 == 0 ? 0 : along),
                                 at(corner) + (border % 2 == 0 ? along : 0));
      largest = s == 0 || value > largest ? value : largest;
    }
    y[i] = static_cast<E>(largest);
  }

 private:
  TENON_HD float sample(const E* plane, float row, float column) const {
    kernels::Tap taps[4];
    float sum = 0;
    if (!kernels::find_taps(kernels::Region{0, 0, 0, 0, 0, 0}, height, width, row, column, 1, taps))
      return 0;
    for (const kernels::Tap& t : taps) sum += static_cast<float>(plane[t.offset]) * t.weight;
    return sum;
  }
};

struct BorderAlign {
  int32_t samples = 10;

  using T = Types<float, Half, BFloat16>;
  static constexpr auto attributes =
      std::tuple{attribute("pool_size", &BorderAlign::samples).says("steps along a border")};
  static constexpr Spec spec{
      .name = "MMCVBorderAlign",
      .inputs = {{"input", kT}, {"boxes", kT}},
      .outputs = {{"output", kT}},
      .protocol = Protocol::kV2,
      .text =
          "mmcv.ops.BorderAlign: the largest bilinear sample along each border of boxes (N, K, 4), "
          "from that quarter of the channels of the input (N, 4 * C, H, W) that is for the border: "
          "(N, C, K, 4) of top, left, bottom and right.",
      .differs = "There is none for TensorRT elsewhere. float16 and bfloat16."};

  void prepare() const {
    require_at_least("pool_size", samples, 1);
    if (samples > 1024)
      throw std::invalid_argument("pool_size must be at most 1024, found "
                                  + std::to_string(samples));
  }
  void shapes(std::span<const Extents> in, std::span<Extents> out) const {
    require_axes("input", in[0], "N, 4 * C, H, W");
    require_axes("boxes", in[1], "N, K, 4");
    out[0] = {in[0][0], in[0][1] / 4, in[1][1], 4};
  }
  void check(std::span<const Shape> in) const {
    if (in[0][1] % 4 != 0 || in[1][0] != in[0][0] || in[1][2] != 4)
      throw std::invalid_argument("input " + text_of(in[0]) + " and boxes " + text_of(in[1])
                                  + " do not fit; expected (N, 4 * C, H, W) and (N, K, 4)");
    if (in[0][2] < 1 || in[0][3] < 1)
      throw std::invalid_argument("the input has no elements to sample");
  }
  template <class E>
  void run(const Device& device, Tensor<const E> x, Tensor<const E> boxes, Tensor<E> y) const {
    device.parallel_for(y.shape.volume(),
                        BorderElement<E>{x.data, boxes.data, y.data, y.shape[1], x.shape[2],
                                         x.shape[3], boxes.shape[1], samples});
  }
};
TENON_PLUGIN(BorderAlign);

}  // namespace
}  // namespace tenon::plugins::TENON_TARGET
