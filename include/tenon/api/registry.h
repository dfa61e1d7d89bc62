// The plugin registry.
#ifndef TENON_API_REGISTRY_H
#define TENON_API_REGISTRY_H

#include "NvInferPluginBase.h"
#include "NvInferRuntimePlugin.h"

namespace nvinfer1 {

/// Every plugin creator of the process, by name, version and namespace. Safe to use from several
/// threads.
class IPluginRegistry {
 public:
  using PluginLibraryHandle = void*;

  /// Adds a creator of version 2; false if one of the same name, version and namespace is there.
  /// The registry does not own it.
  virtual bool registerCreator(IPluginCreator& creator,
                               const AsciiChar* pluginNamespace) noexcept = 0;

  /// The creators of version 2 and their number; valid until the registry changes.
  TENON_REMOVED_IN_11 virtual IPluginCreator* const* getPluginCreatorList(
      int32_t* nbCreators) const noexcept = 0;

  /// The creator of version 2 with this name, version and namespace; null if there is none.
  TENON_REMOVED_IN_11 virtual IPluginCreator* getPluginCreator(
      const AsciiChar* pluginName, const AsciiChar* pluginVersion,
      const AsciiChar* pluginNamespace = "") noexcept = 0;

 protected:
  virtual ~IPluginRegistry() noexcept = default;

 public:
  /// Sets where errors are recorded, instead of the one set before; null for none.
  virtual void setErrorRecorder(IErrorRecorder* recorder) noexcept = 0;

  /// The recorder that was set; null if none.
  virtual IErrorRecorder* getErrorRecorder() const noexcept = 0;

  /// Removes a creator of version 2; false if it was not there.
  virtual bool deregisterCreator(const IPluginCreator& creator) noexcept = 0;

  /// Whether lookups go on in the parent registry.
  virtual bool isParentSearchEnabled() const = 0;

  /// Sets whether lookups go on in the parent registry.
  virtual void setParentSearchEnabled(bool enabled) = 0;

  /// Opens a shared library and registers the creators it offers; a handle, or null on failure.
  virtual PluginLibraryHandle loadLibrary(const AsciiChar* pluginPath) noexcept = 0;

  /// Removes the creators that a library brought and closes it; its plugins must be gone.
  virtual void deregisterLibrary(PluginLibraryHandle handle) noexcept = 0;

  /// Adds a creator of any version; false if one of the same name, version and namespace is there.
  /// The registry does not own it.
  virtual bool registerCreator(IPluginCreatorInterface& creator,
                               const AsciiChar* pluginNamespace) noexcept = 0;

  /// All creators and their number; valid until the registry changes.
  virtual IPluginCreatorInterface* const* getAllCreators(int32_t* nbCreators) const noexcept = 0;

  /// The creator with this name, version and namespace; null if there is none.
  virtual IPluginCreatorInterface* getCreator(const AsciiChar* pluginName,
                                              const AsciiChar* pluginVersion,
                                              const AsciiChar* pluginNamespace = "") noexcept = 0;

  /// Removes a creator of any version; false if it was not there.
  virtual bool deregisterCreator(const IPluginCreatorInterface& creator) noexcept = 0;

  /// The resource under `key`, or a clone of `resource` put there if there is none; counts one more
  /// user. Null on failure.
  virtual IPluginResource* acquirePluginResource(const AsciiChar* key,
                                                 IPluginResource* resource) noexcept = 0;

  /// Counts one user of the resource less, and frees it after the last; 0 on success.
  virtual int32_t releasePluginResource(const AsciiChar* key) noexcept = 0;

  /// All creators of this registry and its parents, and their number.
  virtual IPluginCreatorInterface* const* getAllCreatorsRecursive(int32_t* nbCreators) noexcept = 0;
};

}  // namespace nvinfer1

#endif  // TENON_API_REGISTRY_H
