// Layers that run plugins.
#ifndef TENON_API_LAYERS_PLUGIN_H
#define TENON_API_LAYERS_PLUGIN_H

#include "tenon/api/tensor.h"

namespace nvinfer1 {

/// Runs a plugin of version 2.
class IPluginV2Layer : public ILayer {
 public:
  /// The plugin, owned by the layer: a clone of the one it was made with.
  IPluginV2& getPlugin() noexcept { return mImpl->getPlugin(); }

 protected:
  ~IPluginV2Layer() noexcept override = default;
  apiv::VPluginV2Layer* mImpl;
};

/// Runs a plugin of version 3.
class IPluginV3Layer : public ILayer {
 public:
  /// The plugin, owned by the layer: a clone of the one it was made with.
  IPluginV3& getPlugin() noexcept { return mImpl->getPlugin(); }

 protected:
  ~IPluginV3Layer() noexcept override = default;
  apiv::VPluginV3Layer* mImpl;
};

}  // namespace nvinfer1

#endif  // TENON_API_LAYERS_PLUGIN_H
