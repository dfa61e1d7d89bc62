// ScaledDotProductAttentionTRT 1 (MMDeploy): attention and its weights.
#include <tenon/kernels/attention.h>
#include <tenon/plugin.h>

namespace tenon::plugins::TENON_TARGET {

using namespace tenon::kit;  // NOLINT: what plugin authors write

namespace {

struct ScaledDotProductAttention {
  using T = Types<float, Half, BFloat16>;
  static constexpr Spec spec{
      .name = "ScaledDotProductAttentionTRT",
      .inputs = {{"q", kT}, {"k", kT}, {"v", kT}, {"mask", kT, kOptional}},
      .outputs = {{"y", kT}, {"weights", kT}},
      .protocol = Protocol::kV2,
      .text =
          "weights = softmax(q k^T / sqrt(E) + mask) and y = weights v, with q (B, Nt, E), k and "
          "v (B, Ns, E), and a mask (Nt, Ns) or (B, Nt, Ns). As "
          "torch.nn.functional.scaled_dot_product_attention.",
      .differs = "float16."};

  void shapes(std::span<const Extents> in, std::span<Extents> out) const {
    if (in[0].size() != 3 || in[1].size() != 3)
      throw std::invalid_argument("q, k and v must have 3 dimensions (batch, tokens, features)");
    out[0] = in[0];
    out[1] = {in[0][0], in[0][1], in[1][1]};
  }
  void check(std::span<const Shape> in) const {
    const Shape &q = in[0], &k = in[1], &v = in[2];
    if (q.rank() != 3 || k.rank() != 3 || v.rank() != 3)
      throw std::invalid_argument("q, k and v must have 3 dimensions (batch, tokens, features)");
    if (!std::equal(k.d, k.d + 3, v.d) || k[0] != q[0] || k[2] != q[2])
      throw std::invalid_argument(
          "k and v must have one shape, and batch and features of q; found q " + text_of(q) + ", k "
          + text_of(k) + " and v " + text_of(v));
    if (in.size() < 4) return;
    const Shape& mask = in[3];
    const int64_t wanted[] = {q[0], q[1], k[1]};
    const bool fits = (mask.rank() == 2 || mask.rank() == 3)
                      && std::equal(mask.d, mask.d + mask.rank(), wanted + 3 - mask.rank());
    if (!fits)
      throw std::invalid_argument("mask must be (Nt, Ns) or (B, Nt, Ns) with B = "
                                  + std::to_string(q[0]) + ", Nt = " + std::to_string(q[1])
                                  + " and Ns = " + std::to_string(k[1]) + "; found "
                                  + text_of(mask));
  }
  size_t workspace(std::span<const Shape>, std::span<const Shape> out) const {
    return kernels::attention_workspace(out[1][0], out[1][1], out[1][2]);
  }
  template <class E>
  void run(const Device& device, Tensor<const E> q, Tensor<const E> k, Tensor<const E> v,
           Tensor<const E> mask, Tensor<E> y, Tensor<E> weights) const {
    kernels::attend<E>(
        device, {q.data, k.data, v.data, mask.data, y.data, weights.data, q.shape[0], q.shape[1],
                 k.shape[1], q.shape[2], mask.data != nullptr && mask.shape.rank() == 3});
  }
};
TENON_PLUGIN(ScaledDotProductAttention);

}  // namespace
}  // namespace tenon::plugins::TENON_TARGET
