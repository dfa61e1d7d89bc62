// TorchBmmPluginDynamic 1 (amirstan): torch.bmm.
#include <tenon/kernels/shape_text.h>
#include <tenon/kernels/workspace.h>
#include <tenon/plugin.h>

namespace tenon::plugins::TENON_TARGET {

using namespace tenon::kit;  // NOLINT: what plugin authors write
using kernels::Carver;

namespace {

template <class From, class To> struct Converted {
  const From* from;
  To* to;
  TENON_HD void operator()(int64_t i) const {
    to[i] = static_cast<To>(static_cast<float>(from[i]));
  }
};

struct TorchBmm {
  using T = Types<float, Half, BFloat16>;
  static constexpr Spec spec{.name = "TorchBmmPluginDynamic",
                             .inputs = {{"a", kT}, {"b", kT}},
                             .outputs = {{"y", kT}},
                             .protocol = Protocol::kV2,
                             .text = "torch.bmm: the products of (B, M, K) and (B, K, N).",
                             .differs = "float16 and bfloat16, summed in float."};

  void shapes(std::span<const Extents> in, std::span<Extents> out) const {
    if (in[0].size() != 3 || in[1].size() != 3)
      throw std::invalid_argument("a and b must have 3 dimensions, found "
                                  + std::to_string(in[0].size()) + " and "
                                  + std::to_string(in[1].size()));
    out[0] = {in[0][0], in[0][1], in[1][2]};
  }
  void check(std::span<const Shape> in) const {
    if (in[0][0] != in[1][0] || in[0][2] != in[1][1])
      throw std::invalid_argument("a " + kernels::text_of(in[0]) + " and b "
                                  + kernels::text_of(in[1])
                                  + " do not fit; expected (B, M, K) and (B, K, N)");
  }
  // For elements of 16 bits: all three matrices in float.
  size_t workspace(std::span<const Shape> in, std::span<const Shape> out) const {
    Carver carver;
    for (const int64_t size : {in[0].volume(), in[1].volume(), out[0].volume()})
      carver.array<float>(size);
    return carver.bytes();
  }
  template <class E>
  void run(const Device& device, Tensor<const E> a, Tensor<const E> b, Tensor<E> y) const {
    if constexpr (std::is_same_v<E, float>) {
      multiply(device, a.data, b.data, y.data, a.shape, b.shape);
    } else {
      Carver carver(device.workspace);
      const auto widen = [&](const Tensor<const E>& x) {
        float* const to = carver.array<float>(x.shape.volume());
        device.parallel_for(x.shape.volume(), Converted<E, float>{x.data, to});
        return to;
      };
      const float *left = widen(a), *right = widen(b);
      float* const result = carver.array<float>(y.shape.volume());
      multiply(device, left, right, result, a.shape, b.shape);
      device.parallel_for(y.shape.volume(), Converted<float, E>{result, y.data});
    }
  }

 private:
  static void multiply(const Device& device, const float* a, const float* b, float* y,
                       const Shape& left, const Shape& right) {
    const int64_t m = left[1], k = left[2], n = right[2];
    for (int64_t i = 0; i < left[0]; ++i)
      device.multiply(m, n, k, {a + i * m * k, k}, {b + i * k * n, n}, y + i * m * n, n);
  }
};
TENON_PLUGIN(TorchBmm);

}  // namespace
}  // namespace tenon::plugins::TENON_TARGET
