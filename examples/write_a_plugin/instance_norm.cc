// InstanceNorm 1: each channel of each image with mean 0 and variance 1.
#include <tenon/plugin.h>

namespace tutorial::TENON_TARGET {

using namespace tenon::kit;

struct InstanceNorm {
  float epsilon = 1e-5f;

  using T = Types<float, Half>;
  static constexpr auto attributes =
      std::tuple{attribute("epsilon", &InstanceNorm::epsilon).says("Is added to the variance.")};
  static constexpr Spec spec{.name = "InstanceNorm",
                             .name_space = "tutorial",
                             .inputs = {{"x", kT}},
                             .outputs = {{"y", kT}},
                             .text = "Each channel of each image with mean 0 and variance 1."};

  void prepare() {
    if (!(epsilon > 0)) throw std::invalid_argument("epsilon must be above 0");
  }
  void check(std::span<const Shape> in) const {
    if (in[0].rank() < 3)
      throw std::invalid_argument("x must have 3 dimensions or more (N, C, ...)");
  }

  // A channel is a row. A team shares it: one thread and its vector lanes, or a block of a GPU.
  template <class E> struct Channel {
    const E* x;
    E* y;
    int64_t size;
    float epsilon;

    TENON_HD void operator()(const Team& team, int64_t row) const {
      const E* from = x + row * size;
      E* to = y + row * size;
      const auto value = [=](int64_t i) { return static_cast<float>(from[i]); };
      const float mean = team.sum(size, value) / static_cast<float>(size);
      const float variance = team.sum(size, [=](int64_t i) {
        return (value(i) - mean) * (value(i) - mean);
      }) / static_cast<float>(size);
      const float scale = 1 / sqrtf(variance + epsilon);
      team.each(size, [=](int64_t i) { to[i] = static_cast<E>((value(i) - mean) * scale); });
    }
  };

  template <class E> void run(const Device& device, Tensor<const E> x, Tensor<E> y) const {
    const int64_t channels = x.shape[0] * x.shape[1];
    if (x.shape.volume() == 0) return;
    device.parallel_rows(channels,
                         Channel<E>{x.data, y.data, x.shape.volume() / channels, epsilon});
  }
};
TENON_PLUGIN(InstanceNorm);

}  // namespace tutorial::TENON_TARGET
