#include <cub/device/device_radix_sort.cuh>

#include "cuda/sort.h"

namespace tenon::cuda {
namespace {

cudaError_t sort(SortedPairs& pairs, int64_t count, int bits, void* scratch, size_t& bytes,
                 cudaStream_t stream) {
  cub::DoubleBuffer<uint64_t> keys(pairs.keys, pairs.other_keys);
  cub::DoubleBuffer<uint32_t> values(pairs.values, pairs.other_values);
  const cudaError_t status = cub::DeviceRadixSort::SortPairs(
      scratch, bytes, keys, values, static_cast<int>(count), 0, bits, stream);
  pairs = {keys.Current(), keys.Alternate(), values.Current(), values.Alternate()};
  return status;
}

}  // namespace

size_t sort_scratch_bytes(int64_t count) {
  SortedPairs none = {};
  size_t bytes = 0;
  sort(none, count, 64, nullptr, bytes, nullptr);
  return bytes;
}

void launch_sort(SortedPairs& pairs, int64_t count, int bits, void* scratch, size_t scratch_bytes,
                 cudaStream_t stream) {
  sort(pairs, count, bits, scratch, scratch_bytes, stream);
}

}  // namespace tenon::cuda
