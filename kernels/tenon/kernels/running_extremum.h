/// The largest or smallest element so far along an axis, and where it is: torch.cummax and cummin.
///
/// A NaN is more extreme than any number and stays. Of equal elements the last one counts, as in
/// PyTorch, or the first. Running backwards, positions are still counted from the front.
#pragma once

#include <tenon/plugin/convert.h>
#include <tenon/plugin/device.h>

#include "tenon/kernels/pack.h"
#include "tenon/kernels/warp.h"
#include "tenon/kernels/wide_vectors.h"

namespace tenon::kernels::inline TENON_TARGET {

struct RunningExtremum {
  bool largest = true;
  bool keep_first = false;  ///< of equal elements
  bool backwards = false;
};

/// What elements are compared as: halves as floats.
template <class E> using ExtremumKey = std::conditional_t<std::is_same_v<E, kit::Half>, float, E>;

/// Whether an element replaces the extremum so far.
template <bool largest, bool keep_first> struct Takes {
  template <class K> TENON_HD bool operator()(K x, K best) const {
    const bool better =
        largest ? (keep_first ? x > best : x >= best) : (keep_first ? x < best : x <= best);
    // Without branches, so that loops over it become vectors. Nothing is better than a NaN.
    const bool best_is_nan = best != best, is_nan = x != x;
    return better | (is_nan & !(keep_first & best_is_nan));
  }
};

/// f(Takes<...>{}) for these options.
template <class F> void with_rule(const RunningExtremum& options, const F& f) {
  if (options.largest)
    options.keep_first ? f(Takes<true, true>{}) : f(Takes<true, false>{});
  else
    options.keep_first ? f(Takes<false, true>{}) : f(Takes<false, false>{});
}

/// One line of elements `inner` apart.
template <class E, class Rule> struct RunningLine {
  const E* x;
  E* values;
  int32_t* indices;  // or null
  kit::Split split;
  bool backwards;

  TENON_HD void operator()(int64_t line) const {
    const int64_t first = line / split.inner * split.n * split.inner + line % split.inner;
    ExtremumKey<E> best{};
    int64_t best_at = 0;
    for (int64_t k = 0; k < split.n; ++k) {
      const int64_t position = backwards ? split.n - 1 - k : k;
      const int64_t i = first + position * split.inner;
      const auto key = static_cast<ExtremumKey<E>>(x[i]);
      if (k == 0 || Rule{}(key, best)) {
        best = key;
        best_at = position;
      }
      values[i] = static_cast<E>(best);
      if (indices != nullptr) indices[i] = static_cast<int32_t>(best_at);
    }
  }
};

#if !defined(__CUDACC__)

// Adjacent elements, forwards. Blocks without a new extremum, which is most of them, are only
// compared and filled.
template <class E, class Rule> struct RunningRow {
  using Key = ExtremumKey<E>;
  static constexpr int64_t kBlock = 32;

  const E* x;
  E* values;
  int32_t* indices;  // or null
  int64_t n;

  void run() const {
    Key best = static_cast<Key>(x[0]);
    E value = x[0];
    int32_t best_at = 0;
    for (int64_t at = 0; at < n; at += kBlock) {
      const int64_t count = std::min(kBlock, n - at);
      Key keys[kBlock];
      kit::convert(x + at, keys, count);
      if (at > 0 && count == kBlock && !any_takes(keys, best)) {
        std::fill_n(values + at, kBlock, value);
        if (indices != nullptr) std::fill_n(indices + at, kBlock, best_at);
        continue;
      }
      for (int64_t i = 0; i < count; ++i) {
        if (at + i > 0 && Rule{}(keys[i], best)) {
          best = keys[i];
          value = x[at + i];
          best_at = static_cast<int32_t>(at + i);
        }
        values[at + i] = value;
        if (indices != nullptr) indices[at + i] = best_at;
      }
    }
  }
  static bool any_takes(const Key* keys, Key best) {
    int taken = 0;
    for (int64_t i = 0; i < kBlock; ++i) taken |= static_cast<int>(Rule{}(keys[i], best));
    return taken != 0;
  }
};

// Adjacent lines side by side, so that each step is a loop over vectors.
template <class E, class Rule> struct RunningColumns {
  using Key = ExtremumKey<E>;
  static constexpr int64_t kBlock = 256;

  const E* x;
  E* values;
  int32_t* indices;  // or null
  int64_t n, inner;
  bool backwards;

  void run(int64_t count) const {
    Key best[kBlock], keys[kBlock];
    int32_t best_at[kBlock];
    for (int64_t k = 0; k < n; ++k) {
      const int64_t position = backwards ? n - 1 - k : k, at = position * inner;
      kit::convert(x + at, k == 0 ? best : keys, count);
      const auto here = static_cast<int32_t>(position);
      if (k == 0) {
        std::fill_n(best_at, count, here);
      } else {
        for (int64_t i = 0; i < count; ++i) {
          const bool takes = Rule{}(keys[i], best[i]);
          best[i] = takes ? keys[i] : best[i];
          best_at[i] = takes ? here : best_at[i];
        }
      }
      kit::convert(best, values + at, count);
      if (indices != nullptr) std::copy_n(best_at, count, indices + at);
    }
  }
};

template <class E, class Rule> void run_lines(const kit::Device& device, RunningLine<E, Rule> all) {
  const kit::Split& s = all.split;
  constexpr int64_t kGrain = 16384;  // elements
  if (s.inner == 1 && !all.backwards) {
    device.parallel_ranges(s.outer, kGrain / s.n + 1, [&](int64_t begin, int64_t end) {
      for (int64_t row = begin; row < end; ++row) {
        const int64_t at = row * s.n;
        const RunningRow<E, Rule> line{all.x + at, all.values + at,
                                       all.indices == nullptr ? nullptr : all.indices + at, s.n};
        with_wide_vectors([&](auto) { line.run(); });
      }
    });
  } else if (s.inner == 1) {
    device.parallel_ranges(s.outer, kGrain / s.n + 1, [&](int64_t begin, int64_t end) {
      for (int64_t row = begin; row < end; ++row) all(row);
    });
  } else {
    constexpr int64_t kBlock = RunningColumns<E, Rule>::kBlock;
    const int64_t blocks = (s.inner + kBlock - 1) / kBlock;
    device.parallel_ranges(s.outer * blocks, 1, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const int64_t from = i % blocks * kBlock, at = i / blocks * s.n * s.inner + from;
        const RunningColumns<E, Rule> lines{
            all.x + at, all.values + at, all.indices == nullptr ? nullptr : all.indices + at,
            s.n,        s.inner,         all.backwards};
        with_wide_vectors([&](auto) { lines.run(std::min(kBlock, s.inner - from)); });
      }
    });
  }
}

#else

/// The extremum of some elements; of none where `at` is -1.
template <class E> struct Extremum {
  ExtremumKey<E> key;
  int32_t at;
};

template <class E, class Rule>
__device__ Extremum<E> later(const Extremum<E>& a, const Extremum<E>& b) {
  if (b.at < 0) return a;
  return a.at < 0 || Rule{}(b.key, a.key) ? b : a;
}

/// Rows of adjacent elements, for each a block of so many warps. A thread scans four neighbours,
/// and what it finds is scanned across threads. `has_packs` says whether they are read and written
/// as one.
template <class E, class Rule, int warps>
__global__ void __launch_bounds__(warps* kWarp)
    running_rows(RunningLine<E, Rule> all, bool has_packs) {
  constexpr int kOwn = 4;
  __shared__ Extremum<E> totals[warps];
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
  const int warp = static_cast<int>(threadIdx.x) / kWarp;
  const int64_t n = all.split.n;
  for (int64_t row = blockIdx.x; row < all.split.outer; row += gridDim.x) {
    const E* const x = all.x + row * n;
    Extremum<E> before{{}, -1};
    for (int64_t begin = 0; begin < n; begin += warps * kWarp * kOwn) {
      const int64_t first = begin + threadIdx.x * kOwn;
      const auto position = [&](int k) { return all.backwards ? n - 1 - first - k : first + k; };
      Pack<E, kOwn> own;
      if (has_packs && first < n) {
        own = Pack<E, kOwn>::load(x + first);
      } else {
#pragma unroll
        for (int k = 0; k < kOwn; ++k)
          if (first + k < n) own.values[k] = x[position(k)];
      }
      Extremum<E> found[kOwn], last{{}, -1};
#pragma unroll
      for (int k = 0; k < kOwn; ++k) {
        if (first + k < n)
          last = later<E, Rule>(last, {static_cast<ExtremumKey<E>>(own.values[k]),
                                       static_cast<int32_t>(position(k))});
        found[k] = last;
      }
      const Extremum<E> scanned = warp_scan(last, later<E, Rule>);
      if (lane == kWarp - 1) totals[warp] = scanned;
      Extremum<E> best = from_below(scanned, 1);
      if (lane == 0) best.at = -1;
      __syncthreads();
      Extremum<E> start = before;
#pragma unroll
      for (int w = 0; w < warps; ++w) {
        if (w == warp) start = before;
        before = later<E, Rule>(before, totals[w]);
      }
      __syncthreads();  // the next elements write totals
      best = later<E, Rule>(start, best);
      Pack<int32_t, kOwn> indices;
#pragma unroll
      for (int k = 0; k < kOwn; ++k) {
        const Extremum<E> here = later<E, Rule>(best, found[k]);
        own.values[k] = static_cast<E>(here.key);
        indices.values[k] = here.at;
      }
      E* const values = all.values + row * n;
      int32_t* const positions = all.indices == nullptr ? nullptr : all.indices + row * n;
      if (has_packs && first < n) {
        own.store(values + first);
        if (positions != nullptr) indices.store(positions + first);
      } else {
#pragma unroll
        for (int k = 0; k < kOwn; ++k) {
          if (first + k >= n) continue;
          values[position(k)] = own.values[k];
          if (positions != nullptr) positions[position(k)] = indices.values[k];
        }
      }
    }
  }
}

template <class E, class Rule> void run_lines(const kit::Device& device, RunningLine<E, Rule> all) {
  if (all.split.inner != 1) return device.parallel_for(all.split.outer * all.split.inner, all);
  const bool has_packs = !all.backwards && Pack<E, 4>::divides(all.x, all.split.n)
                         && Pack<E, 4>::divides(all.values, all.split.n)
                         && Pack<int32_t, 4>::divides(all.indices, all.split.n);
  const unsigned blocks = kit::Device::blocks(all.split.outer);
  constexpr int64_t kShortRow = 256;
  // clang-format off: it takes launches apart.
  if (all.split.n <= kShortRow)
    running_rows<E, Rule, 1><<<blocks, kWarp, 0, device.stream>>>(all, has_packs);
  else
    running_rows<E, Rule, 8><<<blocks, 8 * kWarp, 0, device.stream>>>(all, has_packs);
  // clang-format on
}

#endif

/// values[i] is the extremum of x up to i along the axis of `split`, indices[i] its position there.
/// `indices` may be null.
template <class E>
void running_extremum(const kit::Device& device, const E* x, E* values, int32_t* indices,
                      const kit::Split& split, const RunningExtremum& options) {
  if (split.outer * split.n * split.inner == 0) return;
  with_rule(options, [&]<class Rule>(Rule) {
    run_lines(device, RunningLine<E, Rule>{x, values, indices, split, options.backwards});
  });
}

}  // namespace tenon::kernels::inline TENON_TARGET
