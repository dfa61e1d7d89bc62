/// Scatter on CUDA, where updates are combined in the same order. Indices that are outside are no
/// errors there: their updates are left out.
#pragma once

#if defined(__CUDACC__)

#include "tenon/kernels/pack.h"
#include "tenon/kernels/scatter.h"
#include "tenon/kernels/workspace.h"

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

/// Which rows of indices name each position: a hash table with linear probing.
struct PositionTable {
  struct Slot {
    unsigned long long position;  // all bits where there is none
    unsigned long long first;     // row that names it
    long long last;
  };
  int64_t slots;     // a power of two
  int64_t* slot_of;  // of each row; -1 where it names no position
  Slot* table;

  PositionTable(int64_t rows, Carver& carver) : slots(2) {
    while (slots < 2 * rows) slots *= 2;
    slot_of = carver.array<int64_t>(rows);
    table = carver.array<Slot>(slots);
  }
  void clear(cudaStream_t stream) const {
    cudaMemsetAsync(table, 0xff, static_cast<size_t>(slots) * sizeof(Slot), stream);
  }
  __device__ void enter(int64_t row, int64_t position) const {
    if (position < 0) {
      slot_of[row] = -1;
      return;
    }
    const auto wanted = static_cast<unsigned long long>(position);
    uint64_t slot = (wanted * 0x9e3779b97f4a7c15ull) >> 20 & static_cast<uint64_t>(slots - 1);
    for (;; slot = (slot + 1) & static_cast<uint64_t>(slots - 1)) {
      const unsigned long long found = atomicCAS(&table[slot].position, ~0ull, wanted);
      if (found == ~0ull || found == wanted) break;
    }
    atomicMin(&table[slot].first, static_cast<unsigned long long>(row));
    atomicMax(&table[slot].last, static_cast<long long>(row));
    slot_of[row] = static_cast<int64_t>(slot);
  }
};

/// Which row of indices is the last one to name each position, where there are few positions for a
/// row: it is then no larger than a PositionTable.
struct LastRows {
  int64_t positions;
  uint32_t* last;  // 1 + the row, 0 where there is none

  LastRows(const ScatterBlocksShape& shape, Carver& carver)
      : positions(shape.block == 0 ? 0 : shape.data.volume() / shape.block),
        last(carver.array<uint32_t>(positions)) {}
  /// Whether there are positions, and few of them. Elements are counted in 32 bits.
  static bool suits(const ScatterBlocksShape& shape) {
    constexpr int64_t kPositions = 8;  // for a row
    const int64_t elements = shape.data.volume();
    return elements > 0 && elements / shape.block <= kPositions * shape.tuples
           && elements <= INT32_MAX && shape.tuples < UINT32_MAX;
  }
  void clear(cudaStream_t stream) const {
    cudaMemsetAsync(last, 0, static_cast<size_t>(positions) * sizeof(uint32_t), stream);
  }
  __device__ void enter(int64_t row, int64_t position) const {
    if (position >= 0) atomicMax(last + position, static_cast<uint32_t>(row) + 1);
  }
};

inline size_t ScatterBlocksShape::workspace() const {
  Carver carver;
  PositionTable(tuples, carver);
  return carver.bytes();
}

/// Enters where the block of a row of indices lies; -1 if an index is outside.
template <class I, class Table> struct EnterPosition {
  ScatterBlocksShape shape;
  const I* indices;
  Table table;

  __device__ void operator()(int64_t i) const {
    int64_t position = 0;
    for (int64_t k = 0; k < shape.width && position >= 0; ++k) {
      const int64_t extent = shape.data[static_cast<int>(k)];
      const int64_t at = position_of(indices[i * shape.width + k], extent);
      position = at < 0 ? -1 : position * extent + at;
    }
    table.enter(i, position);
  }
};

/// Elements of the result, in packs: those of the last update of their position, or the data's.
template <class E, int count> struct ReplacedElements {
  LastRows rows;
  uint32_t block;
  const E *data, *updates;
  E* out;

  __device__ void operator()(int64_t i) const {
    const auto first = static_cast<uint32_t>(i) * count, position = first / block;
    const uint32_t last = rows.last[position];
    const E* from = data + first;
    if (last > 0) from = updates + int64_t{last - 1} * block + (first - position * block);
    Pack<E, count>::load(from).store(out + first);
  }
};

/// An element of an update that meets no other one, or that counts as the last one.
template <Reduction reduction, class E> struct ScatterLone {
  PositionTable table;
  int64_t block;
  const E* updates;
  E* out;

  __device__ void operator()(int64_t i) const {
    const int64_t row = i / block, at = table.slot_of[row];
    if (at < 0) return;
    const PositionTable::Slot& slot = table.table[at];
    if (slot.last != row) return;
    if (reduction != Reduction::kNone && slot.first != static_cast<uint64_t>(row)) return;
    E& target = out[static_cast<int64_t>(slot.position) * block + i % block];
    target = combined<reduction>(target, updates[i]);
  }
};

/// The first update of a position brings all others that meet there.
template <Reduction reduction, class E> struct ScatterMeeting {
  PositionTable table;
  int64_t block;
  const E* updates;
  E* out;

  __device__ void operator()(const kit::Team& team, int64_t i) const {
    const int64_t at = table.slot_of[i];
    if (at < 0 || table.table[at].first != static_cast<uint64_t>(i)) return;
    const int64_t last = table.table[at].last;
    if (last == i) return;
    E* const to = out + static_cast<int64_t>(table.table[at].position) * block;
    for (int64_t j = i; j <= last; j = next(team, at, j + 1, last + 1))
      team.each(block,
                [&](int64_t k) { to[k] = combined<reduction>(to[k], updates[j * block + k]); });
  }

 private:
  // The first of [begin, end) with this slot; `end` when there is none.
  __device__ int64_t next(const kit::Team& team, int64_t slot, int64_t begin, int64_t end) const {
    for (; begin < end; begin += kit::Team::kThreads) {
      const int64_t found = team.reduce(
          end - begin < kit::Team::kThreads ? end - begin : kit::Team::kThreads, end,
          [](int64_t a, int64_t b) { return a < b ? a : b; },
          [&](int64_t i) { return table.slot_of[begin + i] == slot ? begin + i : end; });
      if (found < end) return found;
    }
    return end;
  }
};

template <Reduction reduction, class E, class I>
void scatter_blocks(const kit::Device& device, const ScatterBlocksShape& shape, const E* data,
                    const I* indices, const E* updates, void* workspace, E* out) {
  Carver carver(workspace);
  if (reduction == Reduction::kNone && LastRows::suits(shape)) {
    const LastRows rows(shape, carver);
    rows.clear(device.stream);
    device.parallel_for(shape.tuples, EnterPosition<I, LastRows>{shape, indices, rows});
    const auto block = static_cast<uint32_t>(shape.block);
    const int64_t elements = shape.data.volume();
    constexpr int kPack = Pack<E>::kCount;
    if (Pack<E>::divides(data, block) && Pack<E>::divides(updates, block)
        && Pack<E>::divides(out, block))
      device.parallel_for(elements / kPack,
                          ReplacedElements<E, kPack>{rows, block, data, updates, out});
    else
      device.parallel_for(elements, ReplacedElements<E, 1>{rows, block, data, updates, out});
    return;
  }
  copy(device, data, out, shape.data.volume());
  if (shape.block == 0 || shape.tuples == 0) return;
  const PositionTable table(shape.tuples, carver);
  table.clear(device.stream);
  device.parallel_for(shape.tuples, EnterPosition<I, PositionTable>{shape, indices, table});
  device.parallel_for(shape.tuples * shape.block,
                      ScatterLone<reduction, E>{table, shape.block, updates, out});
  if constexpr (reduction != Reduction::kNone)
    device.parallel_rows(shape.tuples,
                         ScatterMeeting<reduction, E>{table, shape.block, updates, out});
}

}  // namespace tenon::kernels::inline TENON_TARGET
#endif
