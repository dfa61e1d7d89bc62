/// A copy of a tensor in which elements or blocks are replaced by updates, or combined with them.
///
/// As ONNX ScatterElements and ScatterND. Negative indices count from the end, those outside are
/// errors. Where updates meet, the last one counts, or all are combined in order.
#pragma once

#include <tenon/plugin/device.h>
#include <tenon/plugin/require.h>

#include <stdexcept>
#include <string>

namespace tenon::kernels::inline TENON_TARGET {

/// How an update meets what is there.
enum class Reduction : int32_t { kNone, kAdd, kMul, kMin, kMax };

/// Floats combine in single precision, and a NaN stays one; integers wrap around.
template <Reduction reduction, class E> TENON_HD E combined(E there, E update) {
  constexpr bool is_integer = std::is_integral_v<E>;
  using Wide = std::conditional_t<is_integer, uint64_t, float>;
  if constexpr (reduction == Reduction::kNone) {
    return update;
  } else if constexpr (reduction == Reduction::kAdd) {
    return static_cast<E>(static_cast<Wide>(there) + static_cast<Wide>(update));
  } else if constexpr (reduction == Reduction::kMul) {
    return static_cast<E>(static_cast<Wide>(there) * static_cast<Wide>(update));
  } else {
    using Number = std::conditional_t<is_integer, E, float>;
    const auto a = static_cast<Number>(there), b = static_cast<Number>(update);
    if (a != a) return there;
    return b != b || (reduction == Reduction::kMin ? b < a : b > a) ? update : there;
  }
}

/// Calls f with the reduction as a constant.
template <class F> void with_reduction(Reduction reduction, const F& f) {
  const auto constant = [&]<Reduction r>() { f(std::integral_constant<Reduction, r>{}); };
  switch (reduction) {
    case Reduction::kAdd:
      return constant.template operator()<Reduction::kAdd>();
    case Reduction::kMul:
      return constant.template operator()<Reduction::kMul>();
    case Reduction::kMin:
      return constant.template operator()<Reduction::kMin>();
    case Reduction::kMax:
      return constant.template operator()<Reduction::kMax>();
    default:
      return constant.template operator()<Reduction::kNone>();
  }
}

/// Along one axis. Throws std::invalid_argument for tensors that do not fit.
struct ScatterElementsShape {
  kit::Shape data, indices;  // the updates are like the indices
  int axis;

  static ScatterElementsShape of(const kit::Shape& data, const kit::Shape& indices,
                                 const kit::Shape& updates, int axis) {
    const auto require = [&](bool holds, const std::string& expected) {
      if (!holds)
        throw std::invalid_argument("data " + text_of(data) + ", indices " + text_of(indices)
                                    + " and updates " + text_of(updates) + " do not fit; expected "
                                    + expected);
    };
    const int rank = data.rank();
    if (axis < -rank || axis >= rank)
      throw std::invalid_argument("axis " + std::to_string(axis) + " is not one of data "
                                  + text_of(data));
    require(indices.rank() == rank && updates.rank() == rank, "as many axes");
    ScatterElementsShape shape{data, indices, axis < 0 ? axis + rank : axis};
    for (int k = 0; k < rank; ++k) {
      require(indices[k] == updates[k], "as many updates as indices");
      require(k == shape.axis || indices[k] <= data[k],
              "no more indices than data, but along axis " + std::to_string(shape.axis));
    }
    return shape;
  }
};

/// Blocks, each at the position that a row of indices names.
struct ScatterBlocksShape {
  kit::Shape data;
  int64_t tuples, width, block;  // rows of indices, indices in a row, elements of a block

  static ScatterBlocksShape of(const kit::Shape& data, const kit::Shape& indices,
                               const kit::Shape& updates) {
    const auto fail = [&](const std::string& expected) {
      throw std::invalid_argument("data " + text_of(data) + ", indices " + text_of(indices)
                                  + " and updates " + text_of(updates) + " do not fit; expected "
                                  + expected);
    };
    if (indices.rank() < 1) fail("indices with an axis");
    ScatterBlocksShape shape{data, 1, indices[indices.rank() - 1], 1};
    if (shape.width > data.rank()) fail("at most " + std::to_string(data.rank()) + " in a row");
    if (indices.rank() - 1 + data.rank() - shape.width > kit::Shape::MAX_DIMS)
      fail("updates of at most 8 axes");
    kit::Shape expected{};
    for (int k = 0; k + 1 < indices.rank(); ++k) {
      shape.tuples *= indices[k];
      expected.d[expected.nbDims++] = indices[k];
    }
    for (int k = static_cast<int>(shape.width); k < data.rank(); ++k) {
      shape.block *= data[k];
      expected.d[expected.nbDims++] = data[k];
    }
    bool fits = updates.rank() == expected.rank();
    for (int k = 0; fits && k < expected.rank(); ++k) fits = updates[k] == expected[k];
    if (!fits) fail("updates " + text_of(expected));
    return shape;
  }
  /// Bytes that scatter_blocks() works in.
  size_t workspace() const;
};

#if !defined(__CUDACC__)

[[noreturn, gnu::cold]] inline void fail_range(int64_t index, int64_t extent) {
  throw std::invalid_argument("index " + std::to_string(index) + " is outside ["
                              + std::to_string(-extent) + ", " + std::to_string(extent) + ")");
}

inline int64_t in_range(int64_t index, int64_t extent) {
  const int64_t from_start = index < 0 ? index + extent : index;
  if (static_cast<uint64_t>(from_start) >= static_cast<uint64_t>(extent)) fail_range(index, extent);
  return from_start;
}

template <class E> void copy(const kit::Device& device, const E* from, E* to, int64_t count) {
  if (from == to || count == 0) return;
  constexpr int64_t kGrain = 65536 / sizeof(E);
  device.parallel_ranges(count, kGrain, [&](int64_t begin, int64_t end) {
    std::memcpy(to + begin, from + begin, static_cast<size_t>(end - begin) * sizeof(E));
  });
}

/// Writes `count` updates to elements of one row of `extent`, each to the one that its index names.
template <Reduction reduction, class E, class I>
void scatter_in_row(const I* indices, const E* updates, int64_t count, int64_t extent, E* row) {
  for (int64_t i = 0; i < count; ++i) {
    E& target = row[in_range(indices[i], extent)];
    target = combined<reduction>(target, updates[i]);
  }
}

/// Writes `count` updates to columns of elements that lie `step` elements apart, of which there are
/// `extent`; each column to the element that its index names.
template <Reduction reduction, class E, class I>
void scatter_columns(const I* indices, const E* updates, int64_t count, int64_t step,
                     int64_t extent, E* out) {
  constexpr int64_t kBlock = 256;
  for (int64_t first = 0; first < count; first += kBlock) {
    const int64_t stop = std::min(first + kBlock, count);
    // Many have the same index, as where one of whole rows was expanded: vectors take those.
    I others = 0;
    for (int64_t j = first; j < stop; ++j) others |= indices[j] ^ indices[first];
    if (others == 0) {
      E* const row = out + in_range(indices[first], extent) * step;
      for (int64_t j = first; j < stop; ++j) row[j] = combined<reduction>(row[j], updates[j]);
    } else {
      for (int64_t j = first; j < stop; ++j) {
        E& target = out[in_range(indices[j], extent) * step + j];
        target = combined<reduction>(target, updates[j]);
      }
    }
  }
}

/// Updates meet only along the axis, which one thread walks: along the last axis at once.
template <Reduction reduction, class E, class I>
void scatter_elements(const kit::Device& device, const ScatterElementsShape& shape, const E* data,
                      const I* indices, const E* updates, E* out) {
  copy(device, data, out, shape.data.volume());
  const kit::Shape &full = shape.data, &given = shape.indices;
  if (given.volume() == 0) return;
  const int rank = full.rank(), axis = shape.axis, last = rank - 1;
  int64_t step[kit::Shape::MAX_DIMS], given_step[kit::Shape::MAX_DIMS];
  for (int64_t k = last, s = 1, g = 1; k >= 0; --k) {
    step[k] = s;
    given_step[k] = g;
    s *= full[static_cast<int>(k)];
    g *= given[static_cast<int>(k)];
  }
  // Neighbours along the axes behind, as far as those lie side by side in data and indices, in
  // chunks that threads share.
  const int64_t length = given[axis];
  int joined = axis == last ? rank : last;
  int64_t run = axis == last ? 1 : given[last];
  while (joined - 1 > axis && given[joined] == full[joined]) run *= given[--joined];
  constexpr int64_t kMinChunk = 1024;  // shorter ones jump too often
  const int64_t chunk = std::clamp<int64_t>(4096 / length, kMinChunk, std::max(run, kMinChunk));
  const int64_t chunks = (run + chunk - 1) / chunk;
  const int64_t rows = given.volume() / length / run;
  const int64_t grain = std::max<int64_t>(1, 8192 / (length * std::min(chunk, run)));
  device.parallel_ranges(rows * chunks, grain, [&](int64_t begin, int64_t end) {
    for (int64_t task = begin; task < end; ++task) {
      int64_t to = 0, from = 0, row = task / chunks;
      for (int k = joined - 1; k >= 0; --k) {
        if (k == axis) continue;
        to += row % given[k] * step[k];
        from += row % given[k] * given_step[k];
        row /= given[k];
      }
      if (axis == last) {
        scatter_in_row<reduction>(indices + from, updates + from, length, full[axis], out + to);
        continue;
      }
      const int64_t first = task % chunks * chunk;
      for (int64_t i = 0; i < length; ++i) {
        const int64_t at = from + i * given_step[axis] + first;
        scatter_columns<reduction>(indices + at, updates + at, std::min(chunk, run - first),
                                   step[axis], full[axis], out + to + first);
      }
    }
  });
}

inline size_t ScatterBlocksShape::workspace() const {
  return static_cast<size_t>(tuples) * sizeof(int64_t);
}

/// Threads share the blocks of the result: each applies, in order, the updates that fall in its
/// part. `workspace` has as many bytes as the shape says.
template <Reduction reduction, class E, class I>
void scatter_blocks(const kit::Device& device, const ScatterBlocksShape& shape, const E* data,
                    const I* indices, const E* updates, void* workspace, E* out) {
  const int64_t block = shape.block, tuples = shape.tuples, width = shape.width;
  copy(device, data, out, shape.data.volume());
  if (block == 0) return;
  int64_t extents[kit::Shape::MAX_DIMS];
  std::copy_n(shape.data.d, width, extents);
  auto* const positions = static_cast<int64_t*>(workspace);
  constexpr int64_t kTuplesOfTask = 4096;
  device.parallel_ranges(tuples, kTuplesOfTask, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      int64_t position = 0;
      for (int64_t k = 0; k < width; ++k)
        position = position * extents[k] + in_range(indices[i * width + k], extents[k]);
      positions[i] = position;
    }
  });
  // Every part looks at all positions, which only large blocks are worth.
  const auto bytes = static_cast<int64_t>(sizeof(E)) * block;
  const int64_t blocks = shape.data.volume() / block;
  const int64_t parts =
      bytes < 64 ? 1 : std::min<int64_t>({16, blocks, tuples * bytes / 16384 + 1});
  device.parallel_ranges(parts, 1, [&](int64_t begin, int64_t end) {
    const int64_t first = blocks * begin / parts, stop = blocks * end / parts;
    for (int64_t i = 0; i < tuples; ++i) {
      if (positions[i] < first || positions[i] >= stop) continue;
      E* const to = out + positions[i] * block;
      const E* const from = updates + i * block;
      if constexpr (reduction == Reduction::kNone) {
        if (block > 1)
          std::memcpy(to, from, static_cast<size_t>(bytes));
        else
          *to = *from;
      } else {
        for (int64_t k = 0; k < block; ++k) to[k] = combined<reduction>(to[k], from[k]);
      }
    }
  });
}

#endif

}  // namespace tenon::kernels::inline TENON_TARGET
