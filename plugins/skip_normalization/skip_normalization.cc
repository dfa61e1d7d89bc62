// CustomSkipLayerNormPluginDynamic 1 to 8 (TensorRT): a residual sum of BERT, normalised.
#include <tenon/kernels/constants.h>
#include <tenon/kernels/source_normalization.h>
#include <tenon/plugin.h>

namespace tenon::plugins::TENON_TARGET {

using namespace tenon::kit;      // NOLINT: what plugin authors write
using namespace tenon::kernels;  // NOLINT

namespace {

// input + skip + bias; elements of a row are `step` apart, or side by side.
template <class E, bool is_contiguous> struct SkipSum {
  const E *x, *skip;
  const float* bias;  // or null
  int64_t size, step;

  struct Row {
    const E *x, *skip;
    const float* bias;
    int64_t step;

    TENON_HD float operator()(int64_t i) const {
      const int64_t at = is_contiguous ? i : i * step;
      return static_cast<float>(x[at]) + static_cast<float>(skip[at])
             + (bias != nullptr ? bias[i] : 0.f);
    }
  };
  TENON_HD Row row(int64_t row) const {
    const int64_t first = is_contiguous ? row * size : row;
    return {x + first, skip + first, bias, step};
  }
};

// The features of an element are on `axis`; what lies behind it is one row after the other.
struct SkipNormalization {
  int32_t type_id = 0, ld = 0, output_fp32 = 0;
  std::vector<float> beta, gamma, bias;

  using T = Types<float, Half, BFloat16>;

  void prepare() const {
    if (gamma.empty() || beta.size() != gamma.size()
        || (!bias.empty() && bias.size() != gamma.size()))
      throw std::invalid_argument(
          "beta, gamma and a bias must have one length, found " + std::to_string(beta.size()) + ", "
          + std::to_string(gamma.size()) + " and " + std::to_string(bias.size()));
    if (ld != 0 && ld != features())
      throw std::invalid_argument("ld is " + std::to_string(ld) + ", but gamma has "
                                  + std::to_string(gamma.size()) + " elements");
  }
  size_t workspace(std::span<const Shape>, std::span<const Shape>) const {
    Carver carver;
    reserve_constants(carver, gamma, beta, bias);
    return carver.bytes();
  }

 protected:
  int64_t features() const { return static_cast<int64_t>(gamma.size()); }
  void require(std::span<const Shape> in, int axis) const {
    if (in[0].rank() <= axis || in[0].rank() != in[1].rank()
        || !std::equal(in[0].d, in[0].d + in[0].rank(), in[1].d))
      throw std::invalid_argument("input and skip must have one shape, found " + text_of(in[0])
                                  + " and " + text_of(in[1]));
    const Split s = in[0].split(axis);
    if (s.n != features() || (s.outer != 1 && s.inner != 1))
      throw std::invalid_argument("axis " + std::to_string(axis) + " of the input must have "
                                  + std::to_string(gamma.size()) + " features, as gamma has, found "
                                  + text_of(in[0]));
  }
  template <class E>
  void add_and_normalize(const Device& device, const Tensor<const E>& x,
                         const Tensor<const E>& skip, int axis, E* y, E* sums) const {
    Carver carver(device.workspace);
    const float *scale = constants_of(device, carver, gamma),
                *shift = constants_of(device, carver, beta);
    const float* before = constants_of(device, carver, bias);
    const Split s = x.shape.split(axis);
    const auto normalize = [&](auto is_contiguous) {
      using Source = SkipSum<E, decltype(is_contiguous)::value>;
      normalize_source(
          device, s.outer * s.inner,
          NormalizeSource<E, Source>{
              {x.data, skip.data, before, s.n, s.inner}, y, scale, shift, s.n, s.inner, sums});
    };
    if (s.inner == 1)
      normalize(std::true_type());
    else
      normalize(std::false_type());
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

}  // namespace
}  // namespace tenon::plugins::TENON_TARGET
