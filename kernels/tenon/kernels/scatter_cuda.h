/// Scatter on CUDA, where updates are combined in the same order. Indices that are outside are no
/// errors there: their updates are left out.
#pragma once

#if defined(__CUDACC__)

#include "tenon/kernels/scatter.h"

namespace tenon::kernels::inline TENON_TARGET {

/// From the start; -1 when it is outside.
__device__ inline int64_t position_of(int64_t index, int64_t extent) {
  if (index < -extent || index >= extent) return -1;
  return index < 0 ? index + extent : index;
}

template <class E> void copy(const kit::Device& device, const E* from, E* to, int64_t count) {
  if (from != to && count > 0)
    cudaMemcpyAsync(to, from, static_cast<size_t>(count) * sizeof(E), cudaMemcpyDeviceToDevice,
                    device.stream);
}

/// One line of updates along the axis.
template <Reduction reduction, class E, class I> struct ScatterLine {
  ScatterElementsShape shape;
  const I* indices;
  const E* updates;
  E* out;

  __device__ void operator()(int64_t line) const {
    const kit::Shape &full = shape.data, &given = shape.indices;
    int64_t from = 0, to = 0, from_step = 1, to_step = 1, step = 1, full_step = 1;
    for (int k = full.rank() - 1; k >= 0; --k) {
      if (k == shape.axis) {
        from_step = step;
        to_step = full_step;
      } else {
        from += line % given[k] * step;
        to += line % given[k] * full_step;
        line /= given[k];
      }
      step *= given[k];
      full_step *= full[k];
    }
    for (int64_t i = 0; i < given[shape.axis]; ++i, from += from_step) {
      const int64_t at = position_of(indices[from], full[shape.axis]);
      if (at < 0) continue;
      E& target = out[to + at * to_step];
      target = combined<reduction>(target, updates[from]);
    }
  }
};

template <Reduction reduction, class E, class I>
void scatter_elements(const kit::Device& device, const ScatterElementsShape& shape, const E* data,
                      const I* indices, const E* updates, E* out) {
  copy(device, data, out, shape.data.volume());
  const int64_t count = shape.indices.volume();
  if (count > 0)
    device.parallel_for(count / shape.indices[shape.axis],
                        ScatterLine<reduction, E, I>{shape, indices, updates, out});
}

/// Where the block of a row of indices lies; -1 when it is outside.
template <class I> struct BlockPosition {
  ScatterBlocksShape shape;
  const I* indices;
  int64_t* positions;

  __device__ void operator()(int64_t i) const {
    int64_t position = 0;
    for (int64_t k = 0; k < shape.width && position >= 0; ++k) {
      const int64_t extent = shape.data[static_cast<int>(k)];
      const int64_t at = position_of(indices[i * shape.width + k], extent);
      position = at < 0 ? -1 : position * extent + at;
    }
    positions[i] = position;
  }
};

/// The first update of a position brings all others that meet there.
template <Reduction reduction, class E> struct ScatterBlock {
  ScatterBlocksShape shape;
  const int64_t* positions;
  const E* updates;
  E* out;

  __device__ void operator()(const kit::Team& team, int64_t i) const {
    const int64_t position = positions[i];
    if (position < 0 || find(team, position, 0, i) < i) return;
    E* const to = out + position * shape.block;
    for (int64_t j = i; j < shape.tuples; j = find(team, position, j + 1, shape.tuples))
      team.each(shape.block, [&](int64_t k) {
        to[k] = combined<reduction>(to[k], updates[j * shape.block + k]);
      });
  }

 private:
  // The first of [begin, end) with this position; `end` when there is none.
  __device__ int64_t find(const kit::Team& team, int64_t position, int64_t begin,
                          int64_t end) const {
    return team.reduce(
        end - begin, end, [](int64_t a, int64_t b) { return a < b ? a : b; },
        [&](int64_t i) { return positions[begin + i] == position ? begin + i : end; });
  }
};

template <Reduction reduction, class E, class I>
void scatter_blocks(const kit::Device& device, const ScatterBlocksShape& shape, const E* data,
                    const I* indices, const E* updates, void* workspace, E* out) {
  copy(device, data, out, shape.data.volume());
  if (shape.block == 0) return;
  auto* const positions = static_cast<int64_t*>(workspace);
  device.parallel_for(shape.tuples, BlockPosition<I>{shape, indices, positions});
  device.parallel_rows(shape.tuples, ScatterBlock<reduction, E>{shape, positions, updates, out});
}

}  // namespace tenon::kernels::inline TENON_TARGET
#endif
