/// Sorting in a stream.
#pragma once
#pragma GCC system_header

#include "cub/device/device.cuh"
#include "cub/operators.cuh"
#include "cub/sort.cuh"

namespace cub {

template <class K, class V>
cudaError_t sort_all(void* storage, std::size_t& bytes, const K* keys, K* keys_out, const V* values,
                     V* values_out, std::size_t count, bool is_descending, int begin, int end,
                     cudaStream_t stream) {
  return in_stream(storage, bytes, stream, [=] {
    sorting::sort<K, V>(keys, keys_out, values, values_out, count, is_descending, begin, end);
  });
}
/// The same from one half of each buffer into the other, which becomes the current one.
template <class K, class V>
cudaError_t sort_buffers(void* storage, std::size_t& bytes, DoubleBuffer<K>& keys,
                         DoubleBuffer<V>& values, std::size_t count, bool is_descending, int begin,
                         int end, cudaStream_t stream) {
  const K* const from_keys = keys.Current();
  const V* const from_values = values.Current();
  const cudaError_t error = sort_all(storage, bytes, from_keys, keys.Alternate(), from_values,
                                     values.Alternate(), count, is_descending, begin, end, stream);
  if (storage) keys.selector ^= 1;
  if (storage) values.selector ^= 1;
  return error;
}

struct DeviceRadixSort {
  template <class K, class V, class N>
  static cudaError_t SortPairs(void* storage, std::size_t& bytes, const K* keys_in, K* keys_out,
                               const V* values_in, V* values_out, N count, int begin = 0,
                               int end = sizeof(K) * 8, cudaStream_t stream = nullptr,
                               bool = false) {
    return sort_all(storage, bytes, keys_in, keys_out, values_in, values_out,
                    static_cast<std::size_t>(count), false, begin, end, stream);
  }
  template <class K, class V, class N>
  static cudaError_t SortPairs(void* storage, std::size_t& bytes, DoubleBuffer<K>& keys,
                               DoubleBuffer<V>& values, N count, int begin = 0,
                               int end = sizeof(K) * 8, cudaStream_t stream = nullptr,
                               bool = false) {
    return sort_buffers(storage, bytes, keys, values, static_cast<std::size_t>(count), false, begin,
                        end, stream);
  }
  template <class K, class V, class N>
  static cudaError_t SortPairsDescending(void* storage, std::size_t& bytes, const K* keys_in,
                                         K* keys_out, const V* values_in, V* values_out, N count,
                                         int begin = 0, int end = sizeof(K) * 8,
                                         cudaStream_t stream = nullptr, bool = false) {
    return sort_all(storage, bytes, keys_in, keys_out, values_in, values_out,
                    static_cast<std::size_t>(count), true, begin, end, stream);
  }
  template <class K, class V, class N>
  static cudaError_t SortPairsDescending(void* storage, std::size_t& bytes, DoubleBuffer<K>& keys,
                                         DoubleBuffer<V>& values, N count, int begin = 0,
                                         int end = sizeof(K) * 8, cudaStream_t stream = nullptr,
                                         bool = false) {
    return sort_buffers(storage, bytes, keys, values, static_cast<std::size_t>(count), true, begin,
                        end, stream);
  }
  template <class K, class N>
  static cudaError_t SortKeys(void* storage, std::size_t& bytes, const K* keys_in, K* keys_out,
                              N count, int begin = 0, int end = sizeof(K) * 8,
                              cudaStream_t stream = nullptr, bool = false) {
    return sort_all(storage, bytes, keys_in, keys_out, static_cast<const char*>(nullptr),
                    static_cast<char*>(nullptr), static_cast<std::size_t>(count), false, begin, end,
                    stream);
  }
  template <class K, class N>
  static cudaError_t SortKeys(void* storage, std::size_t& bytes, DoubleBuffer<K>& keys, N count,
                              int begin = 0, int end = sizeof(K) * 8, cudaStream_t stream = nullptr,
                              bool = false) {
    DoubleBuffer<char> none;
    return sort_buffers(storage, bytes, keys, none, static_cast<std::size_t>(count), false, begin,
                        end, stream);
  }
  template <class K, class N>
  static cudaError_t SortKeysDescending(void* storage, std::size_t& bytes, const K* keys_in,
                                        K* keys_out, N count, int begin = 0,
                                        int end = sizeof(K) * 8, cudaStream_t stream = nullptr,
                                        bool = false) {
    return sort_all(storage, bytes, keys_in, keys_out, static_cast<const char*>(nullptr),
                    static_cast<char*>(nullptr), static_cast<std::size_t>(count), true, begin, end,
                    stream);
  }
  template <class K, class N>
  static cudaError_t SortKeysDescending(void* storage, std::size_t& bytes, DoubleBuffer<K>& keys,
                                        N count, int begin = 0, int end = sizeof(K) * 8,
                                        cudaStream_t stream = nullptr, bool = false) {
    DoubleBuffer<char> none;
    return sort_buffers(storage, bytes, keys, none, static_cast<std::size_t>(count), true, begin,
                        end, stream);
  }
};

}  // namespace cub
