// CARAFE ("Content-Aware ReAssembly of FEatures", Wang et al. 2019): amirstan's
// CarafeFeatureReassemblePluginDynamic, MMCV's MMCVCARAFE and MMCVCARAFENaive 1.
#include <tenon/plugin.h>

namespace tenon::plugins::TENON_TARGET {

using namespace tenon::kit;  // NOLINT: what plugin authors write

namespace {

// Some elements of a line of the result: each is a window of the features, weighed by the mask of
// its place.
template <class E> struct ReassembledLine {
  const E *features, *masks;
  E* y;
  int64_t channels, in_height, in_width, height, width, kernel, groups, scale;

  TENON_HD void operator()(int64_t line, int64_t first, int64_t count) const {
    const int64_t row = line % height, channel = line / height % channels,
                  image = line / height / channels;
    const int64_t group = channel / (channels / groups), taps = kernel * kernel;
    const E* const plane = features + line / height * in_height * in_width;
    const E* const mask = masks + ((image * groups + group) * taps * height + row) * width + first;
    float sums[kSpan];
    int32_t left[kSpan];  // columns of the features where windows begin
    for (int64_t i = 0; i < count; ++i) {
      sums[i] = 0;
      left[i] = static_cast<int32_t>((first + i) / scale - (kernel - 1) / 2);
    }
    for (int64_t k = 0; k < taps; ++k) {
      const int64_t r = row / scale - (kernel - 1) / 2 + k / kernel;
      if (r < 0 || r >= in_height) continue;
      const E* const from = plane + r * in_width;
      const auto beside = static_cast<int32_t>(k % kernel), end = static_cast<int32_t>(in_width);
      const InputSpan<E> weight(mask + k * height * width, count);
      for (int64_t i = 0; i < count; ++i) {
        const int32_t c = left[i] + beside;
        const bool is_inside = c >= 0 && c < end;
        const auto share = static_cast<float>(from[is_inside ? c : 0]) * weight[i];
        sums[i] += is_inside ? share : 0;
      }
    }
    const OutputSpan<E> to(y + line * width + first);
    for (int64_t i = 0; i < count; ++i) to[i] = sums[i];
    to.store(count);
  }
};

struct Carafe {
  int32_t kernel = 1, groups = 1;
  float scale = 1;  // MMCV exports a float

  using T = Types<float, Half, BFloat16>;

  void prepare() const {
    if (kernel < 1 || kernel % 2 == 0 || kernel > 1023)
      throw std::invalid_argument("the kernel must be odd, and 1 to 1023, found "
                                  + std::to_string(kernel));
    if (groups < 1)
      throw std::invalid_argument("there must be at least one group, found "
                                  + std::to_string(groups));
    if (!(scale >= 1 && scale <= 1024) || scale != std::floor(scale))
      throw std::invalid_argument("scale_factor must be a whole number from 1 to 1024, found "
                                  + std::to_string(scale));
  }
  void shapes(std::span<const Extents> in, std::span<Extents> out) const {
    require_axes("features", in[0], "N, C, H, W");
    require_axes("masks", in[1], "N, groups * kernel^2, H * scale, W * scale");
    const auto factor = static_cast<int64_t>(scale);
    out[0] = {in[0][0], in[0][1], in[0][2] * factor, in[0][3] * factor};
  }
  void check(std::span<const Shape> in) const {
    const auto factor = static_cast<int64_t>(scale);
    if (in[0][1] % groups != 0)
      throw std::invalid_argument(std::to_string(groups) + " groups do not divide "
                                  + std::to_string(in[0][1]) + " channels");
    require_shape(
        "masks", in[1],
        {in[0][0], int64_t{groups} * kernel * kernel, in[0][2] * factor, in[0][3] * factor});
  }
  template <class E>
  void run(const Device& device, Tensor<const E> x, Tensor<const E> masks, Tensor<E> y) const {
    device.parallel_spans(
        y.shape[0] * y.shape[1] * y.shape[2], y.shape[3],
        ReassembledLine<E>{x.data, masks.data, y.data, x.shape[1], x.shape[2], x.shape[3],
                           y.shape[2], y.shape[3], kernel, groups, static_cast<int64_t>(scale)});
  }
};

constexpr Spec carafe_spec(const char* name) {
  return {.name = name,
          .inputs = {{"features", kT}, {"masks", kT}},
          .outputs = {{"output", kT}},
          .protocol = Protocol::kV2,
          .text =
              "mmcv.ops.carafe: each place of the result is the sum of a window of the features "
              "(N, C, H, W), weighed by the mask of that place and of its group of channels (N, "
              "groups * kernel^2, H * scale, W * scale).",
          .differs = "float16 and bfloat16."};
}

struct AmirstanCarafe : Carafe {
  static constexpr auto attributes = std::tuple{
      attribute("scale_factor", &AmirstanCarafe::scale),
      attribute("up_kernel", &AmirstanCarafe::kernel).says("elements of a window's side"),
      attribute("up_group", &AmirstanCarafe::groups).says("groups of channels")};
  static constexpr Spec spec = carafe_spec("CarafeFeatureReassemblePluginDynamic");
};
TENON_PLUGIN(AmirstanCarafe);

struct MmcvCarafe : Carafe {
  static constexpr auto attributes = std::tuple{
      attribute("kernel_size", &MmcvCarafe::kernel).required().says("elements of a window's side"),
      attribute("group_size", &MmcvCarafe::groups).required().says("groups of channels"),
      attribute("scale_factor", &MmcvCarafe::scale).required()};
  static constexpr Spec spec = carafe_spec("MMCVCARAFE");
};
TENON_PLUGIN(MmcvCarafe);
TENON_PLUGIN_AS(MmcvCarafe, "MMCVCARAFENaive");

}  // namespace
}  // namespace tenon::plugins::TENON_TARGET
