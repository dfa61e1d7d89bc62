// SegmentCSR 1 (Autoware): torch_scatter's segment_csr of rows.
#include <tenon/plugin.h>

namespace tenon::plugins::TENON_TARGET {

using namespace tenon::kit;  // NOLINT: what plugin authors write

namespace {

enum class Reduce { kSum, kMean, kMin, kMax };

// Some columns of a segment. One without rows is 0.
template <class E> struct ReduceSegment {
  const E* source;
  const int64_t* starts;
  E* y;
  int64_t rows, columns;
  Reduce reduce;

  TENON_HD void operator()(int64_t segment, int64_t column, int64_t some) const {
    const int64_t first = starts[segment] < 0 ? 0 : starts[segment];
    const int64_t end = starts[segment + 1] < rows ? starts[segment + 1] : rows;
    float sums[kSpan];
    for (int64_t c = 0; c < some; ++c) sums[c] = 0;
    for (int64_t row = first; row < end; ++row) {
      const InputSpan<E> from(source + row * columns + column, some);
      if (row == first)
        for (int64_t c = 0; c < some; ++c) sums[c] = from[c];
      else if (reduce == Reduce::kMin)
        for (int64_t c = 0; c < some; ++c) sums[c] = from[c] < sums[c] ? from[c] : sums[c];
      else if (reduce == Reduce::kMax)
        for (int64_t c = 0; c < some; ++c) sums[c] = from[c] > sums[c] ? from[c] : sums[c];
      else
        for (int64_t c = 0; c < some; ++c) sums[c] += from[c];
    }
    const float share =
        reduce == Reduce::kMean && end > first ? 1 / static_cast<float>(end - first) : 1.f;
    const OutputSpan<E> to(y + segment * columns + column);
    for (int64_t c = 0; c < some; ++c) to[c] = sums[c] * share;
    to.store(some);
  }
};

}  // namespace

struct SegmentCsr {
  Reduce reduce = Reduce::kSum;

  using T = Types<float, Half, BFloat16>;
  static constexpr auto attributes = std::tuple{attribute("reduce", &SegmentCsr::reduce,
                                                          {{"sum", Reduce::kSum},
                                                           {"mean", Reduce::kMean},
                                                           {"min", Reduce::kMin},
                                                           {"max", Reduce::kMax}})};
  static constexpr Spec spec{
      .name = "SegmentCSR",
      .inputs = {{"src", kT}, {"indptr", kInt64}},
      .outputs = {{"out", kT}},
      .text =
          "torch_scatter's segment_csr: from rows (N, C) those of each segment together, (S, C). "
          "indptr (S + 1) has where segments begin and end. Segments without rows are 0.",
      .differs =
          "On a CPU and any GPU. bfloat16; sums are float. Rows that are not there are errors "
          "on the CPU."};

  void shapes(std::span<const Extents> in, std::span<Extents> out) const {
    require_axes("src", in[0], "N, C");
    require_axes("indptr", in[1], "S + 1");
    out[0] = {in[1][0] - 1, in[0][1]};
  }
  void check(std::span<const Shape> in) const {
    if (in[1][0] < 1)
      throw std::invalid_argument("indptr must have 1 element or more, found " + text_of(in[1]));
  }
  template <class E>
  void run(const Device& device, Tensor<const E> source, Tensor<const int64_t> starts,
           Tensor<E> y) const {
    const int64_t rows = source.shape[0], segments = y.shape[0];
#if !defined(__CUDACC__)
    for (int64_t s = 0; s < segments; ++s)
      if (starts.data[s] < 0 || starts.data[s + 1] < starts.data[s] || starts.data[s + 1] > rows)
        throw std::invalid_argument(
            "segment " + std::to_string(s) + " has the rows " + std::to_string(starts.data[s])
            + " to " + std::to_string(starts.data[s + 1]) + "; there are " + std::to_string(rows));
#endif
    device.parallel_spans(
        segments, y.shape[1],
        ReduceSegment<E>{source.data, starts.data, y.data, rows, y.shape[1], reduce});
  }
};
TENON_PLUGIN(SegmentCsr);

}  // namespace tenon::plugins::TENON_TARGET
