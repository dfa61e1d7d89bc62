// ScatterND 1 (also MyScatterND), ScatterElements 1 and 2: a copy of a tensor in which blocks or
// elements are replaced by updates, or combined with them.
#include <tenon/kernels/scatter.h>
#include <tenon/kernels/scatter_cuda.h>
#include <tenon/plugin.h>

namespace tenon::plugins::TENON_TARGET {

using namespace tenon::kit;      // NOLINT: what plugin authors write
using namespace tenon::kernels;  // NOLINT

template <class P>
constexpr auto kReduction = attribute("reduction", &P::reduction,
                                      {{"none", Reduction::kNone},
                                       {"add", Reduction::kAdd},
                                       {"mul", Reduction::kMul},
                                       {"min", Reduction::kMin},
                                       {"max", Reduction::kMax}})
                                .says("how an update meets what is there");

struct ScatterNd {
  Reduction reduction = Reduction::kNone;

  using T = Types<float, Half, BFloat16, int32_t, int64_t>;
  using U = Types<int32_t, int64_t>;
  static constexpr auto attributes = std::tuple{kReduction<ScatterNd>};
  static constexpr Spec spec{
      .name = "ScatterND",
      .inputs = {{"data", kT}, {"indices", kU}, {"updates", kT}},
      .outputs = {{"output", kT}},
      .protocol = Protocol::kV2,
      .text =
          "As ONNX ScatterND, which needs no plugin: rows of indices name blocks of the data. "
          "Negative indices count from the end.",
      .differs =
          "Indices outside are errors. Where updates meet, the last one counts, or all are "
          "combined in order."};

  void check(std::span<const Shape> in) const { ScatterBlocksShape::of(in[0], in[1], in[2]); }
  size_t workspace(std::span<const Shape> in, std::span<const Shape>) const {
    return ScatterBlocksShape::of(in[0], in[1], in[2]).workspace();
  }
  template <class E, class I>
  void run(const Device& device, Tensor<const E> data, Tensor<const I> indices,
           Tensor<const E> updates, Tensor<E> output) const {
    const auto shape = ScatterBlocksShape::of(data.shape, indices.shape, updates.shape);
    with_reduction(reduction, [&](auto constant) {
      scatter_blocks<constant.value>(device, shape, data.data, indices.data, updates.data,
                                     device.workspace, output.data);
    });
  }
};
TENON_PLUGIN(ScatterNd);
TENON_PLUGIN_AS(ScatterNd, "MyScatterND");  // tensorRT_Pro's name

struct ScatterElements {
  int32_t axis = 0;
  Reduction reduction = Reduction::kNone;

  using T = Types<float, Half, BFloat16, int32_t, int64_t>;
  using U = Types<int64_t, int32_t>;
  static constexpr auto attributes =
      std::tuple{attribute("axis", &ScatterElements::axis).says("negative ones count from the end"),
                 kReduction<ScatterElements>};
  static constexpr Spec spec{
      .name = "ScatterElements",
      .version = "2",
      .inputs = {{"data", kT}, {"indices", kU}, {"updates", kT}},
      .outputs = {{"output", kT}},
      .text =
          "As ONNX ScatterElements, which needs no plugin: each update has an index along the "
          "axis. Negative indices count from the end.",
      .differs =
          "Indices outside are errors, and may be int32. Where updates meet, the last one "
          "counts, or all are combined in order."};

  void check(std::span<const Shape> in) const {
    ScatterElementsShape::of(in[0], in[1], in[2], axis);
  }
  template <class E, class I>
  void run(const Device& device, Tensor<const E> data, Tensor<const I> indices,
           Tensor<const E> updates, Tensor<E> output) const {
    const auto shape = ScatterElementsShape::of(data.shape, indices.shape, updates.shape, axis);
    with_reduction(reduction, [&](auto constant) {
      scatter_elements<constant.value>(device, shape, data.data, indices.data, updates.data,
                                       output.data);
    });
  }
};
TENON_PLUGIN(ScatterElements);

// Version 1 is what old programs look for.
struct ScatterElementsV1 : ScatterElements {
  static constexpr Spec spec = [] {
    Spec old = renamed(ScatterElements::spec, "ScatterElements", "1");
    old.protocol = Protocol::kV2;
    return old;
  }();
};
TENON_PLUGIN(ScatterElementsV1);

}  // namespace tenon::plugins::TENON_TARGET
