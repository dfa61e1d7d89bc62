// Bytes that the library hands out and the application deletes.
#pragma once

#include <NvInfer.h>

#include <vector>

namespace tenon {

class HostMemory final : public nvinfer1::IHostMemory, public nvinfer1::apiv::VHostMemory {
 public:
  explicit HostMemory(std::vector<std::byte> bytes) : bytes_(std::move(bytes)) { mImpl = this; }
  void* data() const noexcept override { return const_cast<std::byte*>(bytes_.data()); }
  size_t size() const noexcept override { return bytes_.size(); }
  nvinfer1::DataType type() const noexcept override { return nvinfer1::DataType::kINT8; }

 private:
  std::vector<std::byte> bytes_;
};

}  // namespace tenon
