// Activations of tutorials and of other plugin libraries, element by element:
// - HSwish, HSigmoid 1 (tensorRT_Pro): torch.nn.Hardswish and Hardsigmoid;
// - MYSELU 1 (a tutorial's): torch.nn.SiLU, with inputs and attributes of every kind that only show
//   that they arrive;
// - LReLU_TRT 1 (TensorRT), LeakyReluPlugin 1 (LitLeo): torch.nn.LeakyReLU;
// - Prelu 1 (tiny-tensorrt): torch.nn.PReLU with the weights as an attribute;
// - Clip_TRT, CustomGeluPluginDynamic 1 (TensorRT): torch.clamp, and GELU by tanh after a bias.
#include <tenon/kernels/leaky.h>
#include <tenon/kernels/wide_vectors.h>
#include <tenon/plugin.h>

namespace tenon::plugins::TENON_TARGET {

using namespace tenon::kit;  // NOLINT: what plugin authors write

namespace {

template <class E, class F> struct Applied {
  const E* x;
  E* y;
  F f;
  TENON_HD void operator()(int64_t i) const { y[i] = static_cast<E>(f(static_cast<float>(x[i]))); }
};

// y = f(x) for `count` elements, in float.
template <class E, class F>
void apply(const Device& device, const E* x, E* y, int64_t count, const F& f) {
#if defined(__CUDACC__)
  device.parallel_for(count, Applied<E, F>{x, y, f});
#else
  constexpr int64_t kGrain = 16384, kBlock = 512;
  device.parallel_ranges(count, kGrain, [&](int64_t begin, int64_t end) {
    float block[kBlock];
    for (int64_t at = begin; at < end; at += kBlock) {
      const int64_t n = std::min(kBlock, end - at);
      convert(x + at, block, n);
      kernels::with_wide_vectors([&block, n, g = f](auto) {
        const F h = g;
        for (int64_t i = 0; i < n; ++i) block[i] = h(block[i]);
      });
      convert(block, y + at, n);
    }
  });
#endif
}

// A NaN stays a NaN in all of these.
TENON_HD inline float hard_sigmoid(float x) {
  const float six = x + 3 < 0 ? 0 : x + 3;
  return (six > 6 ? 6 : six) / 6;
}
struct HardSwish {
  TENON_HD float operator()(float x) const { return x * hard_sigmoid(x); }
};
struct HardSigmoid {
  TENON_HD float operator()(float x) const { return hard_sigmoid(x); }
};
struct Silu {
  TENON_HD float operator()(float x) const { return x / (1 + expf(-x)); }
};
struct Leaky {
  float slope;
  TENON_HD float operator()(float x) const { return kernels::leaky(x, slope); }
};

constexpr Spec unary(const char* name, const char* text, const char* differs = "float16.") {
  return {.name = name,
          .inputs = {{"x", kT}},
          .outputs = {{"y", kT}},
          .protocol = Protocol::kV2,
          .text = text,
          .differs = differs};
}

struct HSwish {
  using T = Types<float, Half>;
  static constexpr Spec spec = unary("HSwish", "x * min(max(x + 3, 0), 6) / 6.");
  template <class E> void run(const Device& device, Tensor<const E> x, Tensor<E> y) const {
    apply(device, x.data, y.data, x.shape.volume(), HardSwish{});
  }
};
TENON_PLUGIN(HSwish);

struct HSigmoid {
  using T = Types<float, Half>;
  static constexpr Spec spec = unary("HSigmoid", "min(max(x + 3, 0), 6) / 6.");
  template <class E> void run(const Device& device, Tensor<const E> x, Tensor<E> y) const {
    apply(device, x.data, y.data, x.shape.volume(), HardSigmoid{});
  }
};
TENON_PLUGIN(HSigmoid);

struct MySelu {
  std::string attr1;
  std::vector<int32_t> attr2;
  float attr3 = 0;
  std::string info;

  using T = Types<float, Half>;
  static constexpr auto attributes = std::tuple{
      attribute("attr1", &MySelu::attr1).says("text in UTF-8"),
      attribute("attr2", &MySelu::attr2),
      attribute("attr3", &MySelu::attr3),
      attribute("info", &MySelu::info).says("JSON, in place of the others"),
  };
  static constexpr Spec spec{
      .name = "MYSELU",
      .inputs = {{"x", kT}, {"p", kAny, kOptional}, {"constant", kAny, kOptional}},
      .outputs = {{"y", kT}},
      .protocol = Protocol::kV2,
      .text = "x * sigmoid(x). The other inputs and the attributes are kept, and change nothing."};
  template <class E>
  void run(const Device& device, Tensor<const E> x, Tensor<const void>, Tensor<const void>,
           Tensor<E> y) const {
    apply(device, x.data, y.data, x.shape.volume(), Silu{});
  }
};
TENON_PLUGIN(MySelu);

struct LReluTrt {
  float negSlope = 0;

  using T = Types<float, Half>;
  static constexpr auto attributes =
      std::tuple{attribute("negSlope", &LReluTrt::negSlope).says("factor of negative elements")};
  static constexpr Spec spec = unary("LReLU_TRT", "x, or negSlope * x where x is negative.");
  template <class E> void run(const Device& device, Tensor<const E> x, Tensor<E> y) const {
    apply(device, x.data, y.data, x.shape.volume(), Leaky{negSlope});
  }
};
TENON_PLUGIN(LReluTrt);

struct LeakyReluPlugin : LReluTrt {
  LeakyReluPlugin() { negSlope = 0.1f; }
  static constexpr Spec spec = unary("LeakyReluPlugin", "As LReLU_TRT, with a slope of 0.1.",
                                     "float16, and the slope is an attribute.");
};
TENON_PLUGIN(LeakyReluPlugin);

struct Clip {
  float low, high;
  TENON_HD float operator()(float x) const {
    x = x < low ? low : x;
    return x > high ? high : x;
  }
};
struct ClipTrt {
  float clipMin = 0, clipMax = 0;

  using T = Types<float, Half, BFloat16, int8_t>;
  static constexpr auto attributes = std::tuple{attribute("clipMin", &ClipTrt::clipMin).required(),
                                                attribute("clipMax", &ClipTrt::clipMax).required()};
  static constexpr Spec spec = unary("Clip_TRT", "min(max(x, clipMin), clipMax), as torch.clamp.",
                                     "bfloat16 and int8. NaNs stay.");

  void prepare() const {
    if (!(clipMin <= clipMax))
      throw std::invalid_argument("clipMin must not be above clipMax, found "
                                  + std::to_string(clipMin) + " and " + std::to_string(clipMax));
  }
  template <class E> void run(const Device& device, Tensor<const E> x, Tensor<E> y) const {
    apply(device, x.data, y.data, x.shape.volume(), Clip{clipMin, clipMax});
  }
};
TENON_PLUGIN(ClipTrt);

TENON_HD inline float gelu_by_tanh(float x) {
  constexpr float kRoot = 0.7978845608028654f;  // of 2 / pi
  return 0.5f * x * (1 + tanhf(kRoot * (x + 0.044715f * x * x * x)));
}

template <class E> struct BiasedGelu {
  const E* x;
  E* y;
  const float* bias;
  int64_t count;  // of the bias; none: 0

  TENON_HD void operator()(int64_t i) const {
    const float before = count > 0 ? bias[i % count] : 0.f;
    y[i] = static_cast<E>(gelu_by_tanh(static_cast<float>(x[i]) + before));
  }
};

struct CustomGelu {
  int32_t type_id = 0;
  std::vector<float> bias;

  using T = Types<float, Half, BFloat16>;
  static constexpr auto attributes =
      std::tuple{attribute("type_id", &CustomGelu::type_id).says("has no effect: x has a type"),
                 attribute("bias", &CustomGelu::bias)
                     .says("is added before, an element for each of the last "
                           "axis; none is 0")};
  static constexpr Spec spec =
      unary("CustomGeluPluginDynamic",
            "torch.nn.functional.gelu of x + bias with approximate = \"tanh\".",
            "Works out in float, and in bfloat16 as well.");

  void check(std::span<const Shape> in) const {
    const int64_t last = in[0].rank() > 0 ? in[0][in[0].rank() - 1] : 1;
    if (!bias.empty() && static_cast<int64_t>(bias.size()) != last)
      throw std::invalid_argument("bias must have " + std::to_string(last)
                                  + " elements, as the last axis of x, found "
                                  + std::to_string(bias.size()));
  }
  size_t workspace(std::span<const Shape>, std::span<const Shape>) const {
    return bias.size() * sizeof(float);
  }
  template <class E> void run(const Device& device, Tensor<const E> x, Tensor<E> y) const {
    const auto count = static_cast<int64_t>(bias.size());
    const float* at = device.constants(bias.data(), count, static_cast<float*>(device.workspace));
    device.parallel_for(x.shape.volume(), BiasedGelu<E>{x.data, y.data, at, count});
  }
};
TENON_PLUGIN(CustomGelu);

template <class E> struct ScaledByChannel {
  const E* x;
  E* y;
  const float* slopes;
  int64_t inner, count;

  TENON_HD void operator()(int64_t i) const {
    y[i] = static_cast<E>(Leaky{slopes[i / inner % count]}(static_cast<float>(x[i])));
  }
};

struct Prelu {
  std::vector<float> weights;
  int32_t nbWeight = 0;

  using T = Types<float, Half>;
  static constexpr auto attributes = std::tuple{
      attribute("weights", &Prelu::weights)
          .required()
          .says("a slope for all channels, or for each"),
      attribute("nbWeight", &Prelu::nbWeight).says("how many weights there are; 0 is not told"),
  };
  static constexpr Spec spec =
      unary("Prelu", "x, or its channel's weight * x where x is negative, as torch.nn.PReLU.");

  void check(std::span<const Shape> in) const {
    const auto count = static_cast<int64_t>(weights.size());
    if (nbWeight != 0 && nbWeight != count)
      throw std::invalid_argument("nbWeight is " + std::to_string(nbWeight) + ", but weights has "
                                  + std::to_string(count) + " elements");
    const int64_t channels = in[0].rank() > 1 ? in[0][1] : 1;
    if (count != 1 && count != channels)
      throw std::invalid_argument("x has " + std::to_string(channels)
                                  + " channels; weights must have 1 or as many elements, found "
                                  + std::to_string(count));
  }
  size_t workspace(std::span<const Shape>, std::span<const Shape>) const {
    return weights.size() * sizeof(float);
  }
  template <class E> void run(const Device& device, Tensor<const E> x, Tensor<E> y) const {
#if defined(__CUDACC__)
    const auto count = static_cast<int64_t>(weights.size());
    const float* slopes =
        device.constants(weights.data(), count, static_cast<float*>(device.workspace));
    device.parallel_for(
        x.shape.volume(),
        ScaledByChannel<E>{x.data, y.data, slopes, count == 1 ? 1 : x.shape.split(1).inner, count});
#else
    if (weights.size() == 1)
      return apply(device, x.data, y.data, x.shape.volume(), Leaky{weights[0]});
    const Split s = x.shape.split(1);
    device.parallel_ranges(s.outer * s.n, 16384 / (s.inner + 1) + 1,
                           [&](int64_t begin, int64_t end) {
                             for (int64_t i = begin; i < end; ++i)
                               apply(Device{}, x.data + i * s.inner, y.data + i * s.inner, s.inner,
                                     Leaky{weights[static_cast<size_t>(i % s.n)]});
                           });
#endif
  }
};
TENON_PLUGIN(Prelu);

}  // namespace
}  // namespace tenon::plugins::TENON_TARGET
