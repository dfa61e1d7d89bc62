/// What kernels are written in: loops that run on the engine's threads or, compiled by nvcc, on a
/// CUDA device.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstring>
#include <exception>
#include <mutex>
#include <stdexcept>
#include <string>

#include "tenon/plugin/engine.h"
#include "tenon/plugin/matrix_product.h"
#include "tenon/plugin/sort.h"
#include "tenon/plugin/span.h"
#include "tenon/plugin/team.h"
#include "tenon/plugin/tensor.h"
#include "tenon/plugin/wide_vectors.h"

namespace tenon {
namespace kit {

inline namespace TENON_TARGET {

#if !defined(__CUDACC__)

struct Device {
  /// As many bytes as the plugin's workspace() asked for.
  void* workspace = nullptr;

  /// Calls f(begin, end) over disjoint ranges that cover [0, n), on the engine's threads (on the
  /// caller when the engine is not Tenon). Allocates nothing. Exceptions reach the caller.
  template <class F> void parallel_ranges(int64_t n, int64_t grain, const F& f) const {
    if (n <= 0) return;
    if (engine().parallel_for == nullptr) return f(int64_t{0}, n);
    struct State {
      const F& f;
      std::mutex mutex;
      std::exception_ptr error;
    } state{f, {}, nullptr};
    const auto body = [](void* opaque, int64_t begin, int64_t end) {
      State& s = *static_cast<State*>(opaque);
      try {
        s.f(begin, end);
      } catch (...) {
        const std::lock_guard lock(s.mutex);
        s.error = std::current_exception();
      }
    };
    engine().parallel_for(n, grain, body, &state);
    if (state.error) std::rethrow_exception(state.error);
  }
  /// f(i) for every i in [0, n).
  template <class F> void parallel_for(int64_t n, const F& f) const {
    parallel_ranges(n, kGrain, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) f(i);
    });
  }
  /// f(row, column) for every column in [0, columns) of every row in [0, rows). On the CPU what
  /// follows from the row alone is worked out once for many columns, and these are a loop that the
  /// compiler vectorises for the processor: write what columns do without branches and calls.
  template <class F> void parallel_grid(int64_t rows, int64_t columns, const F& f) const {
    parallel_parts(rows, columns, columns, [g = f](int64_t row, int64_t first, int64_t count) {
      const F h = g;  // not in memory, which f could write
      for (int64_t i = 0; i < count; ++i) h(row, first + i);
    });
  }
  /// f(row, first, count) for parts [first, first + count) of rows that cover rows and columns as
  /// in parallel_grid(), of at most kSpan columns: for what takes several passes over the columns
  /// of a part, and for elements of any type as floats (tenon/plugin/span.h).
  template <class F> void parallel_spans(int64_t rows, int64_t columns, const F& f) const {
    parallel_parts(rows, columns, kSpan, f);
  }
  /// f(team, row) for every row in [0, rows).
  template <class F> void parallel_rows(int64_t rows, const F& f) const {
    parallel_ranges(rows, 1, [&](int64_t begin, int64_t end) {
      for (int64_t row = begin; row < end; ++row) f(Team{}, row);
    });
  }
  /// For each row of n elements, the first k in the order of `before`: order[row * k + i] is the
  /// index of the element at position i. `before(row, a, b)` says whether element a of the row
  /// comes before element b; of those that neither does, the lower index comes first, so that the
  /// result is always the same. Where n is less than k, the rest of `order` stays as it is.
  /// `scratch` has sort_workspace(rows, n) bytes.
  template <class Before>
  void top_k(int64_t rows, int64_t n, int64_t k, const Before& before, int32_t* order,
             void* scratch) const {
    auto* all = static_cast<int32_t*>(scratch);
    parallel_ranges(rows, 1, [&](int64_t begin, int64_t end) {
      for (int64_t row = begin; row < end; ++row)
        sort_row(row, n, k, before, all + row * sort_stride(n), order + row * k);
    });
  }
  /// c = a b, or c + a b: a is m x k, b k x n, c m x n with `stride` elements from row to row. c
  /// overlaps neither.
  void multiply(int64_t m, int64_t n, int64_t k, Matrix a, Matrix b, float* c, int64_t stride,
                bool add = false) const {
    const TenonMatrixProduct product{m,        n, k,      a.data,          a.stride,        b.data,
                                     b.stride, c, stride, a.is_transposed, b.is_transposed, add};
    if (engine().multiply != nullptr && engine().multiply(&product) == 0) return;
    parallel_ranges(m, 1, [&](int64_t begin, int64_t end) { multiply_rows(product, begin, end); });
  }
  /// Values of the plugin where kernels can read them. `at` is workspace for them, which the CPU
  /// does not need. CUDA throws std::runtime_error when they cannot be copied.
  template <class V> const V* constants(const V* values, int64_t, V* at) const { return values; }

 private:
  static constexpr int64_t kGrain = 4096;

  // f(row, first, count) for parts of at most `length` columns.
  template <class F>
  void parallel_parts(int64_t rows, int64_t columns, int64_t length, const F& f) const {
    if (columns <= 0) return;
    parallel_ranges(rows * columns, kGrain, [&](int64_t begin, int64_t end) {
      with_wide_vectors([=, g = f](auto) {
        int64_t row = begin / columns, first = begin % columns;
        for (int64_t left = end - begin; left > 0;) {
          const int64_t count = std::min({length, columns - first, left});
          g(row, first, count);
          left -= count;
          first += count;
          if (first < columns) continue;
          first = 0;
          ++row;
        }
      });
    });
  }
};

#else

template <class F> __global__ void grid_for(int64_t n, F f) {
  for (int64_t i = blockIdx.x * int64_t{blockDim.x} + threadIdx.x; i < n;
       i += int64_t{gridDim.x} * blockDim.x)
    f(i);
}
template <class F> __global__ void grid_of(int64_t rows, int64_t columns, F f) {
  const int64_t n = rows * columns;
  for (int64_t i = blockIdx.x * int64_t{blockDim.x} + threadIdx.x; i < n;
       i += int64_t{gridDim.x} * blockDim.x)
    f(i / columns, i % columns);
}
template <class F> __global__ void grid_of_spans(int64_t rows, int64_t columns, F f) {
  const int64_t n = rows * columns;
  for (int64_t i = blockIdx.x * int64_t{blockDim.x} + threadIdx.x; i < n;
       i += int64_t{gridDim.x} * blockDim.x)
    f(i / columns, i % columns, int64_t{1});
}
template <class F> __global__ void grid_rows(int64_t rows, F f) {
  for (int64_t r = blockIdx.x; r < rows; r += gridDim.x) f(Team{}, r);
}

struct Device {
  void* workspace = nullptr;
  cudaStream_t stream = nullptr;
  static unsigned blocks(int64_t n) { return static_cast<unsigned>(n < 65535 ? n : 65535); }
  // clang-format off: it takes launches apart.
  template <class F> void parallel_for(int64_t n, const F& f) const {
    if (n > 0) grid_for<<<blocks((n + 255) / 256), 256, 0, stream>>>(n, f);
  }
  template <class F> void parallel_grid(int64_t rows, int64_t columns, const F& f) const {
    if (rows * columns > 0) grid_of<<<blocks((rows * columns + 255) / 256), 256, 0, stream>>>(rows, columns, f);
  }
  template <class F> void parallel_spans(int64_t rows, int64_t columns, const F& f) const {
    if (rows * columns > 0) grid_of_spans<<<blocks((rows * columns + 255) / 256), 256, 0, stream>>>(rows, columns, f);
  }
  template <class F> void parallel_rows(int64_t rows, const F& f) const {
    if (rows > 0) grid_rows<<<blocks(rows), Team::kThreads, 0, stream>>>(rows, f);
  }
  template <class Before>
  void top_k(int64_t rows, int64_t n, int64_t k, const Before& before, int32_t* order,
             void* scratch) const {
    parallel_rows(rows, SortRow<Before>{n, k, before, static_cast<int32_t*>(scratch), order});
  }
  void multiply(int64_t m, int64_t n, int64_t k, Matrix a, Matrix b, float* c, int64_t stride,
                bool add = false) const {
    if (m == 0 || n == 0) return;
    const dim3 grid(static_cast<unsigned>((n + kTile - 1) / kTile), static_cast<unsigned>((m + kTile - 1) / kTile));
    multiply_tile<<<grid, dim3(kTile, kTile), 0, stream>>>(m, n, k, a, b, c, stride, add);
  }
  // clang-format on
  template <class V> const V* constants(const V* values, int64_t count, V* at) const {
    const cudaError_t error = cudaMemcpyAsync(at, values, static_cast<size_t>(count) * sizeof(V),
                                              cudaMemcpyHostToDevice, stream);
    if (error != cudaSuccess)
      throw std::runtime_error(std::string("attributes do not reach the device: ")
                               + cudaGetErrorString(error));
    return at;
  }
};

#endif

}  // namespace TENON_TARGET
}  // namespace kit
}  // namespace tenon
