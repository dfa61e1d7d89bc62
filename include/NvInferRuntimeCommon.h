// The plugin registry.
#ifndef NV_INFER_RUNTIME_COMMON_H
#define NV_INFER_RUNTIME_COMMON_H

#include "NvInferPluginBase.h"
#include "NvInferRuntimeBase.h"
#include "NvInferRuntimePlugin.h"

namespace nvinfer1 {

class IPluginRegistry {
 public:
  using PluginLibraryHandle = void*;
  virtual bool registerCreator(IPluginCreator& creator,
                               const AsciiChar* pluginNamespace) noexcept = 0;
  virtual IPluginCreator* const* getPluginCreatorList(int32_t* nbCreators) const noexcept = 0;
  virtual IPluginCreator* getPluginCreator(const AsciiChar* pluginName,
                                           const AsciiChar* pluginVersion,
                                           const AsciiChar* pluginNamespace = "") noexcept = 0;

 protected:
  virtual ~IPluginRegistry() noexcept = default;

 public:
  virtual void setErrorRecorder(IErrorRecorder* recorder) noexcept = 0;
  virtual IErrorRecorder* getErrorRecorder() const noexcept = 0;
  virtual bool deregisterCreator(const IPluginCreator& creator) noexcept = 0;
  virtual bool isParentSearchEnabled() const = 0;
  virtual void setParentSearchEnabled(bool enabled) = 0;
  virtual PluginLibraryHandle loadLibrary(const AsciiChar* pluginPath) noexcept = 0;
  virtual void deregisterLibrary(PluginLibraryHandle handle) noexcept = 0;
  virtual bool registerCreator(IPluginCreatorInterface& creator,
                               const AsciiChar* pluginNamespace) noexcept = 0;
  virtual IPluginCreatorInterface* const* getAllCreators(int32_t* nbCreators) const noexcept = 0;
  virtual IPluginCreatorInterface* getCreator(const AsciiChar* pluginName,
                                              const AsciiChar* pluginVersion,
                                              const AsciiChar* pluginNamespace = "") noexcept = 0;
  virtual bool deregisterCreator(const IPluginCreatorInterface& creator) noexcept = 0;
  virtual IPluginResource* acquirePluginResource(const AsciiChar* key,
                                                 IPluginResource* resource) noexcept = 0;
  virtual int32_t releasePluginResource(const AsciiChar* key) noexcept = 0;
  virtual IPluginCreatorInterface* const* getAllCreatorsRecursive(int32_t* nbCreators) noexcept = 0;
};

}  // namespace nvinfer1

#endif  // NV_INFER_RUNTIME_COMMON_H
