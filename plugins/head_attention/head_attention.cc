// Attention of several heads whose weights no one asks for: CustomQKVToContextPluginDynamic 1 to 6,
// fMHA_V2 and fMHCA 1 (TensorRT), QKVTRT and QKVTRT2 1 (BEVFormer_tensorrt).
#include <tenon/kernels/fill.h>
#include <tenon/kernels/head_attention.h>
#include <tenon/plugin.h>

namespace tenon::plugins::TENON_TARGET {

using namespace tenon::kit;      // NOLINT: what plugin authors write
using namespace tenon::kernels;  // NOLINT

namespace {

// softmax(q k^T / sqrt(features)) v.
HeadAttention extents_of(int64_t batches, int64_t heads, int64_t queries, int64_t keys,
                         int64_t features) {
  return {nullptr,
          nullptr,
          nullptr,
          nullptr,
          batches,
          heads,
          heads,
          queries,
          keys,
          features,
          1 / std::sqrt(static_cast<float>(std::max<int64_t>(features, 1)))};
}

struct PackedAttention {
  using T = Types<float, Half, BFloat16>;
  static constexpr Spec spec{
      .name = "fMHA_V2",
      .inputs = {{"qkv", kT}},
      .outputs = {{"y", kT}},
      .protocol = Protocol::kV2,
      .text =
          "softmax(q k^T / sqrt(D)) v of each head, with q, k and v side by side in (B, S, heads, "
          "3, D). The result is (B, S, heads, D).",
      .differs = "Any D and S, on any GPU. Sums are float. float32 and bfloat16."};

  void shapes(std::span<const Extents> in, std::span<Extents> out) const {
    require_axes("qkv", in[0], "B, S, heads, 3, D");
    out[0] = {in[0][0], in[0][1], in[0][2], in[0][4]};
  }
  void check(std::span<const Shape> in) const { require_shape("qkv", in[0], "B, S, heads, 3, D"); }
  size_t workspace(std::span<const Shape> in, std::span<const Shape>) const {
    return HeadMemory::bytes(of(in[0]));
  }
  template <class E> void run(const Device& device, Tensor<const E> qkv, Tensor<E> y) const {
    const HeadAttention a = of(qkv.shape);
    const int64_t token = a.heads * 3 * a.features;
    const HeadLayout in{a.queries * token, token, 3 * a.features};
    const HeadLayout out{a.queries * a.heads * a.features, a.heads * a.features, a.features};
    attend_heads_of<E>(
        device, a,
        {qkv.data, qkv.data + a.features, qkv.data + 2 * a.features, y.data, in, in, in, out},
        NoBias{});
  }

 private:
  static HeadAttention of(const Shape& s) { return extents_of(s[0], s[2], s[1], s[1], s[4]); }
};
TENON_PLUGIN(PackedAttention);

struct CrossAttention {
  using T = Types<float, Half, BFloat16>;
  static constexpr Spec spec{
      .name = "fMHCA",
      .inputs = {{"q", kT}, {"kv", kT}},
      .outputs = {{"y", kT}},
      .protocol = Protocol::kV2,
      .text =
          "softmax(q k^T / sqrt(D)) v of each head, with q (B, Sq, heads, D), and k and v side by "
          "side in (B, S, heads, 2, D). The result is as q.",
      .differs = PackedAttention::spec.differs};

  void check(std::span<const Shape> in) const {
    const Shape &q = in[0], &kv = in[1];
    const bool fits = q.rank() == 4 && kv.rank() == 5 && kv[0] == q[0] && kv[2] == q[2]
                      && kv[3] == 2 && kv[4] == q[3];
    if (!fits)
      throw std::invalid_argument(
          "q " + text_of(q) + " and kv " + text_of(kv)
          + " do not fit; expected (B, Sq, heads, D) and (B, S, heads, 2, D)");
  }
  size_t workspace(std::span<const Shape> in, std::span<const Shape>) const {
    return HeadMemory::bytes(of(in[0], in[1]));
  }
  template <class E>
  void run(const Device& device, Tensor<const E> q, Tensor<const E> kv, Tensor<E> y) const {
    const HeadAttention a = of(q.shape, kv.shape);
    const int64_t token = a.heads * a.features;
    const HeadLayout rows{a.queries * token, token, a.features};
    const HeadLayout pairs{2 * a.keys * token, 2 * token, 2 * a.features};
    attend_heads_of<E>(device, a,
                       {q.data, kv.data, kv.data + a.features, y.data, rows, pairs, pairs, rows},
                       NoBias{});
  }

 private:
  static HeadAttention of(const Shape& q, const Shape& kv) {
    return extents_of(q[0], q[2], q[1], kv[1], q[3]);
  }
};
TENON_PLUGIN(CrossAttention);

struct Qkv {
  using T = Types<float, Half, BFloat16, Quantized>;
  static constexpr Spec spec{
      .name = "QKVTRT",
      .inputs = {{"query", kT}, {"key", kT}, {"value", kT}},
      .outputs = {{"y", kT}},
      .protocol = Protocol::kV2,
      .text =
          "softmax(query key^T / sqrt(E)) value, with query (B, Nt, E), and "
          "key and value (B, Ns, E). The batch holds the heads.",
      .differs = "Any E, in int8, too. Weights and sums are float. bfloat16."};

  void check(std::span<const Shape> in) const {
    const Shape &q = in[0], &k = in[1], &v = in[2];
    const bool fits = q.rank() == 3 && k.rank() == 3 && v.rank() == 3 && k[0] == q[0]
                      && k[2] == q[2] && std::equal(k.d, k.d + 3, v.d);
    if (!fits)
      throw std::invalid_argument("query " + text_of(q) + ", key " + text_of(k) + " and value "
                                  + text_of(v)
                                  + " do not fit; expected (B, Nt, E), (B, Ns, E) twice");
  }
  size_t workspace(std::span<const Shape> in, std::span<const Shape>) const {
    return HeadMemory::bytes(of(in[0], in[1]));
  }
  template <class E>
  void run(const Device& device, Tensor<const E> q, Tensor<const E> k, Tensor<const E> v,
           Tensor<E> y) const {
    const HeadAttention a = of(q.shape, k.shape);
    const HeadLayout rows{a.queries * a.features, a.features, 0};
    const HeadLayout pairs{a.keys * a.features, a.features, 0};
    attend_heads_of<E>(device, a, {q.data, k.data, v.data, y.data, rows, pairs, pairs, rows},
                       NoBias{});
  }

 private:
  static HeadAttention of(const Shape& q, const Shape& k) {
    return extents_of(q[0], 1, q[1], k[1], q[2]);
  }
};
TENON_PLUGIN(Qkv);
TENON_PLUGIN_AS(Qkv, "QKVTRT2");

// Keys behind the end of their sequence are masked. Lengths are told, or lie between starts.
struct KeyLengths {
  const int32_t *lengths, *starts;

  TENON_HD float operator()(int64_t batch, int64_t, int64_t, int64_t key) const {
    const bool is_masked = (lengths != nullptr && key >= lengths[batch])
                           || (starts != nullptr && key >= starts[batch + 1] - starts[batch]);
    return is_masked ? -HUGE_VALF : 0.f;
  }
};

// What the versions share.
struct QkvToContext {
  int32_t type_id = 0, hidden_size = 0, heads = 0;
  bool has_mask = false, has_lengths = false;
  float dq_probs = 1.f / 127;
  int32_t int8_scale_max = 1;

  void prepare() const {
    if (heads < 1 || hidden_size < heads || hidden_size % heads != 0)
      throw std::invalid_argument("num_heads must divide hidden_size, found "
                                  + std::to_string(heads) + " and " + std::to_string(hidden_size));
  }

 protected:
  // Sequences of `starts`, whose tokens lie one behind the other.
  HeadAttention extents(int64_t batches, int64_t tokens) const {
    return extents_of(batches, heads, tokens, tokens, hidden_size / heads);
  }
  // Heads have q, k and v side by side; `channel` is the distance of channels.
  template <class E>
  void attend(const Device& device, const HeadAttention& a, const E* qkv, E* y,
              const HeadLayout& in, const HeadLayout& out, int64_t channel,
              const KeyLengths& lengths, float in_factor = 1, float out_factor = 1) const {
    const HeadLayout from = with_channels(in, 3 * a.features * channel, channel);
    const HeadLayout to = with_channels(out, a.features * channel, channel);
    attend_heads_of<E>(device, a,
                       {qkv, qkv + a.features * channel, qkv + 2 * a.features * channel, y, from,
                        from, from, to, in_factor, out_factor},
                       lengths);
  }
  static HeadLayout with_channels(HeadLayout layout, int64_t head, int64_t channel) {
    layout.head = head;
    layout.feature = channel;
    return layout;
  }
  static void require_starts(const Tensor<const int32_t>& starts, int64_t tokens, int64_t longest) {
#if !defined(__CUDACC__)
    for (int64_t i = 0; i + 1 < starts.shape.volume(); ++i) {
      const int64_t first = starts.data[i], end = starts.data[i + 1];
      if (first < 0 || end < first || end > tokens || end - first > longest)
        throw std::invalid_argument("sequence " + std::to_string(i) + " has tokens "
                                    + std::to_string(first) + " to " + std::to_string(end)
                                    + "; there are " + std::to_string(tokens)
                                    + ", and a sequence has at most " + std::to_string(longest));
    }
#endif
  }
};

struct QkvToContextV1 : QkvToContext {
  using T = Types<float, Half, BFloat16>;
  static constexpr auto attributes = std::tuple{
      attribute("type_id", &QkvToContextV1::type_id).says("has no effect: qkv has a type"),
      attribute("hidden_size", &QkvToContextV1::hidden_size).required(),
      attribute("num_heads", &QkvToContextV1::heads).required(),
      attribute("has_mask", &QkvToContextV1::has_mask).says("1: there is a second input"),
      attribute("dq_probs", &QkvToContextV1::dq_probs).says("has no effect"),
      attribute("var_seqlen", &QkvToContextV1::has_lengths)
          .says("1: tokens of all sequences lie one behind the other"),
      attribute("use_int8_scale_max", &QkvToContextV1::int8_scale_max).says("has no effect")};
  static constexpr Spec spec{
      .name = "CustomQKVToContextPluginDynamic",
      .inputs = {{"qkv", kT},
                 {"mask", kInt32, kOptional},
                 {"cu_seqlens", kInt32, kOptional},
                 {"max_seqlen", kInt32, kOptional}},
      .outputs = {{"context", kT}},
      .protocol = Protocol::kV2,
      .text =
          "BERT's attention: softmax(q k^T / sqrt(H)) v of each head. qkv is (S, B, 3 * E, 1, 1), "
          "with each head's q, k and v side by side, and the result (S, B, E, 1, 1). The mask (B, "
          "1) has the number of tokens of each sequence. With var_seqlen, qkv is (tokens, 3 * E, "
          "1, 1), cu_seqlens (B + 1) has where sequences begin and end, and the extent of "
          "max_seqlen is that of the longest; tokens of no sequence are 0.",
      .differs =
          "Any lengths and head sizes, on any GPU, in float32 and bfloat16, too; var_seqlen as "
          "well. The mask is not packed for certain kernels: it is (B, 1) or (B). No int8."};

  void shapes(std::span<const Extents> in, std::span<Extents> out) const {
    require_axes("qkv", in[0], has_lengths ? "tokens, 3 * E, 1, 1" : "S, B, 3 * E, 1, 1");
    out[0] = in[0];
    out[0][has_lengths ? 1 : 2] = hidden_size;
  }
  void require_count(size_t inputs) const {
    const size_t expected = has_lengths ? 4 : has_mask ? 2 : 1;
    if (inputs != expected)
      throw std::invalid_argument("expected " + std::to_string(expected)
                                  + " inputs with these attributes, found "
                                  + std::to_string(inputs));
  }
  void check(std::span<const Shape> in) const {
    require_count(in.size());
    if (in[0][has_lengths ? 1 : 2] != 3 * int64_t{hidden_size})
      throw std::invalid_argument("qkv must have " + std::to_string(3 * int64_t{hidden_size})
                                  + " channels, three times hidden_size, found " + text_of(in[0]));
    for (int axis = has_lengths ? 2 : 3; axis < in[0].rank(); ++axis)
      if (in[0][axis] != 1)
        throw std::invalid_argument("the last two extents of qkv must be 1, found "
                                    + text_of(in[0]));
    if (!has_lengths && has_mask && in[1].volume() != in[0][1])
      throw std::invalid_argument("the mask must have a number for each of "
                                  + std::to_string(in[0][1]) + " sequences, found "
                                  + text_of(in[1]));
    if (has_lengths && (in[2].rank() != 1 || in[2][0] < 1))
      throw std::invalid_argument("cu_seqlens must be (B + 1), found " + text_of(in[2]));
  }
  size_t workspace(std::span<const Shape> in, std::span<const Shape>) const {
    require_count(in.size());  // it is asked before check() is
    return HeadMemory::bytes(has_lengths ? extents(in[2][0] - 1, in[3].volume())
                                         : extents(in[0][1], in[0][0]));
  }
  template <class E>
  void run(const Device& device, Tensor<const E> qkv, Tensor<const int32_t> mask,
           Tensor<const int32_t> starts, Tensor<const int32_t> longest, Tensor<E> y) const {
    const int64_t size = hidden_size;
    if (has_lengths) {
      const int64_t tokens = qkv.shape[0];
      fill(device, y.data, y.shape.volume(), static_cast<E>(0.f));
      require_starts(starts, tokens, longest.shape.volume());
      attend<E>(device, extents(starts.shape[0] - 1, longest.shape.volume()), qkv.data, y.data,
                {0, 3 * size, 0, 1, starts.data, tokens}, {0, size, 0, 1, starts.data, tokens}, 1,
                {nullptr, starts.data});
    } else {
      const int64_t batches = qkv.shape[1];
      attend<E>(device, extents(batches, qkv.shape[0]), qkv.data, y.data,
                {3 * size, batches * 3 * size, 0}, {size, batches * size, 0}, 1,
                {mask.data, nullptr});
    }
  }
};
TENON_PLUGIN(QkvToContextV1);
TENON_PLUGIN_AS(QkvToContextV1, "CustomQKVToContextPluginDynamic", "2");

struct QkvToContextV4 : QkvToContextV1 {
  static constexpr Spec spec{.name = "CustomQKVToContextPluginDynamic",
                             .version = "4",
                             .inputs = QkvToContextV1::spec.inputs,
                             .outputs = QkvToContextV1::spec.outputs,
                             .text = QkvToContextV1::spec.text,
                             .differs = QkvToContextV1::spec.differs};
};
TENON_PLUGIN(QkvToContextV4);
TENON_PLUGIN_AS(QkvToContextV4, "CustomQKVToContextPluginDynamic", "5");

struct InterleavedQkvToContext : QkvToContext {
  bool is_explicit = false;
  float in_scale = 1, out_scale = 1;

  using T = Types<float, Half, int8_t>;
  static constexpr auto attributes =
      std::tuple{attribute("hidden_size", &InterleavedQkvToContext::hidden_size).required(),
                 attribute("num_heads", &InterleavedQkvToContext::heads).required(),
                 attribute("dq_probs", &InterleavedQkvToContext::dq_probs)
                     .says("has no effect: weights are not rounded"),
                 attribute("use_int8_scale_max", &InterleavedQkvToContext::int8_scale_max)
                     .says("has no effect"),
                 attribute("use_explicit_int8", &InterleavedQkvToContext::is_explicit)
                     .says("1: the scales are those of int8 tensors"),
                 attribute("input_qkv_scale", &InterleavedQkvToContext::in_scale)
                     .says("what one step of an int8 qkv is worth"),
                 attribute("output_ctx_scale", &InterleavedQkvToContext::out_scale)
                     .says("what one step of an int8 result is worth")};
  static constexpr Spec spec{
      .name = "CustomQKVToContextPluginDynamic",
      .version = "3",
      .inputs = {{"qkv", kT}, {"cu_seqlens", kInt32}, {"max_seqlen", kInt32}},
      .outputs = {{"context", kT}},
      .protocol = Protocol::kV2,
      .text =
          "As version 2 with var_seqlen, for qkv (1, 3 * E, tokens, 1); the result is (1, E, "
          "tokens, 1). int8 tensors have scales.",
      .differs =
          "float32 and float16 as well, and any lengths and head sizes. int8 is linear, not in "
          "blocks of 32 channels; weights of the softmax are not rounded."};

  void prepare() const {
    QkvToContext::prepare();
    if (!(in_scale > 0 && out_scale > 0))
      throw std::invalid_argument("input_qkv_scale and output_ctx_scale must be positive, found "
                                  + std::to_string(in_scale) + " and " + std::to_string(out_scale));
  }
  void shapes(std::span<const Extents> in, std::span<Extents> out) const {
    require_axes("qkv", in[0], "1, 3 * E, tokens, 1");
    out[0] = in[0];
    out[0][1] = hidden_size;
  }
  void check(std::span<const Shape> in) const {
    require_shape("qkv", in[0], "1, " + std::to_string(3 * int64_t{hidden_size}) + ", tokens, 1");
    if (in[1].rank() != 1 || in[1][0] < 1)
      throw std::invalid_argument("cu_seqlens must be (B + 1), found " + text_of(in[1]));
  }
  size_t workspace(std::span<const Shape> in, std::span<const Shape>) const {
    return HeadMemory::bytes(extents(in[1][0] - 1, in[2].volume()));
  }
  template <class E>
  void run(const Device& device, Tensor<const E> qkv, Tensor<const int32_t> starts,
           Tensor<const int32_t> longest, Tensor<E> y) const {
    const int64_t tokens = qkv.shape[2];
    fill(device, y.data, y.shape.volume(), static_cast<E>(0.f));
    require_starts(starts, tokens, longest.shape.volume());
    const HeadLayout layout{0, 1, 0, tokens, starts.data, tokens};
    const bool is_scaled = std::is_same_v<E, int8_t> && is_explicit;
    attend<E>(device, extents(starts.shape[0] - 1, longest.shape.volume()), qkv.data, y.data,
              layout, layout, tokens, {nullptr, starts.data}, is_scaled ? in_scale : 1,
              is_scaled ? 1 / out_scale : 1);
  }
};
TENON_PLUGIN(InterleavedQkvToContext);

struct InterleavedQkvToContextV6 : InterleavedQkvToContext {
  static constexpr Spec spec{.name = "CustomQKVToContextPluginDynamic",
                             .version = "6",
                             .inputs = InterleavedQkvToContext::spec.inputs,
                             .outputs = InterleavedQkvToContext::spec.outputs,
                             .text = InterleavedQkvToContext::spec.text,
                             .differs = InterleavedQkvToContext::spec.differs};
};
TENON_PLUGIN(InterleavedQkvToContextV6);

}  // namespace
}  // namespace tenon::plugins::TENON_TARGET
