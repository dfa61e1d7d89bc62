// Device memory of a test: on a GPU the host cannot read it.
#pragma once

#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

namespace tenon::testing {

/// Bytes on the device, freed at the end; never null.
class DeviceArray {
 public:
  explicit DeviceArray(size_t bytes) {
    EXPECT_EQ(cudaMalloc(&data_, std::max<size_t>(bytes, 1)), cudaSuccess);
  }
  DeviceArray(const void* from, size_t bytes) : DeviceArray(bytes) {
    EXPECT_EQ(cudaMemcpy(data_, from, bytes, cudaMemcpyHostToDevice), cudaSuccess);
  }
  DeviceArray(const DeviceArray&) = delete;
  DeviceArray& operator=(const DeviceArray&) = delete;
  ~DeviceArray() { cudaFree(data_); }
  void* data() const { return data_; }

 private:
  void* data_ = nullptr;
};

/// A copy on the host of what is on the device.
template <class T> std::vector<T> on_host(const void* data, size_t count) {
  std::vector<T> values(count);
  EXPECT_EQ(cudaMemcpy(values.data(), data, count * sizeof(T), cudaMemcpyDeviceToHost),
            cudaSuccess);
  return values;
}

}  // namespace tenon::testing
