// MyPlugin 1: y = factor * x.
#include <tenon/plugin.h>

namespace mine::TENON_TARGET {

using namespace tenon::kit;

struct MyPlugin {
  float factor = 2;

  using T = Types<float, Half>;
  static constexpr auto attributes =
      std::tuple{attribute("factor", &MyPlugin::factor).says("What x is multiplied by.")};
  static constexpr Spec spec{.name = "MyPlugin",
                             .inputs = {{"x", kT}},
                             .outputs = {{"y", kT}},
                             .text = "Each element times a factor."};

  // One element; the same on the CPU and, with nvcc, on the GPU.
  template <class E> struct Element {
    const E* x;
    E* y;
    float factor;

    TENON_HD void operator()(int64_t i) const {
      y[i] = static_cast<E>(static_cast<float>(x[i]) * factor);
    }
  };

  template <class E> void run(const Device& device, Tensor<const E> x, Tensor<E> y) const {
    device.parallel_for(x.shape.volume(), Element<E>{x.data, y.data, factor});
  }
};
TENON_PLUGIN(MyPlugin);

}  // namespace mine::TENON_TARGET
