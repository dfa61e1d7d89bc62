// What every plugin and plugin creator is made of.
#ifndef NV_INFER_PLUGIN_BASE_H
#define NV_INFER_PLUGIN_BASE_H

#include "NvInferRuntimeBase.h"

namespace nvinfer1 {

/// The type of the values of a plugin's attribute.
enum class PluginFieldType : int32_t {
  kFLOAT16 = 0,
  kFLOAT32 = 1,
  kFLOAT64 = 2,
  kINT8 = 3,
  kINT16 = 4,
  kINT32 = 5,
  kCHAR = 6,     ///< A string; the length is that of its characters.
  kDIMS = 7,     ///< Values of type Dims.
  kUNKNOWN = 8,  ///< Values that only the plugin understands.
  kBF16 = 9,
  kINT64 = 10,
  kFP8 = 11,
  kINT4 = 12,
  kFP4 = 13,
};

template <> struct impl::EnumMaxImpl<PluginFieldType> {
  static constexpr int32_t kVALUE = 14;
};

/// An attribute of a plugin: a name and an array of values. It points at memory of whoever made it.
class PluginField {
 public:
  const AsciiChar* name;  ///< The name, null-terminated.
  const void* data;       ///< The values; null in the list of fields that a creator takes.
  PluginFieldType type;   ///< The type of the values.
  int32_t length;         ///< How many values there are.

  PluginField(const AsciiChar* name_ = nullptr, const void* data_ = nullptr,
              PluginFieldType type_ = PluginFieldType::kUNKNOWN, int32_t length_ = 0) noexcept
      : name(name_), data(data_), type(type_), length(length_) {}
};

/// The attributes of a plugin.
struct PluginFieldCollection {
  int32_t nbFields{};           ///< How many there are.
  const PluginField* fields{};  ///< The first of them.
};

/// Why a plugin is created.
enum class TensorRTPhase : int32_t {
  kBUILD = 0,    ///< To become part of an engine that is being built.
  kRUNTIME = 1,  ///< To run in an engine that is being opened.
};

template <> struct impl::EnumMaxImpl<TensorRTPhase> {
  static constexpr int32_t kVALUE = 2;
};

/// Which side of a plugin is asked for.
enum class PluginCapabilityType : int32_t {
  kCORE = 0,     ///< IPluginV3OneCore.
  kBUILD = 1,    ///< IPluginV3OneBuild.
  kRUNTIME = 2,  ///< IPluginV3OneRuntime.
};

template <> struct impl::EnumMaxImpl<PluginCapabilityType> {
  static constexpr int32_t kVALUE = 3;
};

namespace v_1_0 {
/// Base of the sides of a plugin of version 3.
class IPluginCapability : public IVersionedInterface {};
}  // namespace v_1_0
using IPluginCapability = v_1_0::IPluginCapability;

namespace v_1_0 {
/// Something that plugins share, such as weights on a device; kept in the registry under a key.
class IPluginResource : public IVersionedInterface {
 public:
  InterfaceInfo getInterfaceInfo() const noexcept override { return {"IPluginResource", 1, 0}; }

  /// Frees what the resource holds; 0 on success. Called once nobody uses it any more.
  virtual int32_t release() noexcept = 0;

  /// A copy that the registry keeps; null on failure.
  virtual IPluginResource* clone() noexcept = 0;
  ~IPluginResource() noexcept override = default;
};
}  // namespace v_1_0
using IPluginResource = v_1_0::IPluginResource;

namespace v_1_0 {
/// Base of all plugin creators.
class IPluginCreatorInterface : public IVersionedInterface {
 public:
  ~IPluginCreatorInterface() noexcept override = default;
};
}  // namespace v_1_0
using IPluginCreatorInterface = v_1_0::IPluginCreatorInterface;

namespace v_1_0 {
/// A plugin of version 3: the object behind a layer that the library does not know.
class IPluginV3 : public IVersionedInterface {
 public:
  InterfaceInfo getInterfaceInfo() const noexcept override { return {"PLUGIN", 1, 0}; }

  /// The side of the plugin that `type` asks for, owned by the plugin; null if it has none. It is
  /// cast with static_cast, never to IPluginV3.
  virtual IPluginCapability* getCapabilityInterface(PluginCapabilityType type) noexcept = 0;

  /// A copy of the plugin with all its state, which the caller deletes; null on failure.
  virtual IPluginV3* clone() noexcept = 0;
};
}  // namespace v_1_0
using IPluginV3 = v_1_0::IPluginV3;

}  // namespace nvinfer1

#endif  // NV_INFER_PLUGIN_BASE_H
