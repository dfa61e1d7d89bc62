// Layers of BERT and DeBERTa: CustomEmbLayerNormPluginDynamic 1 to 6,
// CustomSkipLayerNormPluginDynamic 1 to 8, CustomFCPluginDynamic 1, DisentangledAttention_TRT 1 and
// 2, all of TensorRT. Their weights are attributes.
#include <tenon/kernels/float_copies.h>
#include <tenon/kernels/shape_text.h>
#include <tenon/plugin.h>

namespace tenon::plugins::TENON_TARGET {

using namespace tenon::kit;      // NOLINT: what plugin authors write
using namespace tenon::kernels;  // NOLINT

namespace {

using List = std::vector<float>;

int64_t length(const List& list) {
  return static_cast<int64_t>(list.size());
}

// A list where kernels can read it, in workspace.
const float* upload(const Device& device, Carver& carver, const List& list) {
  float* const at = carver.array<float>(length(list));
  return list.empty() ? nullptr : device.constants(list.data(), length(list), at);
}
size_t upload_bytes(std::initializer_list<const List*> lists) {
  Carver carver;
  for (const List* list : lists) carver.array<float>(length(*list));
  return carver.bytes();
}

constexpr float kEpsilon = 0x1p-23f;  // so that a row of equal elements is finite

// Rows of a source brought to mean 0 and variance 1, times gamma and plus beta. source(row, i)
// gives an element; the elements of a row are `step` apart in y.
template <class E, class Source> struct NormalizeRows {
  Source source;
  E* y;
  const float *gamma, *beta;
  int64_t size, step;
  E* sums = nullptr;  // where the source's elements go as well

  TENON_DEVICE void operator()(const Team& team, int64_t row) const {
    const int64_t first = step == 1 ? row * size : row;
    const auto count = static_cast<float>(size);
    const float mean = team.sum(size, [&](int64_t i) { return source(row, i); }) / count;
    const float variance = team.sum(size, [&](int64_t i) {
      return (source(row, i) - mean) * (source(row, i) - mean);
    }) / count;
    const float scale = 1 / sqrtf(variance + kEpsilon);
    team.each(size, [&](int64_t i) {
      const float value = source(row, i);
      y[first + i * step] = static_cast<E>((value - mean) * scale * gamma[i] + beta[i]);
      if (sums != nullptr) sums[first + i * step] = static_cast<E>(value);
    });
  }
};

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
  TENON_HD float operator()(int64_t token, int64_t i) const {
    const auto within = [](int64_t at, int64_t count) {
      return at < 0 ? 0 : at < count ? at : count - 1;
    };
    return words[within(tokens[token], word_count) * size + i]
           + kinds[within(segments[token], kind_count) * size + i]
           + positions[within(position(token), position_count) * size + i];
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
    return upload_bytes({&gamma, &beta, &words, &kinds, &positions});
  }

 protected:
  int64_t size() const { return length(gamma); }
  // `sums` gets the embeddings before they are normalised, unless it is null.
  void embed(const Device& device, const Tensor<const int32_t>& tokens,
             const Tensor<const int32_t>& segments, const int32_t* starts, int64_t sequences,
             float* y, float* sums) const {
    Carver carver(device.workspace);
    const float *scale = upload(device, carver, gamma), *shift = upload(device, carver, beta);
    const float *word = upload(device, carver, words), *kind = upload(device, carver, kinds);
    const EmbeddedToken source{tokens.data,
                               segments.data,
                               starts,
                               word,
                               kind,
                               upload(device, carver, positions),
                               size(),
                               length(words) / size(),
                               length(kinds) / size(),
                               length(positions) / size(),
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
    device.parallel_rows(tokens.shape.volume(), NormalizeRows<float, EmbeddedToken>{
                                                    source, y, scale, shift, size(), 1, sums});
  }
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
    if (in[0].size() != 2)
      throw std::invalid_argument("token_id must have 2 dimensions (S, B), found "
                                  + std::to_string(in[0].size()));
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

struct Zero {
  float* y;
  TENON_HD void operator()(int64_t i) const { y[i] = 0; }
};

template <bool gives_sums> struct VariableEmbedding : Embedding {
  void shapes(std::span<const Extents> in, std::span<Extents> out) const {
    if (in[0].size() != 1)
      throw std::invalid_argument("token_id must have 1 dimension, found "
                                  + std::to_string(in[0].size()));
    out[0] = {in[0][0], size(), 1, 1};
    out[1] = gives_sums ? out[0] : Extents{};
  }
  void check(std::span<const Shape> in) const {
    if (in[1].rank() != 1 || in[1][0] != in[0][0])
      throw std::invalid_argument("token_id and segment_id must have one shape, found "
                                  + text_of(in[0]) + " and " + text_of(in[1]));
    if (in[2].rank() != 1 || in[2][0] < 1)
      throw std::invalid_argument("cu_seqlen must be (B + 1), found " + text_of(in[2]));
  }
  template <class E>
  void run(const Device& device, Tensor<const int32_t> tokens, Tensor<const int32_t> segments,
           Tensor<const int32_t> starts, Tensor<const int32_t>, Tensor<float> y,
           Tensor<float> sums) const {
    if (!gives_sums) device.parallel_for(1, Zero{sums.data});
    if (starts.shape[0] < 2) return;
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

// input + skip + bias; elements of a row are `step` apart.
template <class E> struct SkipSum {
  const E *x, *skip;
  const float* bias;  // or null
  int64_t size, step;

  TENON_HD float operator()(int64_t row, int64_t i) const {
    const int64_t at = step == 1 ? row * size + i : row + i * step;
    return static_cast<float>(x[at]) + static_cast<float>(skip[at])
           + (bias != nullptr ? bias[i] : 0.f);
  }
};

// The features of an element are on `axis`; what lies behind it is one row after the other.
struct SkipNormalization {
  int32_t type_id = 0, ld = 0, output_fp32 = 0;
  List beta, gamma, bias;

  using T = Types<float, Half, BFloat16>;

  void prepare() const {
    if (gamma.empty() || beta.size() != gamma.size()
        || (!bias.empty() && bias.size() != gamma.size()))
      throw std::invalid_argument(
          "beta, gamma and a bias must have one length, found " + std::to_string(beta.size()) + ", "
          + std::to_string(gamma.size()) + " and " + std::to_string(bias.size()));
    if (ld != 0 && ld != length(gamma))
      throw std::invalid_argument("ld is " + std::to_string(ld) + ", but gamma has "
                                  + std::to_string(gamma.size()) + " elements");
  }
  size_t workspace(std::span<const Shape>, std::span<const Shape>) const {
    return upload_bytes({&gamma, &beta, &bias});
  }

 protected:
  void require(std::span<const Shape> in, int axis) const {
    if (in[0].rank() <= axis || in[0].rank() != in[1].rank()
        || !std::equal(in[0].d, in[0].d + in[0].rank(), in[1].d))
      throw std::invalid_argument("input and skip must have one shape, found " + text_of(in[0])
                                  + " and " + text_of(in[1]));
    const Split s = in[0].split(axis);
    if (s.n != length(gamma) || (s.outer != 1 && s.inner != 1))
      throw std::invalid_argument("axis " + std::to_string(axis) + " of the input must have "
                                  + std::to_string(gamma.size()) + " features, as gamma has, found "
                                  + text_of(in[0]));
  }
  template <class E>
  void add_and_normalize(const Device& device, const Tensor<const E>& x,
                         const Tensor<const E>& skip, int axis, E* y, E* sums) const {
    Carver carver(device.workspace);
    const float *scale = upload(device, carver, gamma), *shift = upload(device, carver, beta);
    const float* before = upload(device, carver, bias);
    const Split s = x.shape.split(axis);
    device.parallel_rows(
        s.outer * s.inner,
        NormalizeRows<E, SkipSum<E>>{
            {x.data, skip.data, before, s.n, s.inner}, y, scale, shift, s.n, s.inner, sums});
  }
};

constexpr const char* kSkipDiffers =
    "Any number of features. Sums are float. bfloat16; no int8, whose scales a plugin does not "
    "know.";
constexpr Ports kSkipInputs = {{"input", kT}, {"skip", kT}};

struct SkipV1 : SkipNormalization {
  static constexpr auto attributes = std::tuple{
      attribute("type_id", &SkipV1::type_id).says("has no effect: the input has a type"),
      attribute("ld", &SkipV1::ld).says("features, to be checked; 0: any number"),
      attribute("beta", &SkipV1::beta).required(), attribute("gamma", &SkipV1::gamma).required(),
      attribute("bias", &SkipV1::bias).says("is added before")};
  static constexpr Spec spec{
      .name = "CustomSkipLayerNormPluginDynamic",
      .inputs = kSkipInputs,
      .outputs = {{"output", kT}},
      .protocol = Protocol::kV2,
      .text =
          "input + skip + bias with mean 0 and variance 1 over the features, times gamma and plus "
          "beta. The input is (S, B, E, 1, 1), or (tokens, E, 1, 1).",
      .differs = kSkipDiffers};

  void check(std::span<const Shape> in) const { require(in, axis(in[0])); }
  template <class E>
  void run(const Device& device, Tensor<const E> x, Tensor<const E> skip, Tensor<E> y) const {
    add_and_normalize<E>(device, x, skip, axis(x.shape), y.data, nullptr);
  }

 private:
  static int axis(const Shape& x) { return x.rank() == 4 ? 1 : 2; }
};
TENON_PLUGIN(SkipV1);
TENON_PLUGIN_AS(SkipV1, "CustomSkipLayerNormPluginDynamic", "2");

constexpr Spec skip_spec(const char* version, const Ports& outputs, const char* text) {
  return {.name = "CustomSkipLayerNormPluginDynamic",
          .version = version,
          .inputs = kSkipInputs,
          .outputs = outputs,
          .text = text,
          .differs = kSkipDiffers};
}
constexpr Spec with_v2(Spec spec) {
  spec.protocol = Protocol::kV2;
  return spec;
}

struct SkipV5 : SkipV1 {
  static constexpr Spec spec = skip_spec("5", SkipV1::spec.outputs, SkipV1::spec.text);
};
TENON_PLUGIN(SkipV5);
TENON_PLUGIN_AS(SkipV5, "CustomSkipLayerNormPluginDynamic", "6");

struct SkipV7 : SkipNormalization {
  static constexpr auto attributes = std::tuple{
      attribute("beta", &SkipV7::beta).required(), attribute("gamma", &SkipV7::gamma).required(),
      attribute("output_fp32", &SkipV7::output_fp32)
          .says("has no effect: results are as the input")};
  static constexpr Spec spec =
      skip_spec("7", {{"output", kT}},
                "input + skip with mean 0 and variance 1 over the features, times gamma and plus "
                "beta. The input is (1, E, tokens, 1).");

  void check(std::span<const Shape> in) const { require(in, 1); }
  template <class E>
  void run(const Device& device, Tensor<const E> x, Tensor<const E> skip, Tensor<E> y) const {
    add_and_normalize<E>(device, x, skip, 1, y.data, nullptr);
  }
};
TENON_PLUGIN(SkipV7);
struct SkipV3 : SkipV7 {
  static constexpr Spec spec = with_v2(skip_spec("3", SkipV7::spec.outputs, SkipV7::spec.text));
};
TENON_PLUGIN(SkipV3);

struct SkipV8 : SkipV7 {
  static constexpr Spec spec = skip_spec("8", {{"output", kT}, {"sum", kT}},
                                         "As version 7; the second result is input + skip.");
  template <class E>
  void run(const Device& device, Tensor<const E> x, Tensor<const E> skip, Tensor<E> y,
           Tensor<E> sum) const {
    add_and_normalize<E>(device, x, skip, 1, y.data, sum.data);
  }
};
TENON_PLUGIN(SkipV8);
struct SkipV4 : SkipV8 {
  static constexpr Spec spec = with_v2(skip_spec("4", SkipV8::spec.outputs, SkipV8::spec.text));
};
TENON_PLUGIN(SkipV4);

struct FullyConnected {
  int32_t out_dims = 0, type_id = 0;
  List weights;

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
    if (out_dims < 1 || weights.size() % static_cast<size_t>(std::max(out_dims, 1)) != 0)
      throw std::invalid_argument("W must have a number of rows of out_dims elements, found "
                                  + std::to_string(weights.size()) + " elements and out_dims "
                                  + std::to_string(out_dims));
  }
  void shapes(std::span<const Extents> in, std::span<Extents> out) const {
    if (in[0].size() != 5)
      throw std::invalid_argument("input must have 5 dimensions (N, B, K, 1, 1), found "
                                  + std::to_string(in[0].size()));
    out[0] = {in[0][0], in[0][1], out_dims, 1, 1};
  }
  void check(std::span<const Shape> in) const {
    if (in[0][2] * in[0][3] * in[0][4] != depth() || in[0][2] != depth())
      throw std::invalid_argument("input must be (N, B, " + std::to_string(depth())
                                  + ", 1, 1), as W has so many rows, found " + text_of(in[0]));
  }
  size_t workspace(std::span<const Shape> in, std::span<const Shape> out) const {
    Carver carver;
    carver.array<float>(length(weights));
    FloatCopies::reserve(carver, in[0].volume());
    FloatCopies::reserve(carver, out[0].volume());
    return carver.bytes();
  }
  template <class E> void run(const Device& device, Tensor<const E> x, Tensor<E> y) const {
    Carver carver(device.workspace);
    const float* w = upload(device, carver, weights);
    const FloatCopies copies(device, carver);
    const float* from = copies.of(x.data, x.shape.volume());
    float* const to = copies.result(y.data, y.shape.volume());
    device.multiply(x.shape[0] * x.shape[1], out_dims, depth(), {from, depth()}, {w, out_dims}, to,
                    out_dims);
    copies.store(to, y.data, y.shape.volume());
  }

 private:
  int64_t depth() const { return length(weights) / out_dims; }
};
TENON_PLUGIN(FullyConnected);

// One score of DeBERTa's disentangled attention. Distances beyond half of the span lie in buckets
// that grow with their logarithm, as in transformers' make_log_bucket_position.
template <class E> struct DisentangledScore {
  const E *content, *to_position, *from_position;
  E* y;
  int64_t size, positions, span;
  float factor;

  TENON_HD int64_t bucket(int64_t distance) const {
    const int64_t middle = span / 2, far = distance < 0 ? -distance : distance;
    int64_t at = distance;
    if (far > middle && middle > 0) {
      // A little less than one, so that what is whole but for rounding is not rounded up.
      constexpr float kJustBelow = 1 - 1e-7f;
      const auto half = static_cast<float>(middle);
      const float step = (half - 1) / logf(static_cast<float>(positions - 1) / half) * kJustBelow;
      at = static_cast<int64_t>(ceilf(logf(static_cast<float>(far) / half) * step)) + middle;
      at = distance < 0 ? -at : at;
    }
    at += span;
    return at < 0 ? 0 : at < positions ? at : positions - 1;
  }
  TENON_HD void operator()(int64_t i) const {
    const int64_t key = i % size, query = i / size % size, head = i / (size * size);
    const int64_t at = bucket(query - key);
    const float score = static_cast<float>(content[i])
                        + static_cast<float>(to_position[(head * size + query) * positions + at])
                        + static_cast<float>(from_position[(head * size + key) * positions + at]);
    y[i] = static_cast<E>(score * factor);
  }
};

struct DisentangledAttention {
  int32_t span = 0;
  float factor = 0;

  using T = Types<float, Half, BFloat16>;
  static constexpr auto attributes =
      std::tuple{attribute("span", &DisentangledAttention::span)
                     .required()
                     .says("buckets of distances, on either side"),
                 attribute("factor", &DisentangledAttention::factor).required().says("of the sum")};
  static constexpr Spec spec{
      .name = "DisentangledAttention_TRT",
      .version = "2",
      .inputs = {{"c2c", kT}, {"c2p", kT}, {"p2c", kT}},
      .outputs = {{"scores", kT}},
      .text =
          "DeBERTa's scores (B * heads, S, S): content to content, plus content to position (B * "
          "heads, S, 2 * span) and position to content at the bucket of the distance, times a "
          "factor.",
      .differs = "Sums are float. Any S. bfloat16; no int8, whose scales a plugin does not know."};

  void prepare() const {
    if (span < 1)
      throw std::invalid_argument("span must be at least 1, found " + std::to_string(span));
  }
  void check(std::span<const Shape> in) const {
    const Shape& content = in[0];
    bool fits = content.rank() == 3 && content[1] == content[2];
    for (size_t i = 1; i < 3; ++i)
      fits = fits && in[i].rank() == 3 && in[i][0] == content[0] && in[i][1] == content[1]
             && in[i][2] == 2 * int64_t{span};
    if (!fits)
      throw std::invalid_argument("c2c " + text_of(in[0]) + ", c2p " + text_of(in[1]) + " and p2c "
                                  + text_of(in[2])
                                  + " do not fit; expected (B, S, S) and twice (B, S, "
                                  + std::to_string(2 * int64_t{span}) + ")");
  }
  template <class E>
  void run(const Device& device, Tensor<const E> content, Tensor<const E> to, Tensor<const E> from,
           Tensor<E> y) const {
    device.parallel_for(y.shape.volume(),
                        DisentangledScore<E>{content.data, to.data, from.data, y.data,
                                             content.shape[1], 2 * int64_t{span}, span, factor});
  }
};
TENON_PLUGIN(DisentangledAttention);

struct DisentangledAttentionV1 : DisentangledAttention {
  static constexpr Spec spec{.name = "DisentangledAttention_TRT",
                             .inputs = DisentangledAttention::spec.inputs,
                             .outputs = DisentangledAttention::spec.outputs,
                             .protocol = Protocol::kV2,
                             .text = DisentangledAttention::spec.text,
                             .differs = DisentangledAttention::spec.differs};
};
TENON_PLUGIN(DisentangledAttentionV1);

}  // namespace
}  // namespace tenon::plugins::TENON_TARGET
