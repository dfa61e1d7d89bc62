// CustomEmbLayerNormPluginDynamic 1 to 6 (TensorRT): BERT's embeddings, normalised. Their tables
// are attributes.
#include <tenon/kernels/constants.h>
#include <tenon/kernels/fill.h>
#include <tenon/kernels/source_normalization.h>
#include <tenon/plugin.h>

namespace tenon::plugins::TENON_TARGET {

using namespace tenon::kit;      // NOLINT: what plugin authors write
using namespace tenon::kernels;  // NOLINT

namespace {

// The sum of three embeddings. Numbers outside of a table read its first or last row on a GPU.
struct EmbeddedToken {
  const int32_t *tokens, *segments, *starts;
  const float *words, *kinds, *positions;
  int64_t size, word_count, kind_count, position_count;
  int64_t batch;      // without starts: tokens lie (S, batch)
  int64_t sequences;  // with starts

  TENON_HD int64_t position(int64_t token) const {
    if (starts == nullptr) return token / batch;
    int64_t low = 0, high = sequences;  // the last sequence that begins at or before the token
    while (high - low > 1) {
      const int64_t middle = (low + high) / 2;
      (starts[middle] <= token ? low : high) = middle;
    }
    return token - starts[low];
  }
  struct Row {
    const float *word, *kind, *position;
    TENON_HD float operator()(int64_t i) const { return word[i] + kind[i] + position[i]; }
  };
  TENON_HD Row row(int64_t token) const {
    const auto within = [](int64_t at, int64_t count) {
      return at < 0 ? 0 : at < count ? at : count - 1;
    };
    return {words + within(tokens[token], word_count) * size,
            kinds + within(segments[token], kind_count) * size,
            positions + within(position(token), position_count) * size};
  }
};

// Tokens of each sequence that the mask marks, from the first on.
struct CountTokens {
  const int32_t* mask;
  int32_t* counts;
  int64_t length, batch;

  TENON_HD void operator()(int64_t b) const {
    int32_t count = 0;
    while (count < length && mask[count * batch + b] != 0) ++count;
    counts[b] = count;
  }
};

using List = std::vector<float>;

struct Embedding {
  int32_t output_fp16 = 0, mha_type_id = 0;
  bool full_mask = false;
  List beta, gamma, words, kinds, positions;

  void prepare() const {
    const auto size = gamma.size();
    if (size == 0 || beta.size() != size)
      throw std::invalid_argument("gamma and beta must have one length, found "
                                  + std::to_string(size) + " and " + std::to_string(beta.size()));
    for (const List* table : {&words, &kinds, &positions})
      if (table->empty() || table->size() % size != 0)
        throw std::invalid_argument("embeddings must have rows of " + std::to_string(size)
                                    + " elements, as gamma has, found "
                                    + std::to_string(table->size()) + " elements");
  }
  size_t workspace(std::span<const Shape>, std::span<const Shape>) const {
    Carver carver;
    reserve_constants(carver, gamma, beta, words, kinds, positions);
    return carver.bytes();
  }

 protected:
  int64_t size() const { return static_cast<int64_t>(gamma.size()); }
  // `sums` gets the embeddings before they are normalised, unless it is null.
  void embed(const Device& device, const Tensor<const int32_t>& tokens,
             const Tensor<const int32_t>& segments, const int32_t* starts, int64_t sequences,
             float* y, float* sums) const {
    Carver carver(device.workspace);
    const float *scale = constants_of(device, carver, gamma),
                *shift = constants_of(device, carver, beta);
    const float *word = constants_of(device, carver, words),
                *kind = constants_of(device, carver, kinds);
    const EmbeddedToken source{tokens.data,
                               segments.data,
                               starts,
                               word,
                               kind,
                               constants_of(device, carver, positions),
                               size(),
                               rows_of(words),
                               rows_of(kinds),
                               rows_of(positions),
                               starts == nullptr ? tokens.shape[1] : 1,
                               sequences};
#if !defined(__CUDACC__)
    const auto require = [](const char* name, int64_t at, int64_t count) {
      if (at < 0 || at >= count)
        throw std::invalid_argument(std::string(name) + " " + std::to_string(at)
                                    + " has no embedding; there are " + std::to_string(count));
    };
    for (int64_t i = 0; i < tokens.shape.volume(); ++i) {
      require("token", tokens.data[i], source.word_count);
      require("segment", segments.data[i], source.kind_count);
      require("position", source.position(i), source.position_count);
    }
#endif
    normalize_source(
        device, tokens.shape.volume(),
        NormalizeSource<float, EmbeddedToken>{source, y, scale, shift, size(), 1, sums});
  }

 private:
  int64_t rows_of(const List& table) const { return static_cast<int64_t>(table.size()) / size(); }
};

template <class P>
constexpr auto kEmbeddingAttributes = std::tuple{
    attribute("bert_embeddings_layernorm_beta", &P::beta).required(),
    attribute("bert_embeddings_layernorm_gamma", &P::gamma).required(),
    attribute("bert_embeddings_word_embeddings", &P::words).required().says("a row for each token"),
    attribute("bert_embeddings_token_type_embeddings", &P::kinds)
        .required()
        .says("a row for each segment"),
    attribute("bert_embeddings_position_embeddings", &P::positions)
        .required()
        .says("a row for each position"),
    attribute("output_fp16", &P::output_fp16).says("has no effect: results are float32"),
    attribute("full_mask", &P::full_mask).says("has no effect: the mask is not packed"),
    attribute("mha_type_id", &P::mha_type_id).says("has no effect")};

struct EmbeddingV1 : Embedding {
  static constexpr auto attributes = kEmbeddingAttributes<EmbeddingV1>;
  static constexpr Spec spec{
      .name = "CustomEmbLayerNormPluginDynamic",
      .inputs = {{"token_id", kInt32}, {"segment_id", kInt32}, {"input_mask", kInt32}},
      .outputs = {{"embedded", kFloat}, {"mask_idx", kInt32}},
      .protocol = Protocol::kV2,
      .text =
          "BERT's embeddings (S, B, E, 1, 1): the sum of those of tokens (S, B), segments and "
          "positions, with mean 0 and variance 1, times gamma and plus beta. mask_idx (B, 1) has "
          "how many tokens of each sequence the mask marks, from the first on.",
      .differs =
          "Results are float32. Masks are not packed for certain kernels. Tokens, segments and "
          "positions without an embedding are errors on the CPU. Any sizes."};

  void shapes(std::span<const Extents> in, std::span<Extents> out) const {
    require_axes("token_id", in[0], "S, B");
    out[0] = {in[0][0], in[0][1], size(), 1, 1};
    out[1] = {in[0][1], 1};
  }
  void check(std::span<const Shape> in) const {
    for (const Shape& other : in)
      if (other.rank() != 2 || other[0] != in[0][0] || other[1] != in[0][1])
        throw std::invalid_argument("inputs must have one shape, found " + text_of(in[0]) + " and "
                                    + text_of(other));
  }
  template <class E>
  void run(const Device& device, Tensor<const int32_t> tokens, Tensor<const int32_t> segments,
           Tensor<const int32_t> mask, Tensor<float> y, Tensor<int32_t> counts) const {
    if (tokens.shape[1] == 0) return;
    embed(device, tokens, segments, nullptr, 0, y.data, nullptr);
    device.parallel_for(tokens.shape[1],
                        CountTokens{mask.data, counts.data, tokens.shape[0], tokens.shape[1]});
  }
};
TENON_PLUGIN(EmbeddingV1);

struct EmbeddingV6 : EmbeddingV1 {
  static constexpr Spec spec{.name = "CustomEmbLayerNormPluginDynamic",
                             .version = "6",
                             .inputs = EmbeddingV1::spec.inputs,
                             .outputs = EmbeddingV1::spec.outputs,
                             .text = EmbeddingV1::spec.text,
                             .differs = EmbeddingV1::spec.differs};
};
TENON_PLUGIN(EmbeddingV6);

template <bool gives_sums> struct VariableEmbedding : Embedding {
  void shapes(std::span<const Extents> in, std::span<Extents> out) const {
    require_axes("token_id", in[0], "tokens");
    out[0] = {in[0][0], size(), 1, 1};
    out[1] = gives_sums ? out[0] : Extents{};
  }
  void check(std::span<const Shape> in) const {
    if (in[1].rank() != 1 || in[1][0] != in[0][0])
      throw std::invalid_argument("token_id and segment_id must have one shape, found "
                                  + text_of(in[0]) + " and " + text_of(in[1]));
    require_shape("cu_seqlen", in[2], "B + 1");
    require_at_least("cu_seqlen's length", in[2][0], in[0][0] > 0 ? 2 : 1);
  }
  template <class E>
  void run(const Device& device, Tensor<const int32_t> tokens, Tensor<const int32_t> segments,
           Tensor<const int32_t> starts, Tensor<const int32_t>, Tensor<float> y,
           Tensor<float> sums) const {
    if (!gives_sums) fill(device, sums.data, 1, 0.f);
    if (tokens.shape[0] == 0) return;
    embed(device, tokens, segments, starts.data, starts.shape[0] - 1, y.data,
          gives_sums ? sums.data : nullptr);
  }
};

constexpr Spec variable_embedding(const char* version, Protocol protocol, const char* text) {
  return {.name = "CustomEmbLayerNormPluginDynamic",
          .version = version,
          .inputs = {{"token_id", kInt32},
                     {"segment_id", kInt32},
                     {"cu_seqlen", kInt32},
                     {"max_seqlen", kInt32}},
          .outputs = {{"embedded", kFloat}, {"mask_idx", kFloat}},
          .protocol = protocol,
          .text = text,
          .differs = EmbeddingV1::spec.differs};
}
constexpr const char* kHuggingFaceText =
    "As version 1, for tokens of all sequences one behind the other: the result is (tokens, E, 1, "
    "1), and cu_seqlen (B + 1) has where sequences begin and end. mask_idx has no meaning.";
constexpr const char* kMegatronText =
    "As version 2; the second result is the sums before they are normalised.";

struct EmbeddingV2 : VariableEmbedding<false> {
  static constexpr auto attributes = kEmbeddingAttributes<EmbeddingV2>;
  static constexpr Spec spec = variable_embedding("2", Protocol::kV2, kHuggingFaceText);
};
TENON_PLUGIN(EmbeddingV2);
struct EmbeddingV3 : VariableEmbedding<true> {
  static constexpr auto attributes = kEmbeddingAttributes<EmbeddingV3>;
  static constexpr Spec spec = variable_embedding("3", Protocol::kV2, kMegatronText);
};
TENON_PLUGIN(EmbeddingV3);
struct EmbeddingV4 : EmbeddingV2 {
  static constexpr Spec spec = variable_embedding("4", Protocol::kV3, kHuggingFaceText);
};
TENON_PLUGIN(EmbeddingV4);
struct EmbeddingV5 : EmbeddingV3 {
  static constexpr Spec spec = variable_embedding("5", Protocol::kV3, kMegatronText);
};
TENON_PLUGIN(EmbeddingV5);

}  // namespace
}  // namespace tenon::plugins::TENON_TARGET
