/// Sorting of many segments in a stream.
#pragma once
#pragma GCC system_header

#include "cub/device/device.cuh"
#include "cub/operators.cuh"
#include "cub/sort.cuh"

namespace cub {

template <class K, class V, class Begin, class End>
cudaError_t sort_segments(void* storage, std::size_t& bytes, const K* keys, K* keys_out,
                          const V* values, V* values_out, std::size_t, int segments, Begin begins,
                          End ends, bool is_descending, int begin, int end, cudaStream_t stream) {
  return in_stream(storage, bytes, stream, [=] {
    for (int s = 0; s < segments; ++s) {
      const auto first = begins[s];
      sorting::sort<K, V>(keys + first, keys_out + first, values ? values + first : nullptr,
                          values_out ? values_out + first : nullptr,
                          static_cast<std::size_t>(ends[s] - first), is_descending, begin, end);
    }
  });
}

struct DeviceSegmentedRadixSort {
  template <class K, class V, class Begin, class End, class N>
  static cudaError_t SortPairs(void* storage, std::size_t& bytes, const K* keys_in, K* keys_out,
                               const V* values_in, V* values_out, N count, int segments,
                               Begin begins, End ends, int begin = 0, int end = sizeof(K) * 8,
                               cudaStream_t stream = nullptr, bool = false) {
    return sort_segments(storage, bytes, keys_in, keys_out, values_in, values_out,
                         static_cast<std::size_t>(count), segments, begins, ends, false, begin, end,
                         stream);
  }
  template <class K, class V, class Begin, class End, class N>
  static cudaError_t SortPairs(void* storage, std::size_t& bytes, DoubleBuffer<K>& keys,
                               DoubleBuffer<V>& values, N count, int segments, Begin begins,
                               End ends, int begin = 0, int end = sizeof(K) * 8,
                               cudaStream_t stream = nullptr, bool = false) {
    const cudaError_t error = sort_segments(
        storage, bytes, static_cast<const K*>(keys.Current()), keys.Alternate(),
        static_cast<const V*>(values.Current()), values.Alternate(),
        static_cast<std::size_t>(count), segments, begins, ends, false, begin, end, stream);
    if (storage) keys.selector ^= 1;
    if (storage) values.selector ^= 1;
    return error;
  }
  template <class K, class V, class Begin, class End, class N>
  static cudaError_t SortPairsDescending(void* storage, std::size_t& bytes, const K* keys_in,
                                         K* keys_out, const V* values_in, V* values_out, N count,
                                         int segments, Begin begins, End ends, int begin = 0,
                                         int end = sizeof(K) * 8, cudaStream_t stream = nullptr,
                                         bool = false) {
    return sort_segments(storage, bytes, keys_in, keys_out, values_in, values_out,
                         static_cast<std::size_t>(count), segments, begins, ends, true, begin, end,
                         stream);
  }
  template <class K, class V, class Begin, class End, class N>
  static cudaError_t SortPairsDescending(void* storage, std::size_t& bytes, DoubleBuffer<K>& keys,
                                         DoubleBuffer<V>& values, N count, int segments,
                                         Begin begins, End ends, int begin = 0,
                                         int end = sizeof(K) * 8, cudaStream_t stream = nullptr,
                                         bool = false) {
    const cudaError_t error = sort_segments(
        storage, bytes, static_cast<const K*>(keys.Current()), keys.Alternate(),
        static_cast<const V*>(values.Current()), values.Alternate(),
        static_cast<std::size_t>(count), segments, begins, ends, true, begin, end, stream);
    if (storage) keys.selector ^= 1;
    if (storage) values.selector ^= 1;
    return error;
  }
  template <class K, class Begin, class End, class N>
  static cudaError_t SortKeys(void* storage, std::size_t& bytes, const K* keys_in, K* keys_out,
                              N count, int segments, Begin begins, End ends, int begin = 0,
                              int end = sizeof(K) * 8, cudaStream_t stream = nullptr,
                              bool = false) {
    return sort_segments(storage, bytes, keys_in, keys_out, static_cast<const char*>(nullptr),
                         static_cast<char*>(nullptr), static_cast<std::size_t>(count), segments,
                         begins, ends, false, begin, end, stream);
  }
  template <class K, class Begin, class End, class N>
  static cudaError_t SortKeys(void* storage, std::size_t& bytes, DoubleBuffer<K>& keys, N count,
                              int segments, Begin begins, End ends, int begin = 0,
                              int end = sizeof(K) * 8, cudaStream_t stream = nullptr,
                              bool = false) {
    const cudaError_t error = sort_segments(
        storage, bytes, static_cast<const K*>(keys.Current()), keys.Alternate(),
        static_cast<const char*>(nullptr), static_cast<char*>(nullptr),
        static_cast<std::size_t>(count), segments, begins, ends, false, begin, end, stream);
    if (storage) keys.selector ^= 1;
    return error;
  }
  template <class K, class Begin, class End, class N>
  static cudaError_t SortKeysDescending(void* storage, std::size_t& bytes, const K* keys_in,
                                        K* keys_out, N count, int segments, Begin begins, End ends,
                                        int begin = 0, int end = sizeof(K) * 8,
                                        cudaStream_t stream = nullptr, bool = false) {
    return sort_segments(storage, bytes, keys_in, keys_out, static_cast<const char*>(nullptr),
                         static_cast<char*>(nullptr), static_cast<std::size_t>(count), segments,
                         begins, ends, true, begin, end, stream);
  }
  template <class K, class Begin, class End, class N>
  static cudaError_t SortKeysDescending(void* storage, std::size_t& bytes, DoubleBuffer<K>& keys,
                                        N count, int segments, Begin begins, End ends,
                                        int begin = 0, int end = sizeof(K) * 8,
                                        cudaStream_t stream = nullptr, bool = false) {
    const cudaError_t error = sort_segments(
        storage, bytes, static_cast<const K*>(keys.Current()), keys.Alternate(),
        static_cast<const char*>(nullptr), static_cast<char*>(nullptr),
        static_cast<std::size_t>(count), segments, begins, ends, true, begin, end, stream);
    if (storage) keys.selector ^= 1;
    return error;
  }
};

}  // namespace cub
