// CustomFCPluginDynamic 1 (TensorRT): BERT's products with weights that are an attribute.
#include <tenon/kernels/constants.h>
#include <tenon/kernels/float_copies.h>
#include <tenon/plugin.h>

namespace tenon::plugins::TENON_TARGET {

using namespace tenon::kit;      // NOLINT: what plugin authors write
using namespace tenon::kernels;  // NOLINT

namespace {

struct FullyConnected {
  int32_t out_dims = 0, type_id = 0;
  std::vector<float> weights;

  using T = Types<float, Half, BFloat16>;
  static constexpr auto attributes = std::tuple{
      attribute("out_dims", &FullyConnected::out_dims).required(),
      attribute("type_id", &FullyConnected::type_id).says("has no effect: the input has a type"),
      attribute("W", &FullyConnected::weights).required().says("(K, out_dims)")};
  static constexpr Spec spec{
      .name = "CustomFCPluginDynamic",
      .inputs = {{"input", kT}},
      .outputs = {{"output", kT}},
      .protocol = Protocol::kV2,
      .text = "The product of (N, B, K, 1, 1) with W (K, out_dims): (N, B, out_dims, 1, 1).",
      .differs = "Sums are float. bfloat16."};

  void prepare() const {
    require_at_least("out_dims", out_dims, 1);
    if (weights.size() % static_cast<size_t>(out_dims) != 0)
      throw std::invalid_argument("W must have a number of rows of out_dims elements, found "
                                  + std::to_string(weights.size()) + " elements and out_dims "
                                  + std::to_string(out_dims));
  }
  void shapes(std::span<const Extents> in, std::span<Extents> out) const {
    require_axes("input", in[0], "N, B, K, 1, 1");
    out[0] = {in[0][0], in[0][1], out_dims, 1, 1};
  }
  void check(std::span<const Shape> in) const {
    require_shape("input", in[0], "N, B, " + std::to_string(depth()) + ", 1, 1");
  }
  size_t workspace(std::span<const Shape> in, std::span<const Shape> out) const {
    Carver carver;
    reserve_constants(carver, weights);
    FloatCopies::reserve(carver, in[0].volume());
    FloatCopies::reserve(carver, out[0].volume());
    return carver.bytes();
  }
  template <class E> void run(const Device& device, Tensor<const E> x, Tensor<E> y) const {
    Carver carver(device.workspace);
    const float* w = constants_of(device, carver, weights);
    const FloatCopies copies(device, carver);
    const float* from = copies.of(x.data, x.shape.volume());
    float* const to = copies.result(y.data, y.shape.volume());
    device.multiply(x.shape[0] * x.shape[1], out_dims, depth(), {from, depth()}, {w, out_dims}, to,
                    out_dims);
    copies.store(to, y.data, y.shape.volume());
  }

 private:
  int64_t depth() const { return static_cast<int64_t>(weights.size()) / out_dims; }
};
TENON_PLUGIN(FullyConnected);

}  // namespace
}  // namespace tenon::plugins::TENON_TARGET
