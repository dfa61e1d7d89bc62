// MMCVActiveRotatedFilter 1: mmcv.ops.active_rotated_filter.
#include <tenon/plugin.h>

namespace tenon::plugins::TENON_TARGET {

using namespace tenon::kit;  // NOLINT: what plugin authors write

namespace {

// One filter in one rotation, of one input: its weights go where indices, which count from 1, say.
template <class E> struct RotatedFilter {
  const E* weights;
  const int32_t* indices;
  E* y;
  int64_t inputs, entries, rotations;

  TENON_HD void operator()(int64_t i) const {
    const int64_t input = i % inputs, rotation = i / inputs % rotations;
    const int64_t output = i / (inputs * rotations);
    const E* const from = weights + (output * inputs + input) * entries;
    E* const to = y + i * entries;
    for (int64_t entry = 0; entry < entries; ++entry) to[entry] = static_cast<E>(0.f);
    for (int64_t entry = 0; entry < entries; ++entry) {
      const int64_t at = indices[entry * rotations + rotation] - int64_t{1};
      if (at >= 0 && at < entries) to[at] = from[entry];
    }
  }
};

struct ActiveRotatedFilter {
  using T = Types<float, Half, BFloat16>;
  static constexpr Spec spec{
      .name = "MMCVActiveRotatedFilter",
      .inputs = {{"input", kT}, {"indices", kInt32}},
      .outputs = {{"output", kT}},
      .protocol = Protocol::kV2,
      .text =
          "mmcv.ops.active_rotated_filter (\"Oriented Response Networks\", Zhou et al. 2017): the "
          "filters (outputs, inputs, orientations, rows, columns) in all rotations (outputs * "
          "rotations, inputs * orientations, rows, columns). indices (orientations, rows, columns, "
          "rotations) say where in its filter each weight goes, counted from 1; others are errors "
          "on "
          "the CPU, and left out on a GPU.",
      .differs =
          "There is none for TensorRT elsewhere. float16 and bfloat16. Where no weight goes "
          "there is 0."};

  void shapes(std::span<const Extents> in, std::span<Extents> out) const {
    require_axes("input", in[0], "outputs, inputs, orientations, rows, columns");
    require_axes("indices", in[1], "orientations, rows, columns, rotations");
    out[0] = {in[0][0] * in[1][3], in[0][1] * in[0][2], in[0][3], in[0][4]};
  }
  void check(std::span<const Shape> in) const {
    require_shape("indices", in[1], {in[0][2], in[0][3], in[0][4], in[1][3]});
  }
  template <class E>
  void run(const Device& device, Tensor<const E> x, Tensor<const int32_t> indices,
           Tensor<E> y) const {
    const int64_t entries = x.shape[2] * x.shape[3] * x.shape[4], rotations = indices.shape[3];
#if !defined(__CUDACC__)
    for (int64_t i = 0; i < indices.shape.volume(); ++i)
      if (indices.data[i] < 1 || indices.data[i] > entries)
        throw std::invalid_argument("indices must be 1 to " + std::to_string(entries) + ", found "
                                    + std::to_string(indices.data[i]));
#endif
    device.parallel_for(
        x.shape[0] * rotations * x.shape[1],
        RotatedFilter<E>{x.data, indices.data, y.data, x.shape[1], entries, rotations});
  }
};
TENON_PLUGIN(ActiveRotatedFilter);

}  // namespace
}  // namespace tenon::plugins::TENON_TARGET
