// GetIndicePairsImplicitGemm and GetIndicePairs 1 (Autoware, after spconv): which voxels the
// results of a sparse convolution read. Both look voxels up in a set of the grid's cells, so that
// what they give is always the same.
#include <tenon/kernels/order_of_keys.h>
#include <tenon/kernels/sparse_grid.h>
#include <tenon/plugin.h>

namespace tenon::plugins::TENON_TARGET {

using namespace tenon::kit;      // NOLINT: what plugin authors write
using namespace tenon::kernels;  // NOLINT

namespace {

using Side = SparseGrid::Side;
using Numbers = std::vector<int32_t>;

constexpr int64_t kMaskBits = 32;

// How many results there are, as kernels read it.
struct ResultCount {
  const int32_t* count;
  int64_t max;

  // A bound that the host knows.
  int64_t bound() const {
#if defined(__CUDACC__)
    return max;
#else
    return *count;
#endif
  }
};

struct CopyNumber {
  const int32_t* from;
  int32_t* to;
  TENON_HD void operator()(int64_t i) const { to[i] = from[i]; }
};

struct PutCount {
  int32_t* count;
  int64_t value;
  TENON_HD void operator()(int64_t) const { *count = static_cast<int32_t>(value); }
};

// table[tap][result] becomes the input that the result reads at a tap; -1 where there is none.
struct FindInput {
  SparseInputs inputs;
  const int32_t *results, *count;
  int32_t* table;

  TENON_HD void operator()(int64_t tap, int64_t result) const {
    if (result >= *count) return;
    const int32_t* const site = results + result * inputs.grid.numbers();
    const bool is_inside = inputs.grid.cell_of(site, Side::kResult) >= 0;
    table[tap * *count + result] = is_inside ? inputs.at(site, tap) : -1;
  }
};

// The taps at which a result reads something, a bit each.
struct MaskOfTaps {
  const int32_t *table, *count;
  int32_t* masks;
  int64_t taps;

  TENON_HD void operator()(int64_t result) const {
    if (result >= *count) return;
    uint32_t mask = 0;
    for (int64_t tap = 0; tap < taps; ++tap)
      mask |= static_cast<uint32_t>(table[tap * *count + result] >= 0) << tap;
    masks[result] = static_cast<int32_t>(mask);
  }
};

// Results that are not there come last.
struct MaskKey {
  const int32_t *masks, *count;
  TENON_HD uint32_t operator()(int64_t result) const {
    return result < *count ? static_cast<uint32_t>(masks[result]) : UINT32_MAX;
  }
};

struct SortedMask {
  const int32_t *masks, *from, *count;
  int32_t *to, *order;
  TENON_HD void operator()(int64_t i) const {
    if (i >= *count) return;
    order[i] = from[i];
    to[i] = masks[from[i]];
  }
};

// The inputs and results of each tap, side by side; -1 behind them.
struct ListPairs {
  const int32_t *table, *count;
  int32_t *pairs, *sizes;
  int64_t taps;

  TENON_DEVICE void operator()(const Team& team, int64_t tap) const {
    const int64_t results = *count;
    const int32_t* const inputs = table + tap * results;
    int32_t *const from = pairs + tap * results, *const to = from + taps * results;
    team.each(results, [&](int64_t i) { from[i] = to[i] = -1; });
    team.each(1, [&](int64_t) { sizes[tap] = 0; });
#if defined(__CUDA_ARCH__)
    __syncthreads();
#endif
    team.scan(
        results, int32_t{0}, AddCounts(), [&](int64_t i) { return int32_t{inputs[i] >= 0}; },
        [&](int64_t i, int32_t so_far) {
          if (inputs[i] >= 0) {
            from[so_far - 1] = inputs[i];
            to[so_far - 1] = static_cast<int32_t>(i);
          }
          if (i + 1 == results) sizes[tap] = so_far;
        });
  }
};

// What both share: the convolution's geometry, and the sites of its results.
struct IndicePairs {
  int32_t batch_size = 1, algorithm = 0;
  bool is_training = false, is_submanifold = false, is_transposed = false;
  Numbers kernel, stride, padding, dilation, out_padding, extents;

  void prepare() const {
    require_at_least("batch_size", batch_size, 1);
    if (kernel.empty() || kernel.size() > SparseGrid::kMaxAxes)
      throw std::invalid_argument("ksize must have 1 to 3 elements, found "
                                  + std::to_string(kernel.size()));
    require_list("stride", stride, 1);
    require_list("padding", padding, 0);
    require_list("dilation", dilation, 1);
    require_list("spatial_shape", extents, 1);
    require_list("ksize", kernel, 1);
    if (!out_padding.empty()) require_list("out_padding", out_padding, 0);
    if (is_submanifold && is_transposed)
      throw std::invalid_argument("subm and transpose must not both be 1");
    for (const int32_t k : kernel)
      if (is_submanifold && k % 2 == 0)
        throw std::invalid_argument("ksize must be odd with subm, found " + std::to_string(k));
    const SparseGrid grid = this->grid();
    for (int a = 0; a < grid.axes; ++a)
      if (grid.out[a] < 1)
        throw std::invalid_argument("axis " + std::to_string(a) + " of spatial_shape is "
                                    + std::to_string(grid.in[a])
                                    + ", too small for the kernel and its padding");
    for (const Side side : {Side::kInput, Side::kResult}) {
      double cells = batch_size;
      for (int a = 0; a < grid.axes; ++a) cells *= static_cast<double>(grid.extent(side, a));
      if (cells > static_cast<double>(CellSet::kMaxCells))
        throw std::invalid_argument("batch_size and spatial_shape have more than 2^35 cells");
    }
    if (grid.taps() > INT32_MAX / 2) throw std::invalid_argument("ksize has too many elements");
  }
  void check(std::span<const Shape> in) const {
    require_shape("indices", in[0], "N, " + std::to_string(kernel.size() + 1));
    if (in[0][0] > INT32_MAX)
      throw std::invalid_argument("indices must have at most 2^31 - 1 rows, found "
                                  + text_of(in[0]));
  }

 protected:
  SparseGrid grid() const {
    SparseGrid grid{.batches = batch_size,
                    .axes = static_cast<int>(kernel.size()),
                    .is_transposed = is_transposed};
    for (size_t a = 0; a < kernel.size(); ++a) {
      const int64_t between = int64_t{dilation[a]} * (kernel[a] - 1);
      grid.kernel[a] = kernel[a];
      grid.dilation[a] = dilation[a];
      grid.in[a] = grid.out[a] = extents[a];
      grid.stride[a] = is_submanifold ? 1 : stride[a];
      grid.padding[a] = is_submanifold ? between / 2 : padding[a];
      const int64_t pads = 2 * grid.padding[a];
      if (is_transposed)
        grid.out[a] = (grid.in[a] - 1) * stride[a] - pads + between + 1
                      + (out_padding.empty() ? 0 : out_padding[a]);
      else if (!is_submanifold)
        grid.out[a] =
            grid.in[a] + pads < between + 1 ? 0 : (grid.in[a] + pads - between - 1) / stride[a] + 1;
    }
    return grid;
  }
  // Results that there can be for so many inputs.
  template <class N> N max_results(const N& inputs) const {
    using std::min;
    if (is_submanifold) return inputs;
    const SparseGrid grid = this->grid();
    return min(inputs * N(grid.results_of_input()), N(grid.cells(Side::kResult)));
  }
  // How many results there are, which output `output` tells, for shape rules.
  Extent result_count(const ShapeQuery& query, int output) const {
    const Extent& inputs = query.in[0][0];
    return is_submanifold
               ? inputs
               : query.size_from(output, ceil_div(inputs, 2), max_results<Extent>(inputs));
  }

  struct Memory {
    SparseInputs inputs;
    SparseResults results;
    Memory(Carver& carver, const IndicePairs& p, int64_t count)
        : inputs(carver, p.grid(), count),
          results(carver, p.grid(), p.is_submanifold ? 0 : p.grid().cells(Side::kResult)) {}
  };
  // Fills in `count` and the sites of results, and finds the inputs.
  ResultCount find(const Device& device, const Memory& memory, Tensor<const int32_t> indices,
                   int32_t* results, int32_t* count) const {
    const int64_t inputs = indices.shape[0];
    memory.inputs.find(device, indices.data, inputs);
    if (is_submanifold) {
      device.parallel_for(indices.shape.volume(), CopyNumber{indices.data, results});
      device.parallel_for(1, PutCount{count, inputs});
    } else {
      memory.results.find(device, indices.data, inputs, count, results);
    }
    return {count, max_results<int64_t>(inputs)};
  }

 private:
  void require_list(const char* name, const Numbers& list, int32_t min) const {
    require_elements(name, list.size(), kernel.size());
    for (const int32_t number : list) require_at_least(name, number, min);
  }
};

template <class P> constexpr auto pair_attributes() {
  return std::tuple{
      attribute("batch_size", &P::batch_size).required(),
      attribute("algo", &P::algorithm).says("has no effect: there is one"),
      attribute("ksize", &P::kernel).required(),
      attribute("stride", &P::stride).required(),
      attribute("padding", &P::padding).required(),
      attribute("dilation", &P::dilation).required(),
      attribute("out_padding", &P::out_padding).says("is added to extents with transpose"),
      attribute("spatial_shape", &P::extents).required().says("extents of the grid"),
      attribute("subm", &P::is_submanifold)
          .says("1: results are where inputs are; stride and padding have no effect"),
      attribute("transpose", &P::is_transposed).says("1: of a transposed convolution")};
}

}  // namespace

struct GetIndicePairsImplicitGemm : IndicePairs {
  bool is_sorted = true;

  static constexpr auto attributes = std::tuple_cat(
      pair_attributes<GetIndicePairsImplicitGemm>(),
      std::tuple{
          attribute("is_train", &GetIndicePairsImplicitGemm::is_training).says("has no effect"),
          attribute("do_sort", &GetIndicePairsImplicitGemm::is_sorted)
              .says("0: mask_argsort is 0, 1, 2, ...")});
  static constexpr Spec spec{
      .name = "GetIndicePairsImplicitGemm",
      .inputs = {{"indices", kInt32}},
      .outputs = {{"out_indices", kInt32},
                  {"pair_fwd", kInt32},
                  {"pair_mask", kInt32},
                  {"mask_argsort", kInt32},
                  {"num_act_out", kInt32}},
      .text =
          "spconv's get_indice_pairs_implicit_gemm: for voxels (N, 1 + axes) of a batch and "
          "coordinates, the M voxels that a sparse convolution gives, and for each element of the "
          "kernel, (elements, M), the row of the voxel that it reads, or -1. A mask (M, 1) has a "
          "bit for each element with a voxel; masks are sorted, and mask_argsort (M) says of which "
          "results they are. num_act_out is M.",
      .differs =
          "Results are in the order of their cells, equal masks in that of their results: always "
          "the same. Any number of results; transpose, and 1 or 2 axes. Voxels outside have no "
          "pairs; of several in a cell the first is read."};

  void prepare() const {
    IndicePairs::prepare();
    if (const int64_t taps = grid().taps(); taps > kMaskBits)
      throw std::invalid_argument(
          "ksize must have at most 32 elements, a bit of the mask each, "
          "found "
          + std::to_string(taps) + "; GetIndicePairs takes more");
  }
  void shapes(const ShapeQuery& query, std::span<Extents> out) const {
    require_axes("indices", query.in[0], "N, numbers");
    const Extent count = result_count(query, 4);
    out[0] = {count, query.in[0][1]};
    out[1] = {grid().taps(), count};
    out[2] = {count, 1};
    out[3] = {count};
    out[4] = {};
  }
  size_t workspace(std::span<const Shape> in, std::span<const Shape>) const {
    Carver carver;
    Memory(carver, *this, in[0][0]);
    carver.array<int32_t>(max_results<int64_t>(in[0][0]));
    KeyOrder(carver, max_results<int64_t>(in[0][0]));
    return carver.bytes();
  }
  template <class E>
  void run(const Device& device, Tensor<const int32_t> indices, Tensor<int32_t> results,
           Tensor<int32_t> table, Tensor<int32_t> sorted, Tensor<int32_t> order,
           Tensor<int32_t> number) const {
    const SparseGrid grid = this->grid();
    Carver carver(device.workspace);
    const Memory memory(carver, *this, indices.shape[0]);
    int32_t* const masks = carver.array<int32_t>(max_results<int64_t>(indices.shape[0]));
    const ResultCount count = find(device, memory, indices, results.data, number.data);
    device.parallel_grid(grid.taps(), count.bound(),
                         FindInput{memory.inputs, results.data, count.count, table.data});
    device.parallel_for(count.bound(), MaskOfTaps{table.data, count.count, masks, grid.taps()});
    KeyOrder keys(carver, count.bound());
    order_keys(device, keys, is_sorted ? static_cast<int>(grid.taps()) : 0,
               MaskKey{masks, count.count});
    device.parallel_for(count.bound(),
                        SortedMask{masks, keys.order, count.count, sorted.data, order.data});
  }
};
TENON_PLUGIN(GetIndicePairsImplicitGemm);

struct GetIndicePairs : IndicePairs {
  static constexpr auto attributes = pair_attributes<GetIndicePairs>();
  static constexpr Spec spec{
      .name = "GetIndicePairs",
      .inputs = {{"indices", kInt32}},
      .outputs = {{"out_indices", kInt32},
                  {"indice_pairs", kInt32},
                  {"indice_pair_num", kInt32},
                  {"num_act_out", kInt32}},
      .text =
          "spconv's get_indice_pairs: for voxels (N, 1 + axes) of a batch and coordinates, the M "
          "voxels that a sparse convolution gives, and for each element of the kernel the rows of "
          "the voxels that it reads and of those that it adds to, (2, elements, M) with -1 behind "
          "the last pair, and how many pairs there are. num_act_out is M.",
      .differs =
          "Also without subm, with transpose, and with 1 or 2 axes. All pairs of an element are "
          "counted, in the middle of the kernel and behind it, too. Results are in the order of "
          "their cells, and pairs in that of results: always the same. Voxels outside have no "
          "pairs; of several in a cell the first is read."};

  void shapes(const ShapeQuery& query, std::span<Extents> out) const {
    require_axes("indices", query.in[0], "N, numbers");
    const Extent count = result_count(query, 3);
    out[0] = {count, query.in[0][1]};
    out[1] = {2, grid().taps(), count};
    out[2] = {grid().taps()};
    out[3] = {};
  }
  size_t workspace(std::span<const Shape> in, std::span<const Shape>) const {
    Carver carver;
    Memory(carver, *this, in[0][0]);
    carver.array<int32_t>(grid().taps() * max_results<int64_t>(in[0][0]));
    return carver.bytes();
  }
  template <class E>
  void run(const Device& device, Tensor<const int32_t> indices, Tensor<int32_t> results,
           Tensor<int32_t> pairs, Tensor<int32_t> sizes, Tensor<int32_t> number) const {
    const SparseGrid grid = this->grid();
    Carver carver(device.workspace);
    const Memory memory(carver, *this, indices.shape[0]);
    const ResultCount count = find(device, memory, indices, results.data, number.data);
    int32_t* const table = carver.array<int32_t>(grid.taps() * count.bound());
    device.parallel_grid(grid.taps(), count.bound(),
                         FindInput{memory.inputs, results.data, count.count, table});
    device.parallel_rows(grid.taps(),
                         ListPairs{table, count.count, pairs.data, sizes.data, grid.taps()});
  }
};
TENON_PLUGIN(GetIndicePairs);

}  // namespace tenon::plugins::TENON_TARGET
