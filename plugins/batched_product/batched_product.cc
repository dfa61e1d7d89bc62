// TorchBmmPluginDynamic 1 (amirstan): torch.bmm.
#include <tenon/kernels/float_copies.h>
#include <tenon/plugin.h>

namespace tenon::plugins::TENON_TARGET {

using namespace tenon::kit;  // NOLINT: what plugin authors write
using kernels::Carver;
using kernels::FloatCopies;

namespace {

struct TorchBmm {
  using T = Types<float, Half, BFloat16>;
  static constexpr Spec spec{.name = "TorchBmmPluginDynamic",
                             .inputs = {{"a", kT}, {"b", kT}},
                             .outputs = {{"y", kT}},
                             .protocol = Protocol::kV2,
                             .text = "torch.bmm: the products of (B, M, K) and (B, K, N).",
                             .differs = "float16 and bfloat16, summed in float."};

  void shapes(std::span<const Extents> in, std::span<Extents> out) const {
    require_axes("a", in[0], "B, M, K");
    require_axes("b", in[1], "B, K, N");
    out[0] = {in[0][0], in[0][1], in[1][2]};
  }
  void check(std::span<const Shape> in) const {
    if (in[0][0] != in[1][0] || in[0][2] != in[1][1])
      throw std::invalid_argument("a " + text_of(in[0]) + " and b " + text_of(in[1])
                                  + " do not fit; expected (B, M, K) and (B, K, N)");
  }
  size_t workspace(std::span<const Shape> in, std::span<const Shape> out) const {
    Carver carver;
    for (const int64_t size : {in[0].volume(), in[1].volume(), out[0].volume()})
      FloatCopies::reserve(carver, size);
    return carver.bytes();
  }
  template <class E>
  void run(const Device& device, Tensor<const E> a, Tensor<const E> b, Tensor<E> y) const {
    const int64_t m = a.shape[1], k = a.shape[2], n = b.shape[2];
    Carver carver(device.workspace);
    const FloatCopies copies(device, carver);
    const float* left = copies.of(a.data, a.shape.volume());
    const float* right = copies.of(b.data, b.shape.volume());
    float* const result = copies.result(y.data, y.shape.volume());
    for (int64_t i = 0; i < a.shape[0]; ++i)
      device.multiply(m, n, k, {left + i * m * k, k}, {right + i * k * n, n}, result + i * m * n,
                      n);
    copies.store(result, y.data, y.shape.volume());
  }
};
TENON_PLUGIN(TorchBmm);

}  // namespace
}  // namespace tenon::plugins::TENON_TARGET
