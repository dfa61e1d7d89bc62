// TopkLastDim 1 (TensorRT): torch.topk.
#include <tenon/plugin.h>

namespace tenon::plugins::TENON_TARGET {

using namespace tenon::kit;  // NOLINT: what plugin authors write

namespace {

// Rows of x along an axis; a NaN is larger than any number.
template <class E> struct RowOrder {
  const E* x;
  int64_t n, inner;
  bool largest;

  TENON_HD int64_t at(int64_t row, int64_t i) const {
    return (row / inner * n + i) * inner + row % inner;
  }
  TENON_HD bool operator()(int64_t row, int32_t a, int32_t b) const {
    const E left = x[at(row, a)], right = x[at(row, b)];
    if constexpr (std::is_same_v<E, int32_t>) {
      return largest ? left > right : left < right;
    } else {
      const auto l = static_cast<float>(left), r = static_cast<float>(right);
      if (l != l || r != r) return largest ? l != l && r == r : l == l && r != r;
      return largest ? l > r : l < r;
    }
  }
};

template <class E> struct TakeRanked {
  RowOrder<E> rows;
  const int32_t* order;
  E* values;
  int32_t* indices;
  int64_t k;

  TENON_HD void operator()(int64_t i) const {
    const int64_t row = i / k, rank = i % k;
    const int64_t to = (row / rows.inner * k + rank) * rows.inner + row % rows.inner;
    indices[to] = order[i];
    values[to] = rows.x[rows.at(row, order[i])];
  }
};

struct TopkLastDim {
  int32_t type_id = 0, k = 0, axis = -1;
  bool largest = true;

  using T = Types<float, Half, BFloat16, int32_t>;
  static constexpr auto attributes =
      std::tuple{attribute("type_id", &TopkLastDim::type_id).says("has no effect: x has a type"),
                 attribute("k", &TopkLastDim::k).required(),
                 attribute("is_largest", &TopkLastDim::largest).says("0: the smallest"),
                 attribute("axis", &TopkLastDim::axis).says("negative ones count from the end")};
  static constexpr Spec spec{
      .name = "TopkLastDim",
      .inputs = {{"x", kT}},
      .outputs = {{"values", kT}, {"indices", kInt32}},
      .text =
          "torch.topk: the k largest or smallest elements along an axis, in order, and where they "
          "are. Of equal ones the first comes first.",
      .differs = "Always the same order. NaNs are the largest, as in PyTorch."};

  void shapes(std::span<const Extents> in, std::span<Extents> out) const {
    const auto rank = static_cast<int32_t>(in[0].size());
    if (axis < -rank || axis >= rank)
      throw std::invalid_argument("axis is " + std::to_string(axis) + ", but x has "
                                  + std::to_string(rank) + " dimensions");
    if (k < 0) throw std::invalid_argument("k must be 0 or more, found " + std::to_string(k));
    out[0] = in[0];
    out[0][static_cast<size_t>(axis < 0 ? axis + rank : axis)] = k;
    out[1] = out[0];
  }
  void check(std::span<const Shape> in) const {
    if (in[0].split(axis).n < k)
      throw std::invalid_argument("k is " + std::to_string(k) + ", but the axis has "
                                  + std::to_string(in[0].split(axis).n) + " elements");
  }
  size_t workspace(std::span<const Shape> in, std::span<const Shape>) const {
    const Split s = in[0].split(axis);
    return sort_workspace(s.outer * s.inner, s.n)
           + static_cast<size_t>(s.outer * s.inner * k) * sizeof(int32_t);
  }
  template <class E>
  void run(const Device& device, Tensor<const E> x, Tensor<E> values,
           Tensor<int32_t> indices) const {
    const Split s = x.shape.split(axis);
    const int64_t rows = s.outer * s.inner;
    if (rows * k == 0) return;
    auto* const order = static_cast<int32_t*>(device.workspace);
    const RowOrder<E> before{x.data, s.n, s.inner, largest};
    device.top_k(rows, s.n, k, before, order, order + rows * k);
    device.parallel_for(rows * k, TakeRanked<E>{before, order, values.data, indices.data, k});
  }
};
TENON_PLUGIN(TopkLastDim);

}  // namespace
}  // namespace tenon::plugins::TENON_TARGET
