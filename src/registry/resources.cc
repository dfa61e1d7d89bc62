#include "registry/resources.h"

#include "base/error.h"

namespace tenon {

using nvinfer1::IPluginResource;

IPluginResource* PluginResources::acquire(const char* key, IPluginResource* resource) {
  require(key != nullptr, "acquirePluginResource: the key is null");
  const std::lock_guard lock(mutex_);
  if (const auto it = resources_.find(key); it != resources_.end()) {
    ++it->second.uses;
    return it->second.resource;
  }
  if (resource == nullptr) return nullptr;
  IPluginResource* kept = resource->clone();
  require(kept != nullptr, "acquirePluginResource: clone() of the resource \"{}\" gave null", key);
  resources_[key] = {kept, 1};
  return kept;
}

int32_t PluginResources::release(const char* key) {
  require(key != nullptr, "releasePluginResource: the key is null");
  const std::lock_guard lock(mutex_);
  const auto it = resources_.find(key);
  require(it != resources_.end(), "releasePluginResource: no resource is called \"{}\"", key);
  if (--it->second.uses > 0) return 0;
  IPluginResource* last = it->second.resource;
  resources_.erase(it);
  const int32_t status = last->release();
  delete last;
  return status;
}

}  // namespace tenon
