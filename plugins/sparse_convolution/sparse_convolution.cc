// ImplicitGemm and IndiceConv 1 (Autoware, after spconv): sparse convolution by the pairs that
// GetIndicePairsImplicitGemm and GetIndicePairs give.
#include <tenon/kernels/fill.h>
#include <tenon/kernels/sparse_product.h>
#include <tenon/plugin.h>

namespace tenon::plugins::TENON_TARGET {

using namespace tenon::kit;      // NOLINT: what plugin authors write
using namespace tenon::kernels;  // NOLINT

namespace {

// What both share: features (N, C) and filters (K, ..., C), whose middle is the kernel.
struct SparseConvolution {
  using T = Types<float, Half, BFloat16>;

 protected:
  static void require_ranks(std::span<const Extents> in) {
    require_axes("features", in[0], "N, C");
    if (in[1].size() < 3)
      throw std::invalid_argument("filters must have 3 dimensions or more (K, kernel..., C), found "
                                  + std::to_string(in[1].size()));
  }
  static int64_t taps_of(const Shape& filters) {
    int64_t taps = 1;
    for (int a = 1; a + 1 < filters.rank(); ++a) taps *= filters[a];
    return taps;
  }
  static int64_t channels_of(const Shape& filters) { return filters[filters.rank() - 1]; }
  static void require_channels(const Shape& features, const Shape& filters) {
    if (features[1] != channels_of(filters))
      throw std::invalid_argument("features " + text_of(features) + " and filters "
                                  + text_of(filters)
                                  + " do not fit; expected (N, C) and (K, kernel..., C)");
  }
  // For a table of taps by results.
  template <class E>
  static SparseProduct<E> product(Tensor<const E> features, Tensor<const E> filters,
                                  const int32_t* table, Tensor<E> y) {
    return {.x = features.data,
            .kernel = filters.data,
            .table = table,
            .order = nullptr,
            .bias = nullptr,
            .y = y.data,
            .inputs = features.shape[0],
            .channels = features.shape[1],
            .taps = taps_of(filters.shape),
            .results = y.shape[0],
            .output_channels = y.shape[1],
            .activation = SparseActivation::kNone,
            .alpha = 0};
  }
  // Enough for any T.
  static size_t product_workspace(const Shape& features, const Shape& filters) {
    return sparse_product_workspace<float>(features[0], features[1], taps_of(filters), filters[0]);
  }
};

// Puts a pair into the table of what results read.
struct PutPair {
  const int32_t* pairs;
  int32_t* table;
  int64_t taps, results;

  TENON_HD void operator()(int64_t tap, int64_t i) const {
    const int32_t from = pairs[tap * results + i], to = pairs[(taps + tap) * results + i];
    if (from >= 0 && to >= 0 && to < results) table[tap * results + to] = from;
  }
};

}  // namespace

struct ImplicitGemm : SparseConvolution {
  SparseActivation activation = SparseActivation::kNone;
  float alpha = 0, beta = 0, output_scale = 1, output_add_scale = 1;
  bool is_submanifold = false, is_training = false;

  static constexpr auto attributes = std::tuple{
      attribute("act_type", &ImplicitGemm::activation,
                {{"none", SparseActivation::kNone},
                 {"relu", SparseActivation::kRelu},
                 {"sigmoid", SparseActivation::kSigmoid},
                 {"leaky_relu", SparseActivation::kLeakyRelu}}),
      attribute("act_alpha", &ImplicitGemm::alpha).says("the negative slope of leaky_relu"),
      attribute("act_beta", &ImplicitGemm::beta).says("has no effect"),
      attribute("is_subm", &ImplicitGemm::is_submanifold).says("has no effect: pairs say it"),
      attribute("is_train", &ImplicitGemm::is_training).says("has no effect"),
      attribute("output_scale", &ImplicitGemm::output_scale).says("has no effect without int8"),
      attribute("output_add_scale", &ImplicitGemm::output_add_scale)
          .says("has no effect without int8")};
  static constexpr Spec spec{
      .name = "ImplicitGemm",
      .inputs = {{"features", kT},
                 {"filters", kT},
                 {"pair_fwd", kInt32},
                 {"pair_mask", kInt32},
                 {"mask_argsort", kInt32},
                 {"bias", kT, kOptional}},
      .outputs = {{"out_features", kT}},
      .text =
          "spconv's implicit_gemm: results (M, K) of a sparse convolution of features (N, C) by "
          "filters (K, kernel..., C), with what GetIndicePairsImplicitGemm gives: pair_fwd "
          "(elements of the kernel, M), pair_mask (M, 1) and mask_argsort (M). Then a bias (K) and "
          "an activation.",
      .differs =
          "On a CPU and any GPU. bfloat16; sums are float. Kernels of any rank and size. Masks are "
          "not read: pairs say the same. On a GPU results are taken in the order of mask_argsort."};

  void shapes(std::span<const Extents> in, std::span<Extents> out) const {
    require_ranks(in);
    require_axes("pair_fwd", in[2], "kernel, M");
    require_axes("pair_mask", in[3], "M, 1");
    require_axes("mask_argsort", in[4], "M");
    out[0] = {in[3][0], in[1][0]};
  }
  void check(std::span<const Shape> in) const {
    const Shape &filters = in[1], &pairs = in[2];
    require_channels(in[0], filters);
    require_shape("pair_fwd", pairs, std::to_string(taps_of(filters)) + ", M");
    require_shape("pair_mask", in[3], {pairs[1], 1});
    require_shape("mask_argsort", in[4], {pairs[1]});
    if (in.size() > 5) require_shape("bias", in[5], {filters[0]});
  }
  size_t workspace(std::span<const Shape> in, std::span<const Shape>) const {
    return product_workspace(in[0], in[1]);
  }
  template <class E>
  void run(const Device& device, Tensor<const E> features, Tensor<const E> filters,
           Tensor<const int32_t> pairs, Tensor<const int32_t>, Tensor<const int32_t> order,
           Tensor<const E> bias, Tensor<E> y) const {
    SparseProduct<E> product = this->product(features, filters, pairs.data, y);
    product.order = order.data;
    product.bias = bias.data;
    product.activation = activation;
    product.alpha = alpha;
    Carver carver(device.workspace);
    sparse_product(device, carver, product);
  }
};
TENON_PLUGIN(ImplicitGemm);

struct IndiceConv : SparseConvolution {
  bool is_submanifold = false;

  static constexpr auto attributes = std::tuple{
      attribute("is_subm", &IndiceConv::is_submanifold).says("has no effect: pairs say it")};
  static constexpr Spec spec{
      .name = "IndiceConv",
      .inputs = {{"features", kT},
                 {"filters", kT},
                 {"indice_pairs", kInt32},
                 {"indice_pair_num", kInt32},
                 {"num_act_out", kInt32}},
      .outputs = {{"out_features", kT}},
      .text =
          "spconv's indice_conv: results (M, K) of a sparse convolution of features (N, C) by "
          "filters (K, kernel..., C), with what GetIndicePairs gives: indice_pairs (2, elements of "
          "the kernel, M) and their numbers.",
      .differs =
          "On a CPU and any GPU. bfloat16; sums are float. Kernels of any rank and size. Numbers "
          "of pairs are not read: what is no pair is -1."};

  void shapes(std::span<const Extents> in, std::span<Extents> out) const {
    require_ranks(in);
    require_axes("indice_pairs", in[2], "2, kernel, M");
    out[0] = {in[2][2], in[1][0]};
  }
  void check(std::span<const Shape> in) const {
    const int64_t taps = taps_of(in[1]);
    require_channels(in[0], in[1]);
    require_shape("indice_pairs", in[2], "2, " + std::to_string(taps) + ", M");
    require_shape("indice_pair_num", in[3], {taps});
  }
  size_t workspace(std::span<const Shape> in, std::span<const Shape>) const {
    Carver carver;
    carver.array<int32_t>(in[2].volume() / 2);
    return carver.bytes() + product_workspace(in[0], in[1]);
  }
  template <class E>
  void run(const Device& device, Tensor<const E> features, Tensor<const E> filters,
           Tensor<const int32_t> pairs, Tensor<const int32_t>, Tensor<const int32_t>,
           Tensor<E> y) const {
    const int64_t taps = pairs.shape[1], results = pairs.shape[2];
    Carver carver(device.workspace);
    int32_t* const table = carver.array<int32_t>(taps * results);
    fill(device, table, taps * results, int32_t{-1});
    device.parallel_grid(taps, results, PutPair{pairs.data, table, taps, results});
    sparse_product(device, carver, product(features, filters, table, y));
  }
};
TENON_PLUGIN(IndiceConv);

}  // namespace tenon::plugins::TENON_TARGET
