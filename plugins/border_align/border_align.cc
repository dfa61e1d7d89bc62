// MMCVBorderAlign 1: mmcv.ops.BorderAlign ("BorderDet", Qiu et al. 2020).
#include <tenon/kernels/pixels.h>
#include <tenon/kernels/roi_region.h>
#include <tenon/plugin.h>

namespace tenon::plugins::TENON_TARGET {

using namespace tenon::kit;  // NOLINT: what plugin authors write

namespace {

// Tensors of a call. The largest sample along one border of a box: the top from its left, the left
// from its top, the bottom from its right, the right from its bottom.
template <class E> struct BorderCall {
  static constexpr int64_t kBorders = 4, kTaps = 4;

  const E *input, *boxes;
  E* y;
  int64_t channels, height, width, count, samples;

  // What sample `s` of border `border` of a box, counted over all images, reads of pixels that are
  // `step` elements apart. Returns how many taps there are.
  TENON_HD int64_t find(int64_t box, int64_t border, int64_t s, int64_t step,
                        kernels::Tap* taps) const {
    const E* const b = boxes + box * 4;
    const auto at = [&](int64_t k) { return static_cast<float>(b[k]); };
    const int64_t corner = border / 2 * 2;
    const float length = border % 2 == 0 ? at(2) - at(0) : at(3) - at(1);
    const float along =
        length / static_cast<float>(samples) * (border < 2 ? 1.f : -1.f) * static_cast<float>(s);
    const bool is_inside =
        kernels::find_taps(kernels::Region{0, 0, 0, 0, 0, 0}, height, width,
                           at(corner + 1) + (border % 2 == 0 ? 0 : along),
                           at(corner) + (border % 2 == 0 ? along : 0), step, taps);
    return is_inside ? kTaps : 0;
  }
};

#if defined(__CUDACC__)

template <class E> struct BorderElement {
  BorderCall<E> call;

  TENON_HD void operator()(int64_t i) const {
    const int64_t border = i % 4, box = i / 4 % call.count;
    const int64_t channel = i / (4 * call.count) % call.channels;
    const int64_t image = i / (4 * call.count * call.channels);
    const E* const plane =
        call.input + ((image * 4 + border) * call.channels + channel) * call.height * call.width;
    float largest = -HUGE_VALF;
    for (int64_t s = 0; s <= call.samples; ++s) {
      kernels::Tap taps[4];
      const int64_t count = call.find(image * call.count + box, border, s, 1, taps);
      float value = 0;
      for (int64_t t = 0; t < count; ++t)
        value += static_cast<float>(plane[taps[t].offset]) * taps[t].weight;
      largest = s == 0 || value > largest ? value : largest;
    }
    call.y[i] = static_cast<E>(largest);
  }
};

#else

// Borders of some boxes of an image, which are columns of the result; the channels of `pixels` lie
// side by side.
template <int vector, class E>
void align_borders(const BorderCall<E>& call, const float* pixels, int64_t image, int64_t first,
                   int64_t some) {
  using kernels::kTileChannels;
  constexpr int64_t kBorders = BorderCall<E>::kBorders;
  const int64_t all = kBorders * call.channels, columns = call.count * kBorders;
  float sample[kTileChannels], tile[kernels::kTilePixels * kTileChannels];
  for (int64_t c = 0; c < call.channels; c += kTileChannels) {
    const int64_t channels = std::min(kTileChannels, call.channels - c);
    for (int64_t i = 0; i < some; ++i) {
      const int64_t border = (first + i) % kBorders, box = (first + i) / kBorders;
      const float* const from =
          pixels + image * call.height * call.width * all + border * call.channels + c;
      float* const largest = tile + i * kTileChannels;
      for (int64_t s = 0; s <= call.samples; ++s) {
        kernels::Tap taps[BorderCall<E>::kTaps];
        const int64_t count = call.find(image * call.count + box, border, s, all, taps);
        float* const to = s == 0 ? largest : sample;
        kernels::sum_pixels<vector>(from, taps, count, channels, to);
        if (s > 0)
          for (int64_t k = 0; k < channels; ++k)
            largest[k] = sample[k] > largest[k] ? sample[k] : largest[k];
      }
    }
    kernels::pixels_to_planes(tile, kTileChannels, some, channels,
                              call.y + (image * call.channels + c) * columns + first, columns);
  }
}

#endif

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
  size_t workspace([[maybe_unused]] std::span<const Shape> in, std::span<const Shape>) const {
#if defined(__CUDACC__)
    return 0;
#else
    return static_cast<size_t>(in[0].volume()) * sizeof(float);
#endif
  }
  template <class E>
  void run(const Device& device, Tensor<const E> x, Tensor<const E> boxes, Tensor<E> y) const {
    const BorderCall<E> call{x.data,     boxes.data, y.data,         y.shape[1],
                             x.shape[2], x.shape[3], boxes.shape[1], samples};
    if (y.shape.volume() == 0) return;
#if defined(__CUDACC__)
    device.parallel_for(y.shape.volume(), BorderElement<E>{call});
#else
    auto* const pixels = static_cast<float*>(device.workspace);
    kernels::planes_to_pixels(device, x.data, x.shape[0], x.shape[1], x.shape[2] * x.shape[3],
                              pixels);
    constexpr int64_t kBlock = kernels::kTilePixels;
    const int64_t columns = call.count * call.kBorders, blocks = (columns + kBlock - 1) / kBlock;
    device.parallel_ranges(x.shape[0] * blocks, 1, [&](int64_t begin, int64_t end) {
      with_wide_vectors([&, begin, end](auto vector) {
        for (int64_t i = begin; i < end; ++i) {
          const int64_t first = i % blocks * kBlock;
          align_borders<decltype(vector)::value>(call, pixels, i / blocks, first,
                                                 std::min(kBlock, columns - first));
        }
      });
    });
#endif
  }
};
TENON_PLUGIN(BorderAlign);

}  // namespace
}  // namespace tenon::plugins::TENON_TARGET
