/// Stands in for NVIDIA's libcudart.so.13 in a test: it writes down how it was called. It lacks
/// most functions. The environment variable STAND_IN_DEVICES is the number of GPUs, or minus an
/// error, and STAND_IN_DRIVER the newest CUDA of the driver, 12040 for 12.4.
#include <cuda_runtime_api.h>

#include <cstdlib>
#include <mutex>
#include <sstream>
#include <string>
#include <vector>

namespace {

std::mutex mutex;
std::string calls;
/// While it is set, every stream is being captured into this graph.
cudaGraph_t capture = nullptr;
struct Pending {
  cudaHostFn_t function;
  void* data;
};
std::vector<Pending> recorded, retained;

template <class... Args> void note(const char* name, Args... args) {
  std::ostringstream line;
  line << name;
  ((line << ' ' << args), ...);
  const std::lock_guard lock(mutex);
  calls += line.str() + "\n";
}

}  // namespace

#pragma GCC visibility push(default)
extern "C" {
// For the test.
const char* stand_in_calls() {
  return calls.c_str();
}
void stand_in_capture(cudaGraph_t graph) {
  capture = graph;
}
void stand_in_launch_graph() {
  for (const Pending& call : recorded) call.function(call.data);
}
void stand_in_destroy_graph() {
  for (const Pending& object : retained) object.function(object.data);
}

cudaError_t cudaGetDeviceCount(int* count) {
  const char* text = std::getenv("STAND_IN_DEVICES");
  const int devices = text ? std::atoi(text) : 1;
  *count = devices < 0 ? 0 : devices;
  return devices < 0 ? static_cast<cudaError_t>(-devices) : cudaSuccess;
}
cudaError_t cudaDriverGetVersion(int* version) {
  const char* text = std::getenv("STAND_IN_DRIVER");
  *version = text ? std::atoi(text) : 0;
  return cudaSuccess;
}
const char* cudaGetErrorName(cudaError_t error) {
  return error == cudaSuccess ? "no error" : "an error";
}
const char* cudaGetErrorString(cudaError_t error) {
  return error == cudaErrorInsufficientDriver ? "the driver is too old" : "another error";
}

cudaError_t cudaMalloc(void** pointer, size_t bytes) {
  note("cudaMalloc", bytes);
  *pointer = reinterpret_cast<void*>(0x1000);
  return cudaSuccess;
}
cudaError_t cudaMemcpy2DAsync(void* to, size_t to_pitch, const void* from, size_t from_pitch,
                              size_t width, size_t height, cudaMemcpyKind kind,
                              cudaStream_t stream) {
  note("cudaMemcpy2DAsync", to, to_pitch, from, from_pitch, width, height, kind, stream);
  return cudaErrorInvalidPitchValue;
}
cudaError_t cudaLaunchKernel(const void* function, dim3 grid, dim3 block, void** arguments,
                             size_t shared_bytes, cudaStream_t stream) {
  note("cudaLaunchKernel", function, grid.x, grid.y, grid.z, block.x, block.y, block.z, arguments,
       shared_bytes, stream);
  return cudaSuccess;
}

cudaError_t cudaStreamIsCapturing(cudaStream_t, cudaStreamCaptureStatus* status) {
  *status = capture ? cudaStreamCaptureStatusActive : cudaStreamCaptureStatusNone;
  return cudaSuccess;
}
cudaError_t cudaStreamGetCaptureInfo(cudaStream_t stream, cudaStreamCaptureStatus* status,
                                     unsigned long long*, cudaGraph_t* graph,
                                     const cudaGraphNode_t**, const cudaGraphEdgeData**, size_t*) {
  *graph = capture;
  return cudaStreamIsCapturing(stream, status);
}
cudaError_t cudaLaunchHostFunc(cudaStream_t, cudaHostFn_t function, void* data) {
  if (capture)
    recorded.push_back({function, data});
  else
    function(data);
  return cudaSuccess;
}
struct UserObject : Pending {};
cudaError_t cudaUserObjectCreate(UserObject** object, void* data, cudaHostFn_t destroy,
                                 unsigned references, unsigned flags) {
  note("cudaUserObjectCreate", references, flags);
  *object = new UserObject{{destroy, data}};
  return cudaSuccess;
}
cudaError_t cudaGraphRetainUserObject(cudaGraph_t graph, UserObject* object, unsigned references,
                                      unsigned flags) {
  note("cudaGraphRetainUserObject", graph, references, flags);
  retained.push_back(*object);
  delete object;
  return cudaSuccess;
}

void** __cudaRegisterFatBinary(void* binary) {
  note("__cudaRegisterFatBinary", binary);
  return reinterpret_cast<void**>(0x2000);
}
void __cudaRegisterFunction(void** handle, const char* function, char*, const char* name,
                            int thread_limit, uint3*, uint3*, dim3*, dim3*, int* warp_size) {
  note("__cudaRegisterFunction", handle, static_cast<const void*>(function), name, thread_limit,
       warp_size);
}
void __cudaUnregisterFatBinary(void** handle) {
  note("__cudaUnregisterFatBinary", handle);
}
}
#pragma GCC visibility pop
