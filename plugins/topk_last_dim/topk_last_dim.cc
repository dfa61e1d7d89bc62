// TopkLastDim 1 (TensorRT): torch.topk.
#include <tenon/kernels/workspace.h>
#include <tenon/plugin.h>

#include <bit>

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

#if !defined(__CUDACC__)

// Elements of a row as integers in their order, the first one smallest, with indices behind.
template <class E> void write_keys(const RowOrder<E>& rows, int64_t row, uint64_t* keys) {
  for (int64_t i = 0; i < rows.n; ++i) {
    const E value = rows.x[rows.at(row, i)];
    uint32_t rank;  // ascending
    if constexpr (std::is_same_v<E, int32_t>) {
      rank = static_cast<uint32_t>(value) ^ 0x80000000u;
    } else {
      const float real = static_cast<float>(value) + 0.f;  // -0 becomes 0
      const auto bits = std::bit_cast<uint32_t>(real);
      rank = real != real ? ~0u : bits >> 31 != 0 ? ~bits : bits | 0x80000000u;
    }
    keys[i] = uint64_t{rows.largest ? ~rank : rank} << 32 | static_cast<uint32_t>(i);
  }
}

// As Device::top_k(), without looking at elements again. `keys` holds rows of n.
template <class E>
void rank_rows(const Device& device, const RowOrder<E>& rows, int64_t count, int64_t k,
               int32_t* order, uint64_t* keys) {
  device.parallel_ranges(count, 1, [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row) {
      uint64_t *const first = keys + row * rows.n, *const last = first + rows.n;
      write_keys(rows, row, first);
      if (k < rows.n) std::nth_element(first, first + k, last);
      std::sort(first, first + k);
      for (int64_t i = 0; i < k; ++i) order[row * k + i] = static_cast<int32_t>(first[i]);
    }
  });
}

#endif

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
    const int64_t rows = s.outer * s.inner;
    kernels::Carver carver;
    carver.array<int32_t>(rows * k);
    carver.array<uint64_t>(rows * s.n);
    static_assert(sizeof(uint64_t) >= 2 * sizeof(int32_t), "a GPU sorts less than 2 n indices");
    return carver.bytes();
  }
  template <class E>
  void run(const Device& device, Tensor<const E> x, Tensor<E> values,
           Tensor<int32_t> indices) const {
    const Split s = x.shape.split(axis);
    const int64_t rows = s.outer * s.inner;
    if (rows * k == 0) return;
    kernels::Carver carver(device.workspace);
    auto* const order = carver.array<int32_t>(rows * k);
    const RowOrder<E> before{x.data, s.n, s.inner, largest};
#if defined(__CUDACC__)
    device.top_k(rows, s.n, k, before, order, carver.array<uint64_t>(rows * s.n));
#else
    rank_rows(device, before, rows, k, order, carver.array<uint64_t>(rows * s.n));
#endif
    device.parallel_for(rows * k, TakeRanked<E>{before, order, values.data, indices.data, k});
  }
};
TENON_PLUGIN(TopkLastDim);

}  // namespace
}  // namespace tenon::plugins::TENON_TARGET
