// ITensor: a view of a Value of the network.
#pragma once

#include <NvInfer.h>

#include <optional>

#include "api/guard.h"
#include "network/network.h"

namespace tenon {

class NetworkDefinition;

/// Extents for the application: -1 where they are known only at run time.
nvinfer1::Dims public_dims(const Dims& dims);

class NetworkTensor final : public nvinfer1::ITensor, public nvinfer1::apiv::VTensor {
 public:
  NetworkTensor(NetworkDefinition& owner, Value& value) : owner_(owner), value_(value) {
    mImpl = this;
  }
  Value& value() const { return value_; }

  void setName(const char* name) noexcept override;
  const char* getName() const noexcept override { return value_.name.c_str(); }
  void setDimensions(const nvinfer1::Dims& dimensions) noexcept override;
  nvinfer1::Dims getDimensions() const noexcept override;
  void setType(DataType type) noexcept override;
  DataType getType() const noexcept override;
  bool setDynamicRange(float min, float max) noexcept override;
  bool isNetworkInput() const noexcept override { return value_.is_input; }
  bool isNetworkOutput() const noexcept override { return value_.is_output; }
  void setBroadcastAcrossBatch(bool shared) noexcept override;
  bool getBroadcastAcrossBatch() const noexcept override { return shared_; }
  nvinfer1::TensorLocation getLocation() const noexcept override;
  void setLocation(nvinfer1::TensorLocation location) noexcept override;
  bool dynamicRangeIsSet() const noexcept override { return range_.has_value(); }
  void resetDynamicRange() noexcept override { range_.reset(); }
  float getDynamicRangeMin() const noexcept override;
  float getDynamicRangeMax() const noexcept override;
  void setAllowedFormats(nvinfer1::TensorFormats formats) noexcept override;
  nvinfer1::TensorFormats getAllowedFormats() const noexcept override {
    return value_.allowed_formats;
  }
  bool isShapeTensor() const noexcept override;
  bool isExecutionTensor() const noexcept override;
  void setDimensionName(int32_t index, const char* name) noexcept override;
  const char* getDimensionName(int32_t index) const noexcept override;

 private:
  const Reporter& reporter() const;

  NetworkDefinition& owner_;
  Value& value_;
  struct Range {
    float min, max;
  };
  std::optional<Range> range_;
  bool shared_ = false;
};

}  // namespace tenon
