// AttentionPlugin 1 (TensorRT-Edge-LLM): causal attention with a cache of keys and values.
#include <tenon/kernels/head_attention.h>
#include <tenon/plugin.h>

namespace tenon::plugins::TENON_TARGET {

using namespace tenon::kit;      // NOLINT: what plugin authors write
using namespace tenon::kernels;  // NOLINT

namespace {

// New tokens, and how they relate to those of the cache.
struct NewTokens {
  const int32_t *lengths, *starts, *mask, *positions;  // the last three may be null
  int64_t tokens, mask_words;

  TENON_HD int64_t start(int64_t batch) const { return starts == nullptr ? 0 : starts[batch]; }
  // What rotates a token.
  TENON_HD int64_t position(int64_t batch, int64_t token) const {
    return positions != nullptr ? positions[batch * tokens + token] : start(batch) + token;
  }
  // Whether a token is there, or only fills its row.
  TENON_HD bool is_there(int64_t batch, int64_t token) const {
    return start(batch) + token < lengths[batch];
  }
  TENON_HD bool sees(int64_t batch, int64_t token, int64_t key) const {
    const int64_t first = start(batch), fresh = key - first;
    if (key >= lengths[batch]) return false;
    if (mask == nullptr || fresh < 0) return key <= first + token;
    if (fresh >= tokens) return false;
    const auto bits =
        static_cast<uint32_t>(mask[(batch * tokens + token) * mask_words + fresh / 32]);
    return (bits >> (fresh % 32) & 1) != 0;
  }
};
struct SeenKeys {
  NewTokens tokens;
  TENON_HD float operator()(int64_t batch, int64_t, int64_t query, int64_t key) const {
    return tokens.sees(batch, query, key) ? 0.f : -HUGE_VALF;
  }
};

// Queries and keys rotated by their position: the first half of the rotated features with the
// second.
struct Rotary {
  const float* table;  // (batches or 1, positions, numbers): cosines, then sines
  int64_t batches, positions, numbers;

  template <class E>
  TENON_HD float rotated(const E* features, int64_t batch, int64_t position,
                         int64_t feature) const {
    const auto value = static_cast<float>(features[feature]);
    if (feature >= numbers) return value;
    const int64_t half = numbers / 2, at = feature % half;
    const int64_t row = position < 0 ? 0 : position < positions ? position : positions - 1;
    const float* const t = table + ((batches == 1 ? 0 : batch) * positions + row) * numbers;
    const auto other = static_cast<float>(features[feature < half ? feature + half : at]);
    return feature < half ? value * t[at] - other * t[half + at]
                          : value * t[at] + other * t[half + at];
  }
};

struct CacheShape {
  int64_t heads, key_heads, features, capacity, tokens;

  TENON_HD int64_t row() const { return (heads + 2 * key_heads) * features; }  // of a token of qkv
};

template <class E> struct RotateQueries {
  const E* qkv;
  float* q;  // (batches, heads, tokens, features)
  CacheShape shape;
  Rotary rotary;
  NewTokens tokens;

  TENON_HD void operator()(int64_t i) const {
    const int64_t feature = i % shape.features, token = i / shape.features % shape.tokens;
    const int64_t head = i / (shape.features * shape.tokens) % shape.heads;
    const int64_t batch = i / (shape.features * shape.tokens * shape.heads);
    const E* const from =
        qkv + (batch * shape.tokens + token) * shape.row() + head * shape.features;
    q[i] = rotary.rotated(from, batch, tokens.position(batch, token), feature);
  }
};

// The cache (batches, 2, heads, capacity, features) with the new tokens in it, and as float for the
// products: keys transposed.
template <class E> struct ExtendCache {
  const E *qkv, *cache;
  E* extended;
  float *k, *v;
  CacheShape shape;
  Rotary rotary;
  NewTokens tokens;

  TENON_HD void operator()(int64_t i) const {
    const int64_t feature = i % shape.features, index = i / shape.features % shape.capacity;
    const int64_t head = i / (shape.features * shape.capacity) % shape.key_heads;
    const int64_t rest = i / (shape.features * shape.capacity * shape.key_heads);
    const int64_t batch = rest / 2, is_value = rest % 2, token = index - tokens.start(batch);
    E result = cache[i];
    if (token >= 0 && token < shape.tokens && tokens.is_there(batch, token)) {
      const E* const from = qkv + (batch * shape.tokens + token) * shape.row()
                            + (shape.heads + is_value * shape.key_heads + head) * shape.features;
      result =
          is_value != 0
              ? from[feature]
              : static_cast<E>(rotary.rotated(from, batch, tokens.position(batch, token), feature));
    }
    extended[i] = result;
    // What lies behind the end of a sequence may be anything.
    const float value = index < tokens.lengths[batch] ? static_cast<float>(result) : 0.f;
    const int64_t of_head = batch * shape.key_heads + head;
    if (is_value != 0)
      v[(of_head * shape.capacity + index) * shape.features + feature] = value;
    else
      k[(of_head * shape.features + feature) * shape.capacity + index] = value;
  }
};

struct CachedAttention {
  int32_t heads = 0, key_heads = 0, features = 0, has_tree = 0;

  using T = Types<Half, float, BFloat16>;
  static constexpr auto attributes =
      std::tuple{attribute("num_q_heads", &CachedAttention::heads).required(),
                 attribute("num_kv_heads", &CachedAttention::key_heads).required(),
                 attribute("head_size", &CachedAttention::features).required(),
                 attribute("enable_tree_attention", &CachedAttention::has_tree)
                     .says("1: there are attention_mask and attention_pos_id")};
  static constexpr Spec spec{
      .name = "AttentionPlugin",
      .inputs = {{"qkv", kT},
                 {"kv_cache", kT},
                 {"context_lengths", kInt32},
                 {"rope_cos_sin", kFloat},
                 {"kv_cache_start", kInt32},
                 {"attention_mask", kInt32, kOptional},
                 {"attention_pos_id", kInt32, kOptional}},
      .outputs = {{"attention", kT}, {"extended_kv_cache", kT}},
      .protocol = Protocol::kV2,
      .text =
          "Causal attention of new tokens, qkv (B, S, (num_q_heads + 2 * num_kv_heads) * D), and "
          "of those in a cache (B, 2, num_kv_heads, capacity, D). Queries and keys are rotated by "
          "rope_cos_sin (B or 1, positions, cosines and sines of the features that rotate); a "
          "sequence has context_lengths (B) tokens with the new ones, which begin at "
          "kv_cache_start (B), or at 0 if that is empty. The result is (B, S, num_q_heads, D), and "
          "the cache with the new keys and values. With enable_tree_attention and a kv_cache_start "
          "that is not empty, tokens see what the bits of attention_mask (B, S, words) say of the "
          "new ones, and attention_pos_id (B, S) rotates them; (B, 1) is for plain tokens.",
      .differs =
          "Any sizes of heads, on any GPU, in float32 and bfloat16. The cache that comes out is "
          "written whole, not in place. No FP8."};

  void prepare() const {
    if (key_heads < 1 || heads < key_heads || heads % key_heads != 0)
      throw std::invalid_argument("num_kv_heads must divide num_q_heads, found "
                                  + std::to_string(key_heads) + " and " + std::to_string(heads));
    require_at_least("head_size", features, 1);
  }
  void shapes(std::span<const Extents> in, std::span<Extents> out) const {
    require_axes("qkv", in[0], "B, S, (num_q_heads + 2 * num_kv_heads) * D");
    require_axes("kv_cache", in[1], "B, 2, num_kv_heads, capacity, D");
    out[0] = {in[0][0], in[0][1], heads, features};
    out[1] = in[1];
  }
  void check(std::span<const Shape> in) const {
    const Shape &qkv = in[0], &cache = in[1], &rope = in[3];
    const int64_t batches = qkv[0], row = (int64_t{heads} + 2 * int64_t{key_heads}) * features;
    if (qkv[2] != row || cache[0] != batches || cache[1] != 2 || cache[2] != key_heads
        || cache[4] != features)
      throw std::invalid_argument("qkv " + text_of(qkv) + " and kv_cache " + text_of(cache)
                                  + " do not fit; expected (B, S, " + std::to_string(row)
                                  + ") and (B, 2, " + std::to_string(key_heads) + ", capacity, "
                                  + std::to_string(features) + ")");
    if (in[2].volume() != batches || (in[4].volume() != 0 && in[4].volume() != batches))
      throw std::invalid_argument("context_lengths must be (" + std::to_string(batches)
                                  + "), and kv_cache_start the same or empty, found "
                                  + text_of(in[2]) + " and " + text_of(in[4]));
    if (rope.rank() != 3 || (rope[0] != 1 && rope[0] != batches) || rope[2] > features
        || rope[2] % 2 != 0 || rope[1] < 1)
      throw std::invalid_argument("rope_cos_sin must be (B or 1, positions, an even number up to "
                                  + std::to_string(features) + "), found " + text_of(rope));
    if ((has_tree != 0) != (in.size() > 5) || in.size() == 6)
      throw std::invalid_argument("expected " + std::to_string(has_tree != 0 ? 7 : 5)
                                  + " inputs with these attributes, found "
                                  + std::to_string(in.size()));
    if (in.size() < 7) return;
    const bool fits =
        in[6].rank() == 2 && in[6][0] == batches && (in[6][1] == 1 || in[6][1] == qkv[1]);
    const bool wants_bits = in[4].volume() != 0 && in[6][1] == qkv[1] && qkv[1] > 1;
    if (!fits || (wants_bits && !is_tree(qkv, in[4], in[5], in[6])))
      throw std::invalid_argument("attention_mask " + text_of(in[5]) + " and attention_pos_id "
                                  + text_of(in[6])
                                  + " do not fit; expected (B, S, words of 32 tokens) and (B, S)");
  }
  size_t workspace(std::span<const Shape> in, std::span<const Shape>) const {
    Carver carver;
    HeadMemory(carver, extents(in[0][0], in[0][1], in[1][3]));
    return carver.bytes();
  }
  template <class E>
  void run(const Device& device, Tensor<const E> qkv, Tensor<const E> cache,
           Tensor<const int32_t> lengths, Tensor<const float> rope, Tensor<const int32_t> starts,
           Tensor<const int32_t> mask, Tensor<const int32_t> positions, Tensor<E> y,
           Tensor<E> extended) const {
    const int64_t batches = qkv.shape[0], tokens = qkv.shape[1], capacity = cache.shape[3];
    const bool has_bits =
        mask && positions && is_tree(qkv.shape, starts.shape, mask.shape, positions.shape);
    const NewTokens fresh{lengths.data,
                          starts.shape.volume() == 0 ? nullptr : starts.data,
                          has_bits ? mask.data : nullptr,
                          has_bits ? positions.data : nullptr,
                          tokens,
                          has_bits ? mask.shape[2] : 0};
#if !defined(__CUDACC__)
    for (int64_t b = 0; b < batches; ++b)
      if (fresh.start(b) < 0 || lengths.data[b] < fresh.start(b) || lengths.data[b] > capacity)
        throw std::invalid_argument("sequence " + std::to_string(b) + " has "
                                    + std::to_string(lengths.data[b])
                                    + " tokens, the new ones from " + std::to_string(fresh.start(b))
                                    + " on; the cache holds " + std::to_string(capacity));
#endif
    HeadAttention a = extents(batches, tokens, capacity);
    Carver carver(device.workspace);
    const HeadMemory memory(carver, a);
    const CacheShape shape{heads, key_heads, features, capacity, tokens};
    const Rotary rotary{rope.data, rope.shape[0], rope.shape[1], rope.shape[2]};
    device.parallel_for(extended.shape.volume(),
                        ExtendCache<E>{qkv.data, cache.data, extended.data, memory.k, memory.v,
                                       shape, rotary, fresh});
    if (a.rows() == 0) return;
    device.parallel_for(a.rows() * features,
                        RotateQueries<E>{qkv.data, memory.q, shape, rotary, fresh});
    a.q = memory.q;
    a.k = memory.k;
    a.v = memory.v;
    a.y = memory.y;
    Device rest = device;
    rest.workspace = memory.scores;
    attend_heads(rest, a, SeenKeys{fresh});
    const HeadLayout layout{tokens * heads * features, int64_t{heads} * features, features};
    move_heads(device, ScatterHeads<E>{memory.y, y.data, layout, heads, tokens, features}, batches);
  }

 private:
  // Whether the mask has a bit for each pair of new tokens. One plain token may come with a mask
  // that means nothing.
  static bool is_tree(const Shape& qkv, const Shape& starts, const Shape& mask,
                      const Shape& positions) {
    return starts.volume() != 0 && positions[1] == qkv[1] && mask.rank() == 3 && mask[0] == qkv[0]
           && mask[1] == qkv[1] && mask[2] * 32 >= qkv[1];
  }
  HeadAttention extents(int64_t batches, int64_t tokens, int64_t capacity) const {
    return {nullptr,
            nullptr,
            nullptr,
            nullptr,
            batches,
            heads,
            key_heads,
            tokens,
            capacity,
            features,
            1 / std::sqrt(static_cast<float>(features))};
  }
};
TENON_PLUGIN(CachedAttention);

}  // namespace
}  // namespace tenon::plugins::TENON_TARGET
