// What every plugin and plugin creator is made of.
#ifndef NV_INFER_PLUGIN_BASE_H
#define NV_INFER_PLUGIN_BASE_H

#include "NvInferRuntimeBase.h"

namespace nvinfer1 {

enum class PluginFieldType : int32_t {
  kFLOAT16 = 0,
  kFLOAT32 = 1,
  kFLOAT64 = 2,
  kINT8 = 3,
  kINT16 = 4,
  kINT32 = 5,
  kCHAR = 6,
  kDIMS = 7,
  kUNKNOWN = 8,
  kBF16 = 9,
  kINT64 = 10,
  kFP8 = 11,
  kINT4 = 12,
  kFP4 = 13,
};

template <>
struct impl::EnumMaxImpl<PluginFieldType> {
  static constexpr int32_t kVALUE = 14;
};

class PluginField {
 public:
  const AsciiChar* name;
  const void* data;
  PluginFieldType type;
  int32_t length;

  PluginField(const AsciiChar* name_ = nullptr, const void* data_ = nullptr,
              PluginFieldType type_ = PluginFieldType::kUNKNOWN, int32_t length_ = 0) noexcept
      : name(name_), data(data_), type(type_), length(length_) {}
};

struct PluginFieldCollection {
  int32_t nbFields;
  const PluginField* fields;
};

enum class TensorRTPhase : int32_t {
  kBUILD = 0,
  kRUNTIME = 1,
};

template <>
struct impl::EnumMaxImpl<TensorRTPhase> {
  static constexpr int32_t kVALUE = 2;
};

enum class PluginCapabilityType : int32_t {
  kCORE = 0,
  kBUILD = 1,
  kRUNTIME = 2,
};

template <>
struct impl::EnumMaxImpl<PluginCapabilityType> {
  static constexpr int32_t kVALUE = 3;
};

namespace v_1_0 {
class IPluginCapability : public IVersionedInterface {};
}  // namespace v_1_0
using IPluginCapability = v_1_0::IPluginCapability;

namespace v_1_0 {
class IPluginResource : public IVersionedInterface {
 public:
  InterfaceInfo getInterfaceInfo() const noexcept override { return {"IPluginResource", 1, 0}; }
  virtual int32_t release() noexcept = 0;
  virtual IPluginResource* clone() noexcept = 0;
  ~IPluginResource() noexcept override = default;
};
}  // namespace v_1_0
using IPluginResource = v_1_0::IPluginResource;

namespace v_1_0 {
class IPluginCreatorInterface : public IVersionedInterface {
 public:
  ~IPluginCreatorInterface() noexcept override = default;
};
}  // namespace v_1_0
using IPluginCreatorInterface = v_1_0::IPluginCreatorInterface;

namespace v_1_0 {
class IPluginV3 : public IVersionedInterface {
 public:
  InterfaceInfo getInterfaceInfo() const noexcept override { return {"PLUGIN", 1, 0}; }
  virtual IPluginCapability* getCapabilityInterface(PluginCapabilityType type) noexcept = 0;
  virtual IPluginV3* clone() noexcept = 0;
};
}  // namespace v_1_0
using IPluginV3 = v_1_0::IPluginV3;

}  // namespace nvinfer1

#endif  // NV_INFER_PLUGIN_BASE_H
