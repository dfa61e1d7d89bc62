#include "registry/registry.h"

#include <dlfcn.h>

#include <algorithm>
#include <atomic>
#include <map>
#include <mutex>
#include <tuple>
#include <utility>

#include "base/current_logger.h"
#include "base/error.h"
#include "base/text.h"
#include "registry/creator.h"
#include "registry/library.h"
#include "registry/resources.h"

namespace tenon {
namespace {

using nvinfer1::AsciiChar;
using nvinfer1::IErrorRecorder;
using nvinfer1::ILogger;
using nvinfer1::IPluginCreator;
using nvinfer1::IPluginCreatorInterface;
using nvinfer1::IPluginResource;

void write(ILogger::Severity severity, const std::string& message) {
  write_message(severity, message.c_str());
}

// Collects the creators that are registered on this thread while it lives, which is while a library
// is loaded.
class Registrations {
 public:
  Registrations() : outer_(std::exchange(current_, this)) {}
  Registrations(const Registrations&) = delete;
  Registrations& operator=(const Registrations&) = delete;
  ~Registrations() { current_ = outer_; }

  static void note(IPluginCreatorInterface& creator) {
    if (current_ != nullptr) current_->creators.push_back(&creator);
  }
  std::vector<IPluginCreatorInterface*> creators;

 private:
  static inline thread_local Registrations* current_ = nullptr;
  Registrations* const outer_;
};

class Registry final : public nvinfer1::IPluginRegistry {
 public:
  explicit Registry(Registry* parent) : parent_(parent) {}

  bool registerCreator(IPluginCreator& creator, const AsciiChar* name_space) noexcept override {
    return guarded(false, [&] { return add(creator, name_space); });
  }
  bool registerCreator(IPluginCreatorInterface& creator,
                       const AsciiChar* name_space) noexcept override {
    return guarded(false, [&] { return add(creator, name_space); });
  }
  bool deregisterCreator(const IPluginCreator& creator) noexcept override {
    return guarded(false, [&] { return remove(&creator); });
  }
  bool deregisterCreator(const IPluginCreatorInterface& creator) noexcept override {
    return guarded(false, [&] { return remove(&creator); });
  }

  IPluginCreator* const* getPluginCreatorList(int32_t* count) const noexcept override {
    return guarded<IPluginCreator* const*>(nullptr, [&] {
      const std::lock_guard lock(mutex_);
      std::vector<IPluginCreator*> list;
      for (const auto& [key, creator] : creators())
        if (kind_of(*creator) == CreatorKind::kV1)
          list.push_back(static_cast<IPluginCreator*>(creator));
      return hand_out(v1_lists_, std::move(list), count);
    });
  }
  IPluginCreatorInterface* const* getAllCreators(int32_t* count) const noexcept override {
    return guarded<IPluginCreatorInterface* const*>(nullptr, [&] {
      const std::lock_guard lock(mutex_);
      std::vector<IPluginCreatorInterface*> list;
      for (const auto& [key, creator] : creators()) list.push_back(creator);
      return hand_out(lists_, std::move(list), count);
    });
  }
  IPluginCreatorInterface* const* getAllCreatorsRecursive(int32_t* count) noexcept override {
    return guarded<IPluginCreatorInterface* const*>(nullptr, [&] {
      std::vector<IPluginCreatorInterface*> list;
      for (const CreatorInfo& one : infos()) list.push_back(one.creator);
      const std::lock_guard lock(mutex_);
      return hand_out(lists_, std::move(list), count);
    });
  }

  IPluginCreator* getPluginCreator(const AsciiChar* name, const AsciiChar* version,
                                   const AsciiChar* name_space) noexcept override {
    IPluginCreatorInterface* found = getCreator(name, version, name_space);
    return found != nullptr && kind_of(*found) == CreatorKind::kV1
               ? static_cast<IPluginCreator*>(found)
               : nullptr;
  }
  IPluginCreatorInterface* getCreator(const AsciiChar* name, const AsciiChar* version,
                                      const AsciiChar* name_space) noexcept override {
    if (name == nullptr || version == nullptr) return nullptr;
    return guarded<IPluginCreatorInterface*>(
        nullptr, [&] { return find({text_or_empty(name_space), name, version}); });
  }

  void setErrorRecorder(IErrorRecorder* recorder) noexcept override {
    if (recorder != nullptr) recorder->incRefCount();
    IErrorRecorder* before = recorder_.exchange(recorder);
    if (before != nullptr) before->decRefCount();
  }
  IErrorRecorder* getErrorRecorder() const noexcept override { return recorder_; }
  bool isParentSearchEnabled() const override { return parent_search_; }
  void setParentSearchEnabled(bool enabled) override { parent_search_ = enabled; }

  PluginLibraryHandle loadLibrary(const AsciiChar* path) noexcept override {
    return guarded<PluginLibraryHandle>(nullptr, [&] { return load(path); });
  }
  void deregisterLibrary(PluginLibraryHandle handle) noexcept override {
    guarded(false, [&] { return unload(handle); });
  }

  PluginLibraryHandle load(const AsciiChar* path) {
    require(path != nullptr && *path != '\0', "loadLibrary: no path was given");
    const Registrations fresh;
    void* const handle = open_library(path);
    initialize(handle);
    for (IPluginCreatorInterface* creator : exported_creators(handle))
      guarded(false, [&] { return add_if_new(*creator); });
    if (remember(handle, fresh.creators) == 0)
      write(ILogger::Severity::kWARNING,
            fmt::format("{} registered no plugin that was not there before", path));
    return handle;
  }

  IPluginResource* acquirePluginResource(const AsciiChar* key,
                                         IPluginResource* resource) noexcept override {
    return guarded<IPluginResource*>(nullptr, [&] { return resources_.acquire(key, resource); });
  }
  int32_t releasePluginResource(const AsciiChar* key) noexcept override {
    return guarded<int32_t>(-1, [&] { return resources_.release(key); });
  }

  // The creators here, and the parent's whose key is not taken here.
  std::vector<CreatorInfo> infos() const {
    Creators all;
    {
      const std::lock_guard lock(mutex_);
      all = creators();
    }
    if (parent_ != nullptr && parent_search_) {
      const std::lock_guard lock(parent_->mutex_);
      all.merge(parent_->creators());
    }
    std::vector<CreatorInfo> list;
    for (const auto& [key, creator] : all)
      list.push_back(
          {key.name, key.version, key.name_space, creator, kind_of(*creator) == CreatorKind::kV3});
    std::sort(list.begin(), list.end(), [](const CreatorInfo& a, const CreatorInfo& b) {
      return std::tie(a.name, a.version, a.name_space) < std::tie(b.name, b.version, b.name_space);
    });
    return list;
  }

  IPluginCreatorInterface* find(const PluginKey& key) const {
    {
      const std::lock_guard lock(mutex_);
      for (const Creators* layer : {&users_, &ours_})
        if (const auto it = layer->find(key); it != layer->end()) return it->second;
    }
    return parent_ != nullptr && parent_search_ ? parent_->find(key) : nullptr;
  }

 private:
  using Creators = std::map<PluginKey, IPluginCreatorInterface*>;

  struct Library {
    int64_t uses = 0;
    std::vector<IPluginCreatorInterface*> creators;
  };

  void report(const Error& error) const noexcept {
    const std::string text = with_code(error.what(), error.error_class());
    if (IErrorRecorder* recorder = recorder_) recorder->reportError(error.code(), text.c_str());
    write(ILogger::Severity::kERROR, text);
  }

  template <class T, class Body> T guarded(T failure, Body&& body) const noexcept {
    try {
      return body();
    } catch (const Error& e) {
      report(e);
    } catch (const std::exception& e) {
      write(ILogger::Severity::kERROR,
            with_code(std::string("plugin registry: ") + e.what(), ErrorClass::kInternal));
    }
    return failure;
  }

  // TensorRT promises that a list stays valid, so lists that were handed out are kept.
  template <class T>
  static T* const* hand_out(std::vector<std::vector<T*>>& lists, std::vector<T*> list,
                            int32_t* count) {
    if (count != nullptr) *count = static_cast<int32_t>(list.size());
    for (const auto& known : lists)
      if (known == list) return known.data();
    lists.push_back(std::move(list));
    return lists.back().data();
  }

  bool add(IPluginCreatorInterface& creator, const AsciiChar* name_space) {
    PluginKey key = key_of(creator);
    key.name_space = text_or_empty(name_space);
    const Origin origin = origin_of(creator);
    bool replaces_ours = false;
    {
      const std::lock_guard lock(mutex_);
      if (!(origin.is_ours ? ours_ : users_).emplace(key, &creator).second)
        fail(ErrorCode::kINVALID_ARGUMENT, "{} is registered already; the first one stays",
             key.text());
      replaces_ours = !origin.is_ours && ours_.contains(key);
    }
    if (replaces_ours)
      write(ILogger::Severity::kINFO,
            fmt::format("{}: that of {} takes the place of Tenon's own", key.text(), origin.file));
    if (kind_of(creator) == CreatorKind::kV1)
      static_cast<IPluginCreator&>(creator).setPluginNamespace(key.name_space.c_str());
    Registrations::note(creator);
    return true;
  }

  bool remove(const IPluginCreatorInterface* creator) {
    const std::lock_guard lock(mutex_);
    return erase(creator);
  }
  bool erase(const IPluginCreatorInterface* creator) {
    const auto is_it = [&](const auto& entry) { return entry.second == creator; };
    return std::erase_if(users_, is_it) + std::erase_if(ours_, is_it) > 0;
  }

  // The creators that may be found: of two with the same key, the user's.
  Creators creators() const {
    Creators all = users_;
    all.insert(ours_.begin(), ours_.end());
    return all;
  }

  // How many creators of the library there are now.
  size_t remember(PluginLibraryHandle handle, const std::vector<IPluginCreatorInterface*>& fresh) {
    const std::lock_guard lock(mutex_);
    Library& library = libraries_[handle];
    ++library.uses;
    library.creators.insert(library.creators.end(), fresh.begin(), fresh.end());
    return library.creators.size();
  }

  // A library may do both: export its creators and register them.
  bool add_if_new(IPluginCreatorInterface& creator) {
    {
      const std::lock_guard lock(mutex_);
      for (const auto& [key, known] : users_)
        if (known == &creator) return false;
    }
    return add(creator, key_of(creator).name_space.c_str());
  }

  bool unload(PluginLibraryHandle handle) {
    {
      const std::lock_guard lock(mutex_);
      const auto it = libraries_.find(handle);
      require(it != libraries_.end(),
              "deregisterLibrary: the handle is not one that loadLibrary returned");
      if (--it->second.uses == 0) {
        for (IPluginCreatorInterface* creator : it->second.creators) erase(creator);
        libraries_.erase(it);
      }
    }
    dlclose(handle);
    return true;
  }

  mutable std::mutex mutex_;
  Creators users_;
  Creators ours_;  // Tenon's own plugins
  mutable std::vector<std::vector<IPluginCreator*>> v1_lists_;
  mutable std::vector<std::vector<IPluginCreatorInterface*>> lists_;
  PluginResources resources_;
  std::map<void*, Library> libraries_;
  std::atomic<IErrorRecorder*> recorder_{nullptr};
  std::atomic<bool> parent_search_{true};
  Registry* parent_;
};

Registry& process_registry() {
  static Registry* registry = new Registry(nullptr);
  return *registry;
}

}  // namespace

nvinfer1::IPluginRegistry& plugin_registry() {
  return process_registry();
}

nvinfer1::IPluginRegistry::PluginLibraryHandle load_plugin_library(const std::string& path) {
  return process_registry().load(path.c_str());
}

std::shared_ptr<nvinfer1::IPluginRegistry> make_child_registry() {
  return std::make_shared<Registry>(&process_registry());
}

std::vector<CreatorInfo> registered_creators() {
  return process_registry().infos();
}

IPluginCreatorInterface* find_creator(std::string_view name, std::string_view version,
                                      std::string_view name_space) {
  Registry& registry = process_registry();
  const std::string name_text(name), version_text(version);
  if (auto* exact = registry.find({std::string(name_space), name_text, version_text})) return exact;
  return registry.find({"", name_text, version_text});
}

}  // namespace tenon
