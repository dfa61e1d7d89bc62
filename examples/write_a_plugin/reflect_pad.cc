// ReflectPad 1: images (N, C, H, W) with a border in which they are reflected; the edge is not
// repeated.
#include <tenon/plugin.h>

namespace tutorial::TENON_TARGET {

using namespace tenon::kit;

struct ReflectPad {
  std::vector<int32_t> pads;  // left, right, top, bottom, as in PyTorch

  using T = Types<float, Half, int8_t>;
  static constexpr auto attributes = std::tuple{attribute("pads", &ReflectPad::pads)
                                                    .alias("padding")
                                                    .required()
                                                    .says("Pixels at left, right, top, bottom.")};
  static constexpr Spec spec{.name = "ReflectPad",
                             .name_space = "tutorial",
                             .inputs = {{"x", kT}},
                             .outputs = {{"y", kT}},
                             .text = "A border in which the image is reflected."};

  void prepare() {
    if (pads.size() != 4) throw std::invalid_argument("pads must have 4 numbers");
    for (const int32_t p : pads)
      if (p < 0) throw std::invalid_argument("pads must not be negative");
  }
  void shapes(std::span<const Extents> in, std::span<Extents> out) const {
    if (in[0].size() != 4) throw std::invalid_argument("x must have 4 dimensions (N, C, H, W)");
    out[0] = {in[0][0], in[0][1], in[0][2] + pads[2] + pads[3], in[0][3] + pads[0] + pads[1]};
  }
  void check(std::span<const Shape> in) const {
    if (std::max(pads[0], pads[1]) >= in[0][3] || std::max(pads[2], pads[3]) >= in[0][2])
      throw std::invalid_argument("pads must be smaller than the image");
  }

  template <class E> struct Pixel {
    Tensor<const E> x;
    Tensor<E> y;
    int64_t left, top;

    static TENON_HD int64_t reflected(int64_t i, int64_t size) {
      if (i < 0) i = -i;
      return i < size ? i : 2 * (size - 1) - i;
    }
    TENON_HD void operator()(int64_t i) const {
      const int64_t height = x.shape[2], width = x.shape[3];
      const int64_t row = reflected(i / y.shape[3] % y.shape[2] - top, height);
      const int64_t column = reflected(i % y.shape[3] - left, width);
      const int64_t plane = i / (y.shape[2] * y.shape[3]);
      y.data[i] = x.data[(plane * height + row) * width + column];
    }
  };

  template <class E> void run(const Device& device, Tensor<const E> x, Tensor<E> y) const {
    device.parallel_for(y.shape.volume(), Pixel<E>{x, y, pads[0], pads[2]});
  }
};
TENON_PLUGIN(ReflectPad);

}  // namespace tutorial::TENON_TARGET
