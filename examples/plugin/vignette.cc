// Vignette 1: darkens an image (N, C, H, W) towards its corners, by `strength` at most.
#include <tenon/plugin.h>

namespace example::TENON_TARGET {

using namespace tenon::kit;

// One pixel; the same on the CPU and, with nvcc, on the GPU.
template <class E> struct Darken {
  Tensor<const E> x;
  Tensor<E> y;
  float strength;

  TENON_HD void operator()(int64_t i) const {
    const int64_t height = x.shape[2], width = x.shape[3];
    const float v = 2.f * static_cast<float>(i / width % height) / static_cast<float>(height) - 1;
    const float u = 2.f * static_cast<float>(i % width) / static_cast<float>(width) - 1;
    const float light = 1 - strength * (u * u + v * v) / 2;
    y.data[i] = static_cast<E>(static_cast<float>(x.data[i]) * light);
  }
};

struct Vignette {
  float strength = 0.5f;

  using T = Types<float, Half>;
  static constexpr auto attributes = std::tuple{attribute("strength", &Vignette::strength)};
  static constexpr Spec spec{.name = "Vignette", .inputs = {{"x", kT}}, .outputs = {{"y", kT}}};

  void check(std::span<const Shape> in) const {
    if (in[0].rank() != 4) throw std::invalid_argument("x must have 4 dimensions (N, C, H, W)");
  }
  template <class E> void run(const Device& device, Tensor<const E> x, Tensor<E> y) const {
    device.parallel_for(x.shape.volume(), Darken<E>{x, y, strength});
  }
};
TENON_PLUGIN(Vignette);

}  // namespace example::TENON_TARGET
