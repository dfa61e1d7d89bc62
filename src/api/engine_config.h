// ISerializationConfig and IRuntimeConfig: settings that an engine's functions take.
#pragma once

#include <NvInfer.h>

#include "api/guard.h"
#include "api/live.h"

namespace tenon {

class SerializationConfig final : public nvinfer1::ISerializationConfig,
                                  public nvinfer1::apiv::VSerializationConfig,
                                  public Live<SerializationConfig, nvinfer1::ISerializationConfig> {
 public:
  SerializationConfig() : Live(this, this) { mImpl = this; }
  bool setFlags(nvinfer1::SerializationFlags flags) noexcept override {
    if (flags >> nvinfer1::EnumMax<nvinfer1::SerializationFlag>() != 0) return false;
    flags_ = flags;
    return true;
  }
  nvinfer1::SerializationFlags getFlags() const noexcept override { return flags_; }
  bool clearFlag(nvinfer1::SerializationFlag flag) noexcept override {
    return setFlags(flags_ & ~mask(flag));
  }
  bool setFlag(nvinfer1::SerializationFlag flag) noexcept override {
    return mask(flag) != 0 && setFlags(flags_ | mask(flag));
  }
  bool getFlag(nvinfer1::SerializationFlag flag) const noexcept override {
    return (flags_ & mask(flag)) != 0;
  }

 private:
  static uint32_t mask(nvinfer1::SerializationFlag flag) {
    const auto bit = static_cast<uint32_t>(flag);
    return bit < 32 ? 1u << bit : 0;
  }
  nvinfer1::SerializationFlags flags_ = 0;
};

class RuntimeConfig final : public nvinfer1::IRuntimeConfig,
                            public nvinfer1::apiv::VRuntimeConfig,
                            public Live<RuntimeConfig, nvinfer1::IRuntimeConfig> {
 public:
  using Strategy = nvinfer1::ExecutionContextAllocationStrategy;

  explicit RuntimeConfig(const Reporter& reporter) : Live(this, this), reporter_(reporter) {
    mImpl = this;
  }
  nvinfer1::IRuntimeConfig* getPImpl() noexcept override { return this; }
  void setExecutionContextAllocationStrategy(Strategy strategy) noexcept override {
    reporter_.run([&] { strategy_ = checked(strategy); });
  }
  Strategy getExecutionContextAllocationStrategy() const noexcept override { return strategy_; }

 private:
  Reporter reporter_;
  Strategy strategy_ = Strategy::kSTATIC;
};

}  // namespace tenon
