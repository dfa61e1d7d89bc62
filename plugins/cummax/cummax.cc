// cummax, cummin, cummaxmin 1 (MMCV), TorchCumMaxMinPluginDynamic 1 (amirstan): the largest or
// smallest element of x so far along an axis,
// and its position. As torch.cummax and torch.cummin.
#include <tenon/kernels/running_extremum.h>
#include <tenon/plugin.h>

namespace tenon::plugins::TENON_TARGET {

using namespace tenon::kit;  // NOLINT: what plugin authors write

namespace {

enum class Ties { kLast = 0, kFirst = 1 };
enum class Extremum { kMaximum = 0, kMinimum = 1 };

struct Cumulative {
  int32_t dim = 0;
  Ties ties = Ties::kLast;

  using T = Types<float, Half, int32_t>;
  static constexpr auto attributes = std::tuple{
      attribute("dim", &Cumulative::dim).says("the axis; negative ones count from the end"),
      attribute("ties", &Cumulative::ties, {{"last", Ties::kLast}, {"first", Ties::kFirst}})
          .says("which of equal elements gives the position"),
  };

  void check(std::span<const Shape> in) const {
    const int rank = in[0].rank();
    if (dim < -rank || dim >= rank)
      throw std::invalid_argument("dim is " + std::to_string(dim) + ", but x has "
                                  + std::to_string(rank) + " dimensions");
    constexpr int64_t kMaxLength = INT32_MAX;
    const int64_t length = in[0].split(dim).n;
    if (length > kMaxLength)
      throw std::invalid_argument("dim has " + std::to_string(length)
                                  + " elements, more than int32 positions can say");
  }

 protected:
  template <class E>
  void run_as(Extremum extremum, const Device& device, Tensor<const E> x, Tensor<E> values,
              Tensor<int32_t> indices) const {
    kernels::running_extremum(
        device, x.data, values.data, indices.data, x.shape.split(dim),
        {.largest = extremum == Extremum::kMaximum, .keep_first = ties == Ties::kFirst});
  }
};

constexpr Spec spec_of(const char* name, const char* text) {
  return {.name = name,
          .inputs = {{"x", kT}},
          .outputs = {{"values", kT}, {"indices", kInt32}},
          .protocol = Protocol::kV2,
          .text = text,
          .differs =
              "Of equal elements the last one counts, as in PyTorch; MMCV's plugin takes the "
              "first, as `ties` = first does. NaNs stay, as in PyTorch. float16."};
}

struct Cummax : Cumulative {
  static constexpr Spec spec = spec_of("cummax", "The largest element so far, as torch.cummax.");
  template <class E>
  void run(const Device& device, Tensor<const E> x, Tensor<E> values,
           Tensor<int32_t> indices) const {
    run_as(Extremum::kMaximum, device, x, values, indices);
  }
};
TENON_PLUGIN(Cummax);

struct Cummin : Cumulative {
  static constexpr Spec spec = spec_of("cummin", "The smallest element so far, as torch.cummin.");
  template <class E>
  void run(const Device& device, Tensor<const E> x, Tensor<E> values,
           Tensor<int32_t> indices) const {
    run_as(Extremum::kMinimum, device, x, values, indices);
  }
};
TENON_PLUGIN(Cummin);

struct Cummaxmin : Cumulative {
  Extremum cum_type = Extremum::kMaximum;

  static constexpr auto attributes = std::tuple_cat(
      Cumulative::attributes,
      std::tuple{attribute("cum_type", &Cummaxmin::cum_type,
                           {{"max", Extremum::kMaximum}, {"min", Extremum::kMinimum}})});
  static constexpr Spec spec = spec_of("cummaxmin", "cummax or cummin, by attribute.");
  template <class E>
  void run(const Device& device, Tensor<const E> x, Tensor<E> values,
           Tensor<int32_t> indices) const {
    run_as(cum_type, device, x, values, indices);
  }
};
TENON_PLUGIN(Cummaxmin);
TENON_PLUGIN_AS(Cummaxmin, "TorchCumMaxMinPluginDynamic");

}  // namespace
}  // namespace tenon::plugins::TENON_TARGET
