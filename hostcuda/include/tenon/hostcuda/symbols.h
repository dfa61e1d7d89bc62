/// Functions of the runtime API that nvcc's C++ headers have: symbols, typed launches, occupancy.
#pragma once
#pragma GCC system_header

#include <cuda_runtime.h>

#include <algorithm>
#include <memory>
#include <tuple>
#include <type_traits>
#include <utility>

#include "tenon/hostcuda/launch.h"

namespace tenon::hostcuda {

/// Variables of the device are the host's, too. The copy keeps its place in the stream.
inline cudaError_t copy_symbol(void* to, const void* from, std::size_t bytes, cudaStream_t stream,
                               bool waits) {
  const cudaError_t error = cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, stream);
  return error != cudaSuccess || !waits ? error : cudaStreamSynchronize(stream);
}
template <class T> const char* address_of(const T& symbol) {
  return reinterpret_cast<const char*>(std::addressof(symbol));
}
template <class T>
cudaError_t to_symbol(const T& symbol, const void* from, std::size_t bytes, std::size_t offset,
                      cudaStream_t stream, bool waits) {
  if (offset > sizeof(T) || bytes > sizeof(T) - offset) return cudaErrorInvalidValue;
  return copy_symbol(const_cast<char*>(address_of(symbol)) + offset, from, bytes, stream, waits);
}
template <class T>
cudaError_t from_symbol(void* to, const T& symbol, std::size_t bytes, std::size_t offset,
                        cudaStream_t stream, bool waits) {
  if (offset > sizeof(T) || bytes > sizeof(T) - offset) return cudaErrorInvalidValue;
  return copy_symbol(to, address_of(symbol) + offset, bytes, stream, waits);
}

}  // namespace tenon::hostcuda

template <class T>
cudaError_t cudaMemcpyToSymbol(const T& symbol, const void* from, std::size_t bytes,
                               std::size_t offset = 0, cudaMemcpyKind = cudaMemcpyHostToDevice) {
  return tenon::hostcuda::to_symbol(symbol, from, bytes, offset, nullptr, true);
}
template <class T>
cudaError_t cudaMemcpyToSymbolAsync(const T& symbol, const void* from, std::size_t bytes,
                                    std::size_t offset, cudaMemcpyKind,
                                    cudaStream_t stream = nullptr) {
  return tenon::hostcuda::to_symbol(symbol, from, bytes, offset, stream, false);
}
template <class T>
cudaError_t cudaMemcpyFromSymbol(void* to, const T& symbol, std::size_t bytes,
                                 std::size_t offset = 0, cudaMemcpyKind = cudaMemcpyDeviceToHost) {
  return tenon::hostcuda::from_symbol(to, symbol, bytes, offset, nullptr, true);
}
template <class T>
cudaError_t cudaMemcpyFromSymbolAsync(void* to, const T& symbol, std::size_t bytes,
                                      std::size_t offset, cudaMemcpyKind,
                                      cudaStream_t stream = nullptr) {
  return tenon::hostcuda::from_symbol(to, symbol, bytes, offset, stream, false);
}
/// The memory counts as pinned from then on: copies may name it as the device's.
template <class T> cudaError_t cudaGetSymbolAddress(void** address, const T& symbol) {
  *address = const_cast<char*>(tenon::hostcuda::address_of(symbol));
  const cudaError_t error = cudaHostRegister(*address, sizeof(T), cudaHostRegisterDefault);
  if (error == cudaErrorHostMemoryAlreadyRegistered) cudaGetLastError();
  return error == cudaErrorHostMemoryAlreadyRegistered ? cudaSuccess : error;
}
template <class T> cudaError_t cudaGetSymbolSize(std::size_t* size, const T&) {
  *size = sizeof(T);
  return cudaSuccess;
}

template <class... P, class... A>
cudaError_t cudaLaunchKernelEx(const cudaLaunchConfig_t* configuration, void (*kernel)(P...),
                               A&&... arguments) {
  std::tuple<tenon::hostcuda::Plain<P>...> values(std::forward<A>(arguments)...);
  return std::apply(
      [&](auto&... value) {
        void* addresses[] = {const_cast<void*>(static_cast<const void*>(&value))..., nullptr};
        return cudaLaunchKernelExC(configuration, reinterpret_cast<const void*>(kernel), addresses);
      },
      values);
}
template <class T>
cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int* blocks, T kernel,
                                                                   int block_size,
                                                                   std::size_t shared_bytes,
                                                                   unsigned) {
  return cudaOccupancyMaxActiveBlocksPerMultiprocessor(blocks, kernel, block_size, shared_bytes);
}
template <class T, class F>
cudaError_t cudaOccupancyMaxPotentialBlockSizeVariableSMem(int* grid_size, int* block_size,
                                                           T kernel, F shared_bytes, int most = 0) {
  cudaFuncAttributes attributes{};
  if (const cudaError_t error = cudaFuncGetAttributes(&attributes, kernel)) return error;
  const int limit = attributes.maxThreadsPerBlock;
  *block_size = most > 0 ? std::min(most, limit) : limit;
  int blocks = 0, processors = 0;
  if (const cudaError_t error = cudaOccupancyMaxActiveBlocksPerMultiprocessor(
          &blocks, kernel, *block_size, shared_bytes(*block_size)))
    return error;
  cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, 0);
  *grid_size = std::max(1, blocks) * processors;
  return cudaSuccess;
}
template <class T>
cudaError_t cudaOccupancyMaxPotentialBlockSize(int* grid_size, int* block_size, T kernel,
                                               std::size_t shared_bytes = 0, int most = 0) {
  return cudaOccupancyMaxPotentialBlockSizeVariableSMem(
      grid_size, block_size, kernel, [=](int) { return shared_bytes; }, most);
}
template <class T> cudaError_t cudaFuncSetCacheConfig(T* kernel, cudaFuncCache cache) {
  return ::cudaFuncSetCacheConfig(reinterpret_cast<const void*>(kernel), cache);
}
template <class T> cudaError_t cudaFuncSetSharedMemConfig(T*, int) {
  return cudaSuccess;
}
