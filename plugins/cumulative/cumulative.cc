// TorchCumPluginDynamic 1 (amirstan): torch.cumsum and torch.cumprod.
#include <tenon/plugin.h>

namespace tenon::plugins::TENON_TARGET {

using namespace tenon::kit;  // NOLINT: what plugin authors write

namespace {

enum class Cumulation { kSum = 0, kProduct = 1 };

// Integers are added as such, floats in float.
template <class E> using Total = std::conditional_t<std::is_same_v<E, int32_t>, int64_t, float>;

template <class V> struct Plus {
  TENON_HD V operator()(V a, V b) const { return a + b; }
};
// Wraps around as int32 does.
template <class V> struct Times {
  TENON_HD V operator()(V a, V b) const {
    if constexpr (std::is_same_v<V, int64_t>)
      return static_cast<int32_t>(static_cast<uint32_t>(a) * static_cast<uint32_t>(b));
    else
      return a * b;
  }
};

template <class E, class Combine> struct CumulateLine {
  const E* x;
  E* y;
  int64_t n, inner;
  Total<E> identity;

  TENON_DEVICE void operator()(const Team& team, int64_t line) const {
    const int64_t first = line / inner * n * inner + line % inner;
    team.scan(
        n, identity, Combine{},
        [&](int64_t i) { return static_cast<Total<E>>(x[first + i * inner]); },
        [&](int64_t i, Total<E> total) { y[first + i * inner] = static_cast<E>(total); });
  }
};

struct TorchCum {
  int32_t dim = 0;
  Cumulation kind = Cumulation::kSum;

  using T = Types<float, Half, BFloat16, int32_t>;
  static constexpr auto attributes = std::tuple{
      attribute("dim", &TorchCum::dim).says("the axis; negative ones count from the end"),
      attribute("cum_type", &TorchCum::kind,
                {{"sum", Cumulation::kSum}, {"prod", Cumulation::kProduct}})};
  static constexpr Spec spec{.name = "TorchCumPluginDynamic",
                             .inputs = {{"x", kT}},
                             .outputs = {{"y", kT}},
                             .protocol = Protocol::kV2,
                             .text = "torch.cumsum or torch.cumprod along an axis.",
                             .differs = "Negative axes. float16 and bfloat16, summed in float."};

  void check(std::span<const Shape> in) const {
    const int rank = in[0].rank();
    if (dim < -rank || dim >= rank)
      throw std::invalid_argument("dim is " + std::to_string(dim) + ", but x has "
                                  + std::to_string(rank) + " dimensions");
  }
  template <class E> void run(const Device& device, Tensor<const E> x, Tensor<E> y) const {
    const Split s = x.shape.split(dim);
    if (x.shape.volume() == 0) return;
    if (kind == Cumulation::kSum)
      device.parallel_rows(s.outer * s.inner,
                           CumulateLine<E, Plus<Total<E>>>{x.data, y.data, s.n, s.inner, 0});
    else
      device.parallel_rows(s.outer * s.inner,
                           CumulateLine<E, Times<Total<E>>>{x.data, y.data, s.n, s.inner, 1});
  }
};
TENON_PLUGIN(TorchCum);

}  // namespace
}  // namespace tenon::plugins::TENON_TARGET
