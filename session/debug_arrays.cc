#include "tenon/session/debug_arrays.h"

#include <cuda_runtime_api.h>
#include <tenon/printable.h>

#include "guard.h"

namespace tenon::session {
namespace {

void check(cudaError_t status) {
  if (status != cudaSuccess) throw Error{cudaGetErrorString(status)};
}

}  // namespace

bool DebugArrays::processDebugTensor(const void* address, nvinfer1::TensorLocation location,
                                     nvinfer1::DataType type, const nvinfer1::Dims& shape,
                                     const char* name, cudaStream_t stream) {
  const auto taken = guard([&] {
    check(cudaStreamSynchronize(stream));
    Array array = value_of(make_array(type, to_shape(shape)));
    const auto kind = location == nvinfer1::TensorLocation::kDEVICE ? cudaMemcpyDeviceToHost
                                                                    : cudaMemcpyHostToHost;
    check(cudaMemcpy(array.bytes.data(), address, array.bytes.size(), kind));
    value_of(take_(name, std::move(array)));
  });
  if (!taken && failure_.empty())
    failure_ = "debug tensor '" + printable(name) + "': " + taken.error();
  return bool(taken);
}

}  // namespace tenon::session
