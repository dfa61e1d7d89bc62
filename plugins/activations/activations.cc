// Activations of tutorials and of other plugin libraries, element by element:
// - HSwish, HSigmoid 1 (tensorRT_Pro): torch.nn.Hardswish and Hardsigmoid;
// - MYSELU 1 (a tutorial's): torch.nn.SiLU, with inputs and attributes of every kind that only show
//   that they arrive;
// - LReLU_TRT 1 (TensorRT), LeakyReluPlugin 1 (LitLeo): torch.nn.LeakyReLU;
// - Prelu 1 (tiny-tensorrt): torch.nn.PReLU with the weights as an attribute;
// - Clip_TRT, CustomGeluPluginDynamic 1 (TensorRT): torch.clamp, and GELU by tanh after a bias.
#include <tenon/kernels/elementary.h>
#include <tenon/kernels/leaky.h>
#include <tenon/plugin.h>

namespace tenon::plugins::TENON_TARGET {

using namespace tenon::kit;  // NOLINT: what plugin authors write

namespace {

// y = f(x, row, column) for each element, in float.
template <class E, class F> struct Applied {
  const E* x;
  E* y;
  int64_t columns;
  F f;
  TENON_HD void operator()(int64_t row, int64_t first, int64_t count) const {
    const int64_t at = row * columns + first;
    const InputSpan<E> from(x + at, count);
    const OutputSpan<E> to(y + at);
    for (int64_t i = 0; i < count; ++i) to[i] = f(from[i], row, first + i);
    to.store(count);
  }
};
template <class E, class F>
void apply(const Device& device, const Tensor<const E>& x, const Tensor<E>& y, const F& f) {
  const int64_t columns = x.shape.volume();
  device.parallel_spans(1, columns, Applied<E, F>{x.data, y.data, columns, f});
}

// A NaN stays a NaN in all of these.
TENON_HD inline float hard_sigmoid(float x) {
  const float six = x + 3 < 0 ? 0 : x + 3;
  return (six > 6 ? 6 : six) / 6;
}
struct HardSwish {
  TENON_HD float operator()(float x, int64_t, int64_t) const { return x * hard_sigmoid(x); }
};
struct HardSigmoid {
  TENON_HD float operator()(float x, int64_t, int64_t) const { return hard_sigmoid(x); }
};
struct Silu {
  TENON_HD float operator()(float x, int64_t, int64_t) const { return kernels::silu(x); }
};
struct Leaky {
  float slope;
  TENON_HD float operator()(float x, int64_t, int64_t) const { return kernels::leaky(x, slope); }
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
  using T = Types<float, Half, BFloat16>;
  static constexpr Spec spec = unary("HSwish", "x * min(max(x + 3, 0), 6) / 6.");
  template <class E> void run(const Device& device, Tensor<const E> x, Tensor<E> y) const {
    apply(device, x, y, HardSwish{});
  }
};
TENON_PLUGIN(HSwish);

struct HSigmoid {
  using T = Types<float, Half, BFloat16>;
  static constexpr Spec spec = unary("HSigmoid", "min(max(x + 3, 0), 6) / 6.");
  template <class E> void run(const Device& device, Tensor<const E> x, Tensor<E> y) const {
    apply(device, x, y, HardSigmoid{});
  }
};
TENON_PLUGIN(HSigmoid);

struct MySelu {
  std::string attr1;
  std::vector<int32_t> attr2;
  float attr3 = 0;
  std::string info;

  using T = Types<float, Half, BFloat16>;
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
    apply(device, x, y, Silu{});
  }
};
TENON_PLUGIN(MySelu);

struct LReluTrt {
  float negSlope = 0;

  using T = Types<float, Half, BFloat16>;
  static constexpr auto attributes =
      std::tuple{attribute("negSlope", &LReluTrt::negSlope).says("factor of negative elements")};
  static constexpr Spec spec = unary("LReLU_TRT", "x, or negSlope * x where x is negative.");
  template <class E> void run(const Device& device, Tensor<const E> x, Tensor<E> y) const {
    apply(device, x, y, Leaky{negSlope});
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
  TENON_HD float operator()(float x, int64_t, int64_t) const {
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
    apply(device, x, y, Clip{clipMin, clipMax});
  }
};
TENON_PLUGIN(ClipTrt);

struct Gelu {
  TENON_HD float operator()(float x, int64_t, int64_t) const { return kernels::gelu_by_tanh(x); }
};
struct BiasedGelu {
  const float* bias;
  TENON_HD float operator()(float x, int64_t, int64_t column) const {
    return kernels::gelu_by_tanh(x + bias[column]);
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
    if (count == 0) return apply(device, x, y, Gelu{});
    device.parallel_spans(x.shape.volume() / count, count,
                          Applied<E, BiasedGelu>{x.data, y.data, count, {at}});
  }
};
TENON_PLUGIN(CustomGelu);

struct LeakyByChannel {
  const float* slopes;
  int64_t channels;
  TENON_HD float operator()(float x, int64_t row, int64_t) const {
    return kernels::leaky(x, slopes[row % channels]);
  }
};

struct Prelu {
  std::vector<float> weights;
  int32_t nbWeight = 0;

  using T = Types<float, Half, BFloat16>;
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
    const auto count = static_cast<int64_t>(weights.size());
    const float* slopes =
        device.constants(weights.data(), count, static_cast<float*>(device.workspace));
    const Split s = count == 1 ? Split{1, 1, x.shape.volume()} : x.shape.split(1);
    device.parallel_spans(s.outer * s.n, s.inner,
                          Applied<E, LeakyByChannel>{x.data, y.data, s.inner, {slopes, count}});
  }
};
TENON_PLUGIN(Prelu);

}  // namespace
}  // namespace tenon::plugins::TENON_TARGET
