/// What an engine needs from the host runtime beyond CUDA's API: to put its own work into streams.
#pragma once

#include <cuda_runtime_api.h>

namespace tenon::cudart {

/// Whether CUDA's functions are NVIDIA's in this process, and memory and streams a GPU's; else they
/// work on host memory. Decided at the first use of any of them, for good. Builds without the CUDA
/// target are never on a GPU. `TENON_TARGET=cpu` keeps the others off it; `TENON_CUDART` says where
/// NVIDIA's library is, if the loader does not find `libcudart.so.13`.
bool on_gpu() noexcept;

/// Why the process is not on a GPU, in words; "" if it is. The text lives as long as the process.
const char* why_not_on_gpu() noexcept;

/// Puts `run(data)` into a stream and returns at once; nothing is allocated at a steady depth.
///
/// `run` may call the runtime. What it puts into this stream or a default stream runs at once, in
/// place, so a plugin can be given the very stream that `run` is called by. It may wait for other
/// streams and for events, but not for the device. An exception that escapes from `run` counts as
/// `cudaErrorLaunchFailure`.
///
/// `release(data)`, if given, is called once when the stream no longer needs `data`: after `run`,
/// or, if the stream was being captured, when the last graph that holds the call is gone (`run` is
/// then called at every launch). It is not called when this function fails, nor for work that is
/// dropped because the process ends.
///
/// On a GPU it is `cudaLaunchHostFunc`: `run` and `release` must not call CUDA, and an exception
/// that escapes from `run` is lost.
/// @returns `cudaErrorInvalidResourceHandle` for a handle that is no stream, the capture's error if
///   the stream's capture was invalidated, `cudaErrorOperatingSystem` without a thread to run it.
cudaError_t enqueue(cudaStream_t stream, void (*run)(void*), void* data,
                    void (*release)(void*) = nullptr) noexcept;

/// Called within `run`: the stream reports this error at its next synchronisation, and so do
/// streams that wait for it. The first error is kept. Elsewhere, and on a GPU, it does nothing.
void report_failure(cudaError_t error) noexcept;

/// Whether the stream records instead of running. False for a handle that is no stream.
bool is_capturing(cudaStream_t stream) noexcept;

/// While it lives, the calling thread does the stream's work: what this thread puts into the stream
/// or into a default stream runs at once, in place. For execution without a hop to the worker. On a
/// GPU it does nothing.
/// @pre the stream is idle, and no other thread puts work into it meanwhile.
class __attribute__((visibility("default"))) InPlace {
 public:
  explicit InPlace(cudaStream_t stream) noexcept;
  ~InPlace();
  InPlace(const InPlace&) = delete;
  InPlace& operator=(const InPlace&) = delete;

 private:
  void* previous_;
};

/// The kernel whose launch was refused last on this thread, demangled, or "" if there is none.
/// The text lives until the next refusal on this thread.
const char* refused_kernel() noexcept;

/// Forgets it, so that a caller can tell whether a plugin tried to launch one.
void forget_refused_kernel() noexcept;

/// Keeps a failure as the calling thread's last error, and returns it. On a GPU it does nothing.
cudaError_t keep_error(cudaError_t error) noexcept;

/// What runs kernels that are compiled for the host: their functions' addresses name them.
struct HostKernels {
  /// As cudaLaunchKernel.
  cudaError_t (*launch)(const void* function, dim3 grid, dim3 block, void** arguments,
                        size_t shared_bytes, cudaStream_t stream);
  /// As cudaFuncGetAttributes and cudaFuncSetAttribute.
  cudaError_t (*attributes)(struct cudaFuncAttributes* attributes, const void* function);
  cudaError_t (*set_attribute)(const void* function, enum cudaFuncAttribute attribute, int value);
};

/// From now on, functions that are not known as device code are such kernels. Once per process.
void serve_kernels(const HostKernels& kernels) noexcept;

}  // namespace tenon::cudart
