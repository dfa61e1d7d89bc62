// Layers that run plugins.
#ifndef TENON_API_LAYERS_PLUGIN_H
#define TENON_API_LAYERS_PLUGIN_H

#include "tenon/api/tensor.h"

namespace nvinfer1 {

class IPluginV2Layer : public ILayer {
 public:
  IPluginV2& getPlugin() noexcept { return mImpl->getPlugin(); }

 protected:
  ~IPluginV2Layer() noexcept override = default;
  apiv::VPluginV2Layer* mImpl;
};

class IPluginV3Layer : public ILayer {
 public:
  IPluginV3& getPlugin() noexcept { return mImpl->getPlugin(); }

 protected:
  ~IPluginV3Layer() noexcept override = default;
  apiv::VPluginV3Layer* mImpl;
};

}  // namespace nvinfer1

#endif  // TENON_API_LAYERS_PLUGIN_H
