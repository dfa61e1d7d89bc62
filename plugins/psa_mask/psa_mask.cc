// MMCVPSAMask 1: mmcv.ops.PSAMask.
#include <tenon/plugin.h>

namespace tenon::plugins::TENON_TARGET {

using namespace tenon::kit;  // NOLINT: what plugin authors write

namespace {

enum class PsaType { kCollect = 0, kDistribute = 1 };

// One element of the result (N, places, H, W). A place's mask lies around it.
template <class E> struct PsaElement {
  const E* masks;
  E* y;
  int64_t height, width, mask_height, mask_width;
  PsaType type;

  TENON_HD void operator()(int64_t i) const {
    const int64_t plane = height * width, image = i / (plane * plane);
    const int64_t first = i / plane % plane, second = i % plane;
    const int64_t owner = type == PsaType::kCollect ? second : first;
    const int64_t other = type == PsaType::kCollect ? first : second;
    const int64_t row = other / width - owner / width + (mask_height - 1) / 2;
    const int64_t column = other % width - owner % width + (mask_width - 1) / 2;
    const bool is_inside = row >= 0 && row < mask_height && column >= 0 && column < mask_width;
    y[i] = is_inside ? masks[((image * mask_height + row) * mask_width + column) * plane + owner]
                     : static_cast<E>(0.f);
  }
};

struct PsaMask {
  PsaType type = PsaType::kCollect;
  std::vector<int32_t> size;

  using T = Types<float, Half, BFloat16>;
  static constexpr auto attributes = std::tuple{
      attribute("psa_type", &PsaMask::type,
                {{"collect", PsaType::kCollect}, {"distribute", PsaType::kDistribute}}),
      attribute("mask_size", &PsaMask::size).required().says("rows and columns, or one for both")};
  static constexpr Spec spec{
      .name = "MMCVPSAMask",
      .inputs = {{"input", kT}},
      .outputs = {{"output", kT}},
      .protocol = Protocol::kV2,
      .text =
          "mmcv.ops.PSAMask (\"PSANet\", Zhao et al. 2018): the masks (N, rows * columns, H, W) "
          "around places as (N, H * W, H, W): for each pair of places, what the mask of the second "
          "(collect) or the first (distribute) has for the other; 0 beyond the mask.",
      .differs = "There is none for TensorRT elsewhere. float16 and bfloat16."};

  void prepare() const {
    if (size.empty() || size.size() > 2 || size.front() < 1 || size.back() < 1)
      throw std::invalid_argument("mask_size must have 1 or 2 positive elements");
  }
  void shapes(std::span<const Extents> in, std::span<Extents> out) const {
    require_axes("input", in[0], "N, C, H, W");
    out[0] = {in[0][0], in[0][2] * in[0][3], in[0][2], in[0][3]};
  }
  void check(std::span<const Shape> in) const {
    const int64_t elements = int64_t{size.front()} * size.back();
    if (in[0][1] != elements)
      throw std::invalid_argument("input must have " + std::to_string(elements)
                                  + " channels, as the mask has elements, found " + text_of(in[0]));
  }
  template <class E> void run(const Device& device, Tensor<const E> x, Tensor<E> y) const {
    device.parallel_for(y.shape.volume(), PsaElement<E>{x.data, y.data, x.shape[2], x.shape[3],
                                                        size.front(), size.back(), type});
  }
};
TENON_PLUGIN(PsaMask);

}  // namespace
}  // namespace tenon::plugins::TENON_TARGET
