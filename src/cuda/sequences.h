// Layers on sequences as their .cu file has them.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

namespace tenon::cuda {

/// A tensor of int32, or int64 if is_wide; null if it was left out.
struct Integers {
  const void* data;
  bool is_wide;
};

/// Blocks of bytes, of which the first ones of each sequence change their order. The block of a
/// sequence's next time is `time_step` blocks behind; lengths outside of [0, times] count as the
/// nearest that is not.
struct ReversedSequences {
  const void* source;
  void* target;
  Integers lengths;
  int64_t blocks, bytes;
  int64_t time_step, times, batch_step, batches;
};
void launch_reverse(const ReversedSequences& sequences, cudaStream_t stream);

/// `rows` of `added` blocks of bytes each, that are written into rows of `length` blocks from a
/// position on that each batch has. What would lie outside is left out, or goes to the other end.
struct CachedRows {
  const void* source;
  void* target;
  Integers positions;
  int64_t rows, rows_per_batch, added, length, bytes;
  bool circular;
};
void launch_cache_update(const CachedRows& rows, cudaStream_t stream);

/// (batches, heads, length, size) elements of a float type, of which pairs are rotated. Positions
/// outside of the tables leave the elements as they are.
struct RotatedPairs {
  int32_t type;  // a DataType
  const void *source, *cosines, *sines;
  void* target;
  Integers positions;
  int64_t batches, heads, length, size, pairs;
  int64_t batch_step;  // rows of the tables, without positions
  int64_t table_rows;
  bool interleaved;
};
void launch_rotation(const RotatedPairs& pairs, cudaStream_t stream);

}  // namespace tenon::cuda
