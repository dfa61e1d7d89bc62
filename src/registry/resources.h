// What plugins share by keys: IPluginRegistry::acquirePluginResource().
#pragma once

#include <NvInferRuntime.h>

#include <map>
#include <mutex>
#include <string>

namespace tenon {

class PluginResources {
 public:
  /// The resource kept under `key`: that of the first who asked, or else a clone of `resource`;
  /// null when there is neither. Each call is another user.
  nvinfer1::IPluginResource* acquire(const char* key, nvinfer1::IPluginResource* resource);
  /// One user less; after the last one, the resource is released.
  /// @return what release() of the resource answered, 0 while it has users.
  int32_t release(const char* key);

 private:
  struct Resource {
    nvinfer1::IPluginResource* resource = nullptr;
    int64_t uses = 0;
  };
  std::mutex mutex_;
  std::map<std::string, Resource> resources_;
};

}  // namespace tenon
