#include "cuda/element_types.cuh"
#include "cuda/elements.cuh"
#include "cuda/resize.h"

namespace tenon::cuda {
namespace {

constexpr int kMaxResized = 3;

template <class Index> struct Axes {
  ResizeCall call;
  Divisor<Index> extent[8];

  explicit Axes(const ResizeCall& all) : call(all) {
    for (int axis = 0; axis < all.axes; ++axis)
      extent[axis] = Divisor<Index>(all.axis[axis].extent);
  }
};

int64_t count_of(const ResizeCall& call) {
  int64_t count = 1;
  for (int axis = 0; axis < call.axes; ++axis) count *= call.axis[axis].extent;
  return count;
}

template <class Word, class Index> __global__ void take_nearest(Axes<Index> axes, Index count) {
  const auto* source = static_cast<const Word*>(axes.call.source);
  for_own(count, [&](Index i) {
    Index rest = i;
    int64_t from = 0;
    for (int k = axes.call.axes - 1; k >= 0; --k) {
      const ResizedAxis& axis = axes.call.axis[k];
      Index at = 0;
      rest = axes.extent[k].divide(rest, at);
      from += (axis.taps == 0 ? static_cast<int64_t>(at) : axis.table[at].position) * axis.stride;
    }
    static_cast<Word*>(axes.call.target)[i] = source[from];
  });
}

// What a result reads along one resized axis.
struct Taps {
  const ResizeTap* first;
  int count;
  int64_t stride;
};

template <class E, int vector, class Index>
__global__ void interpolate(Axes<Index> axes, Index count) {
  using Elements = Pack<E, vector>;
  const auto* source = static_cast<const Elements*>(axes.call.source);
  const ResizeTap one{0, 1};
  for_own(count, [&](Index i) {
    Index rest = i;
    int64_t from = 0;
    Taps taps[kMaxResized] = {{&one, 1, 0}, {&one, 1, 0}, {&one, 1, 0}};
    int resized = 0;
    for (int k = axes.call.axes - 1; k >= 0; --k) {
      const ResizedAxis& axis = axes.call.axis[k];
      Index at = 0;
      rest = axes.extent[k].divide(rest, at);
      if (axis.taps == 0)
        from += static_cast<int64_t>(at) * axis.stride;
      else
        taps[resized++] = {axis.table + static_cast<int64_t>(at) * axis.taps, axis.taps,
                           axis.stride};
    }
    float sum[vector] = {};
    for (int c = 0; c < taps[2].count; ++c)
      for (int b = 0; b < taps[1].count; ++b) {
        const ResizeTap outer = taps[2].first[c], middle = taps[1].first[b];
        const float share = outer.weight * middle.weight;
        const int64_t row =
            from + outer.position * taps[2].stride + middle.position * taps[1].stride;
        if (share == 0) continue;
        for (int a = 0; a < taps[0].count; ++a) {
          const ResizeTap inner = taps[0].first[a];
          if (inner.weight == 0) continue;
          const Elements elements = source[row + inner.position * taps[0].stride];
          for (int e = 0; e < vector; ++e)
            sum[e] += share * inner.weight * to_float(elements.values[e]);
        }
      }
    Elements result;
    for (int e = 0; e < vector; ++e) result.values[e] = from_float<E>(sum[e]);
    static_cast<Elements*>(axes.call.target)[i] = result;
  });
}

}  // namespace

void launch_nearest(const ResizeCall& call, int64_t word, cudaStream_t stream) {
  const int64_t count = count_of(call);
  with_word(word, [&](auto zero) {
    with_index(count, [&](auto index) {
      using Index = decltype(index);
      launch(take_nearest<decltype(zero), Index>, blocks_for(count), kThreads, stream,
             Axes<Index>(call), static_cast<Index>(count));
    });
  });
}

void launch_interpolation(const ResizeCall& call, int32_t type, int vector, cudaStream_t stream) {
  const int64_t count = count_of(call);
  with_real(type, [&](auto zero) {
    using E = decltype(zero);
    constexpr int kVector = 16 / sizeof(E);
    with_index(count, [&](auto index) {
      using Index = decltype(index);
      launch(vector == kVector ? interpolate<E, kVector, Index> : interpolate<E, 1, Index>,
             blocks_for(count), kThreads, stream, Axes<Index>(call), static_cast<Index>(count));
    });
  });
}

}  // namespace tenon::cuda
