/// Sparse convolution: which sites of a grid read which. Semantics: spconv's, whose results at its
/// sites are those of PyTorch's conv3d and conv_transpose3d on grids with zeros everywhere else.
#pragma once

#include <algorithm>
#include <numeric>

#include "tenon/kernels/cell_set.h"

namespace tenon::kernels::inline TENON_TARGET {

/// The grids of a convolution, of up to three axes. A site is a row of a batch and a coordinate for
/// each axis.
struct SparseGrid {
  static constexpr int kMaxAxes = 3;
  enum class Side { kInput, kResult };

  int64_t batches = 1;
  int axes = 0;
  bool is_transposed = false;
  int64_t in[kMaxAxes] = {}, out[kMaxAxes] = {};
  int64_t kernel[kMaxAxes] = {}, stride[kMaxAxes] = {}, padding[kMaxAxes] = {},
          dilation[kMaxAxes] = {};

  TENON_HD int64_t numbers() const { return axes + 1; }  // of a site
  TENON_HD int64_t taps() const {
    int64_t count = 1;
    for (int a = 0; a < axes; ++a) count *= kernel[a];
    return count;
  }
  TENON_HD int64_t extent(Side side, int axis) const {
    return side == Side::kInput ? in[axis] : out[axis];
  }
  TENON_HD int64_t cells(Side side) const {
    int64_t count = batches;
    for (int a = 0; a < axes; ++a) count *= extent(side, a);
    return count;
  }
  /// The cell of a site; -1 outside.
  TENON_HD int64_t cell_of(const int32_t* site, Side side) const {
    int64_t cell = site[0];
    bool is_inside = site[0] >= 0 && site[0] < batches;
    for (int a = 0; a < axes; ++a) {
      is_inside = is_inside && site[a + 1] >= 0 && site[a + 1] < extent(side, a);
      cell = cell * extent(side, a) + site[a + 1];
    }
    return is_inside ? cell : -1;
  }
  TENON_HD void site_of(int64_t cell, int32_t* site) const {
    for (int a = axes - 1; a >= 0; --a) {
      site[a + 1] = static_cast<int32_t>(cell % out[a]);
      cell /= out[a];
    }
    site[0] = static_cast<int32_t>(cell);
  }
  /// What a site inside the one side meets on the other, `to`, at a tap; -1 where that has no cell.
  TENON_HD int64_t cell_at(const int32_t* site, int64_t tap, Side to) const {
    int64_t cell = 0, step = 1;
    for (int a = axes - 1; a >= 0; --a) {
      const int64_t shift = tap % kernel[a] * dilation[a] - padding[a];
      tap /= kernel[a];
      int64_t at = site[a + 1];
      if ((to == Side::kInput) != is_transposed) {
        at = at * stride[a] + shift;
      } else {
        at -= shift;
        if (at % stride[a] != 0) return -1;
        at /= stride[a];
      }
      if (at < 0 || at >= extent(to, a)) return -1;
      cell += at * step;
      step *= extent(to, a);
    }
    return cell + site[0] * step;
  }
  /// How many results an input can have.
  int64_t results_of_input() const {
    int64_t count = 1;
    for (int a = 0; a < axes; ++a) {
      const int64_t apart = is_transposed ? 1 : stride[a] / std::gcd(stride[a], dilation[a]);
      count *= (kernel[a] + apart - 1) / apart;
    }
    return count;
  }
};

/// Inputs by their cell. Of several in a cell it has the first.
struct SparseInputs {
  static constexpr int32_t kNone = INT32_MAX;

  SparseGrid grid;
  CellSet cells;
  int32_t* first;  // by rank
  int32_t* count;

  SparseInputs(Carver& carver, const SparseGrid& grid, int64_t inputs)
      : grid(grid),
        cells(carver, grid.cells(SparseGrid::Side::kInput)),
        first(carver.array<int32_t>(inputs)),
        count(carver.array<int32_t>(1)) {}

  TENON_HD int32_t at(const int32_t* site, int64_t tap) const {
    const int64_t cell = grid.cell_at(site, tap, SparseGrid::Side::kInput);
    const int64_t rank = cell < 0 ? -1 : cells.rank(cell);
    return rank < 0 ? -1 : first[rank];
  }
  /// @param sites (inputs, numbers)
  void find(const kit::Device& device, const int32_t* sites, int64_t inputs) const;
};

struct InsertInput {
  SparseInputs inputs;
  const int32_t* sites;

  TENON_DEVICE void operator()(int64_t i) const {
    const int64_t cell =
        inputs.grid.cell_of(sites + i * inputs.grid.numbers(), SparseGrid::Side::kInput);
    if (cell >= 0) inputs.cells.insert(cell);
  }
};

struct FindFirst {
  SparseInputs inputs;
  const int32_t* sites;

  TENON_DEVICE void operator()(int64_t i) const {
    const int64_t cell =
        inputs.grid.cell_of(sites + i * inputs.grid.numbers(), SparseGrid::Side::kInput);
    if (cell < 0) return;
    int32_t* const first = inputs.first + inputs.cells.rank(cell);
    const auto index = static_cast<int32_t>(i);
#if defined(__CUDACC__)
    atomicMin(first, index);
#else
    int32_t before = __atomic_load_n(first, __ATOMIC_RELAXED);
    while (index < before
           && !__atomic_compare_exchange_n(first, &before, index, true, __ATOMIC_RELAXED,
                                           __ATOMIC_RELAXED)) {}
#endif
  }
};

inline void SparseInputs::find(const kit::Device& device, const int32_t* sites,
                               int64_t inputs) const {
  cells.clear(device);
  device.parallel_for(inputs, InsertInput{*this, sites});
  cells.number(device, count);
  fill(device, first, inputs, kNone);
  device.parallel_for(inputs, FindFirst{*this, sites});
}

/// The sites of results, in the order of their cells.
struct SparseResults {
  SparseGrid grid;
  CellSet cells;

  /// @param count of cells: 0 where find() is not called
  SparseResults(Carver& carver, const SparseGrid& grid, int64_t count)
      : grid(grid), cells(carver, count) {}

  /// Every result that an input reaches. `count` and `results` are read by kernels.
  void find(const kit::Device& device, const int32_t* sites, int64_t inputs, int32_t* count,
            int32_t* results) const;
};

struct InsertResult {
  SparseResults results;
  const int32_t* sites;

  TENON_DEVICE void operator()(int64_t i) const {
    const int64_t taps = results.grid.taps();
    const int32_t* const site = sites + i / taps * results.grid.numbers();
    if (results.grid.cell_of(site, SparseGrid::Side::kInput) < 0) return;
    const int64_t cell = results.grid.cell_at(site, i % taps, SparseGrid::Side::kResult);
    if (cell >= 0) results.cells.insert(cell);
  }
};

struct ListResults {
  SparseResults results;
  int32_t* sites;

  TENON_HD void operator()(int64_t group) const {
    int64_t rank = results.cells.before_group[group];
    for (int64_t w = group * CellSet::kGroupWords; w < (group + 1) * CellSet::kGroupWords; ++w)
      for (uint32_t word = results.cells.words[w]; word != 0; word &= word - 1) {
        const int64_t cell = w * CellSet::kWordCells + count_of_bits(~word & (word - 1));
        results.grid.site_of(cell, sites + rank++ * results.grid.numbers());
      }
  }
};

inline void SparseResults::find(const kit::Device& device, const int32_t* sites, int64_t inputs,
                                int32_t* count, int32_t* results) const {
  cells.clear(device);
  device.parallel_for(inputs * grid.taps(), InsertResult{*this, sites});
  cells.number(device, count);
  device.parallel_for(cells.groups(), ListResults{*this, results});
}

}  // namespace tenon::kernels::inline TENON_TARGET
