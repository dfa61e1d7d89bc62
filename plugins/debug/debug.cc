// DebugPlugin, DebugDynamicPlugin 1 (LitLeo): give x as it is, and print what it holds.
#include <tenon/plugin.h>

#include <cstdio>
#include <memory>
#include <string>

namespace tenon::plugins::TENON_TARGET {

using namespace tenon::kit;  // NOLINT: what plugin authors write

namespace {

std::string number(double value) {
  char text[32];
  std::snprintf(text, sizeof(text), "%g", value);
  return text;
}

// "(2, 3): 1 2 3 4 5 6; from 1 to 6, mean 3.5".
template <class E> std::string summary(const E* x, const Shape& shape, int64_t max_values) {
  std::string text = text_of(shape) + ":";
  const int64_t count = shape.volume();
  double min = HUGE_VAL, max = -HUGE_VAL, sum = 0;
  int64_t nans = 0;
  for (int64_t i = 0; i < count; ++i) {
    const auto value = static_cast<double>(x[i]);
    if (i < max_values) text += " " + number(value);
    if (value != value) {
      ++nans;
      continue;
    }
    min = std::min(min, value);
    max = std::max(max, value);
    sum += value;
  }
  if (count > max_values) text += " ...";
  if (count > nans)
    text += "; from " + number(min) + " to " + number(max) + ", mean "
            + number(sum / static_cast<double>(count - nans));
  if (nans > 0) text += ", " + std::to_string(nans) + " NaN";
  return text;
}

struct Debug {
  std::string label;
  int32_t count = 8;

  using T = Types<float, Half, int32_t, int64_t, int8_t, uint8_t, bool>;
  static constexpr auto attributes = std::tuple{
      attribute("label", &Debug::label).says("printed before the tensor"),
      attribute("count", &Debug::count).says("how many elements are printed"),
  };
  static constexpr Spec spec{.name = "DebugPlugin",
                             .inputs = {{"x", kT}},
                             .outputs = {{"y", kT}},
                             .protocol = Protocol::kV2,
                             .text =
                                 "x as it is. Prints its shape, the first elements, their "
                                 "range and mean to the standard output."};

  template <class E> void run(const Device& device, Tensor<const E> x, Tensor<E> y) const {
    const auto volume = static_cast<size_t>(x.shape.volume());
#if defined(__CUDACC__)
    const std::unique_ptr<E[]> host(new E[volume]);
    cudaMemcpyAsync(y.data, x.data, volume * sizeof(E), cudaMemcpyDeviceToDevice, device.stream);
    cudaMemcpyAsync(host.get(), x.data, volume * sizeof(E), cudaMemcpyDeviceToHost, device.stream);
    const cudaError_t error = cudaStreamSynchronize(device.stream);
    if (error != cudaSuccess) throw std::runtime_error(cudaGetErrorString(error));
    const E* values = host.get();
#else
    std::copy_n(x.data, volume, y.data);
    const E* values = x.data;
#endif
    const std::string text = summary(values, x.shape, count);
    std::printf("%s%s%s\n", label.c_str(), label.empty() ? "" : " ", text.c_str());
    std::fflush(stdout);
  }
};
TENON_PLUGIN(Debug);

struct DebugDynamic : Debug {
  static constexpr Spec spec = renamed(Debug::spec, "DebugDynamicPlugin");
};
TENON_PLUGIN(DebugDynamic);

}  // namespace
}  // namespace tenon::plugins::TENON_TARGET
