// GatherTopk 1: of each row of blocks, those that indices name.
#include <tenon/plugin.h>

namespace tenon::plugins::TENON_TARGET {

using namespace tenon::kit;  // NOLINT: what plugin authors write

#if defined(__CUDACC__)

// One element of the result. An index outside gives 0.
template <class E, class I> struct PickedElement {
  Split split;
  int64_t picked;
  const E* data;
  const I* indices;
  E* output;

  __device__ void operator()(int64_t i) const {
    const int64_t block = i / split.inner, index = indices[block];
    const int64_t from = block / picked * split.n + (index < 0 ? index + split.n : index);
    const bool is_inside = index >= -split.n && index < split.n;
    output[i] = is_inside ? data[from * split.inner + i % split.inner] : static_cast<E>(0.f);
  }
};

#endif

struct GatherTopk {
  using T = Types<float, Half, int32_t>;
  using U = Types<int32_t, int64_t>;
  static constexpr Spec spec{
      .name = "GatherTopk",
      .inputs = {{"data", kT}, {"indices", kU}},
      .outputs = {{"output", kT}},
      .protocol = Protocol::kV2,
      .text =
          "Data (A..., G, C...) and indices (A..., K) become (A..., K, C...): of each row of "
          "blocks C, those that its indices name. As ONNX GatherND with batch axes.",
      .differs = "Negative indices count from the end, and those outside are errors on the CPU."};

  void shapes(std::span<const Extents> in, std::span<Extents> out) const {
    const auto axis = static_cast<std::ptrdiff_t>(in[1].size());
    if (axis < 1 || in[0].size() < in[1].size())
      throw std::invalid_argument("indices must have an axis, and no more axes than data");
    out[0] = in[1];
    out[0].insert(out[0].end(), in[0].begin() + axis, in[0].end());
  }
  void check(std::span<const Shape> in) const {
    for (int k = 0; k + 1 < in[1].rank(); ++k)
      if (in[0][k] != in[1][k])
        throw std::invalid_argument("data " + text_of(in[0]) + " and indices " + text_of(in[1])
                                    + " differ along axis " + std::to_string(k));
  }
  template <class E, class I>
  void run(const Device& device, Tensor<const E> data, Tensor<const I> indices,
           Tensor<E> output) const {
    const Split split = data.shape.split(indices.shape.rank() - 1);
    const int64_t picked = indices.shape[indices.shape.rank() - 1];
#if defined(__CUDACC__)
    device.parallel_for(output.shape.volume(),
                        PickedElement<E, I>{split, picked, data.data, indices.data, output.data});
#else
    const int64_t grain = std::max<int64_t>(1, 16384 / std::max<int64_t>(1, split.inner));
    device.parallel_ranges(indices.shape.volume(), grain, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const int64_t index = indices.data[i];
        if (index < -split.n || index >= split.n)
          throw std::invalid_argument("index " + std::to_string(index) + " is outside ["
                                      + std::to_string(-split.n) + ", " + std::to_string(split.n)
                                      + ")");
        const int64_t from = i / picked * split.n + (index < 0 ? index + split.n : index);
        std::copy_n(data.data + from * split.inner, split.inner, output.data + i * split.inner);
      }
    });
#endif
  }
};
TENON_PLUGIN(GatherTopk);

}  // namespace tenon::plugins::TENON_TARGET
