// Int4GroupwiseGemmPlugin 1 (TensorRT-Edge-LLM): products with weights of 4 bits.
#include <tenon/kernels/float_copies.h>
#include <tenon/plugin.h>

namespace tenon::plugins::TENON_TARGET {

using namespace tenon::kit;      // NOLINT: what plugin authors write
using namespace tenon::kernels;  // NOLINT

namespace {

// A row of four outputs side by side, in blocks of 64 inputs whose order suits a GPU's tiles.
struct Int4Weights {
  const uint8_t* packed;
  int64_t depth;

  // The weight of an output and an input, from -8 to 7.
  TENON_HD int32_t at(int64_t output, int64_t input) const {
    const int64_t j = input % 32;
    const int64_t index = j % 8 / 2 * 8 + j % 2 * 4 + j / 8;  // within 32 inputs
    const int64_t within =
        output % 4 * 64 + input % 64 / 32 * 32 + index;  // a block of four outputs
    const int64_t word = output / 4 * depth + input / 64 * 64 + within / 4;
    const uint8_t pair = packed[word * 2 + within % 4 / 2];
    return (within % 2 == 0 ? pair & 15 : pair >> 4) - 8;
  }
};

// Weights of some outputs as a matrix (depth, outputs) of float.
template <class E> struct UnpackWeights {
  Int4Weights weights;
  const E* scales;  // (groups, all outputs)
  float* to;
  int64_t first, outputs, all_outputs, group;

  TENON_HD void operator()(int64_t i) const {
    const int64_t input = i / outputs, output = first + i % outputs;
    to[i] = static_cast<float>(weights.at(output, input))
            * static_cast<float>(scales[input / group * all_outputs + output]);
  }
};

struct Int4GroupwiseGemm {
  int32_t outputs = 0, depth = 0, group = 128;

  using T = Types<Half, float, BFloat16>;
  static constexpr auto attributes = std::tuple{
      attribute("gemm_n", &Int4GroupwiseGemm::outputs).required(),
      attribute("gemm_k", &Int4GroupwiseGemm::depth).required(),
      attribute("group_size", &Int4GroupwiseGemm::group).says("inputs that share a scale")};
  static constexpr Spec spec{
      .name = "Int4GroupwiseGemmPlugin",
      .inputs = {{"input", kT}, {"weights", kInt8}, {"scales", kT}},
      .outputs = {{"output", kT}},
      .text =
          "The product of (..., gemm_k) with weights of 4 bits: (..., gemm_n). A weight is its "
          "bits minus 8, times the scale (gemm_k / group_size, gemm_n) of its group. The weights "
          "(gemm_n / 2, gemm_k) are in the order of tiles that tensorrt_edgellm writes.",
      .differs =
          "Sums are float, not float16, and any group size that divides gemm_k. float32 and "
          "bfloat16."};
  static constexpr int64_t kChunk = 512;  // outputs whose weights are unpacked at a time

  void prepare() const {
    if (outputs < 1 || outputs % 4 != 0 || depth < 1 || depth % 64 != 0)
      throw std::invalid_argument("gemm_n must be a multiple of 4 and gemm_k of 64, found "
                                  + std::to_string(outputs) + " and " + std::to_string(depth));
    if (group < 1 || depth % group != 0)
      throw std::invalid_argument("group_size must divide gemm_k, found " + std::to_string(group)
                                  + " and " + std::to_string(depth));
  }
  void shapes(std::span<const Extents> in, std::span<Extents> out) const {
    if (in[0].empty()) throw std::invalid_argument("input must have a last axis, of gemm_k");
    out[0] = in[0];
    out[0].back() = outputs;
  }
  void check(std::span<const Shape> in) const {
    const Shape &x = in[0], &weights = in[1], &scales = in[2];
    const bool fits = x[x.rank() - 1] == depth && weights.rank() == 2 && weights[0] == outputs / 2
                      && weights[1] == depth && scales.rank() == 2 && scales[0] == depth / group
                      && scales[1] == outputs;
    if (!fits)
      throw std::invalid_argument(
          "input " + text_of(x) + ", weights " + text_of(weights) + " and scales " + text_of(scales)
          + " do not fit; expected (..., " + std::to_string(depth) + "), ("
          + std::to_string(outputs / 2) + ", " + std::to_string(depth) + ") and ("
          + std::to_string(depth / group) + ", " + std::to_string(outputs) + ")");
  }
  size_t workspace(std::span<const Shape> in, std::span<const Shape> out) const {
    Carver carver;
    FloatCopies::reserve(carver, in[0].volume());
    FloatCopies::reserve(carver, out[0].volume());
    carver.array<float>(depth * std::min<int64_t>(kChunk, outputs));
    return carver.bytes();
  }
  template <class E>
  void run(const Device& device, Tensor<const E> x, Tensor<const int8_t> weights,
           Tensor<const E> scales, Tensor<E> y) const {
    Carver carver(device.workspace);
    const FloatCopies copies(device, carver);
    const float* from = copies.of(x.data, x.shape.volume());
    float* const result = copies.result(y.data, y.shape.volume());
    float* const matrix = carver.array<float>(depth * std::min<int64_t>(kChunk, outputs));
    const int64_t rows = x.shape.volume() / depth;
    if (rows == 0) return;
    for (int64_t first = 0; first < outputs; first += kChunk) {
      const int64_t count = std::min<int64_t>(kChunk, outputs - first);
      device.parallel_for(depth * count,
                          UnpackWeights<E>{{reinterpret_cast<const uint8_t*>(weights.data), depth},
                                           scales.data,
                                           matrix,
                                           first,
                                           count,
                                           outputs,
                                           group});
      device.multiply(rows, count, depth, {from, depth}, {matrix, count}, result + first, outputs);
    }
    copies.store(result, y.data, y.shape.volume());
  }
};
TENON_PLUGIN(Int4GroupwiseGemm);

}  // namespace
}  // namespace tenon::plugins::TENON_TARGET
