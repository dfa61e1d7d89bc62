#include "registry/registry.h"

#include <dlfcn.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <map>
#include <mutex>
#include <tuple>
#include <utility>
#include <vector>

#include "base/current_logger.h"
#include "base/error.h"
#include "base/log.h"

namespace tenon {
namespace {

using nvinfer1::AsciiChar;
using nvinfer1::IErrorRecorder;
using nvinfer1::ILogger;
using nvinfer1::IPluginCreator;
using nvinfer1::IPluginCreatorInterface;
using nvinfer1::IPluginResource;

class LoggerFinder final : public nvinfer1::ILoggerFinder {
 public:
  ILogger* findLogger() override { return current_logger(); }
};

std::string text_or_empty(const char* text) {
  return text == nullptr ? "" : text;
}

void write(ILogger::Severity severity, const std::string& message) {
  write_message(severity, message.c_str());
}

enum class Kind { kV1, kV3, kUnknown };

// Foreign objects may be built without RTTI, so the kind string decides.
Kind kind_of(const IPluginCreatorInterface& creator) {
  const char* kind = creator.getInterfaceInfo().kind;
  if (kind == nullptr) return Kind::kUnknown;
  const std::string_view text = kind;
  if (text == "PLUGIN CREATOR_V1") return Kind::kV1;
  if (text == "PLUGIN CREATOR_V3ONE") return Kind::kV3;
  return Kind::kUnknown;
}

struct Names {
  std::string name, version;
};

Names names_of(IPluginCreatorInterface& creator) {
  if (kind_of(creator) == Kind::kV1) {
    auto& v1 = static_cast<IPluginCreator&>(creator);
    return {text_or_empty(v1.getPluginName()), text_or_empty(v1.getPluginVersion())};
  }
  auto& v3 = static_cast<nvinfer1::IPluginCreatorV3One&>(creator);
  return {text_or_empty(v3.getPluginName()), text_or_empty(v3.getPluginVersion())};
}

// The library whose static constructors run on this thread, while loadLibrary() opens it.
thread_local std::vector<IPluginCreatorInterface*>* registered_by_library = nullptr;

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
      for (const auto& [key, creator] : creators_)
        if (kind_of(*creator) == Kind::kV1) list.push_back(static_cast<IPluginCreator*>(creator));
      return hand_out(v1_lists_, std::move(list), count);
    });
  }
  IPluginCreatorInterface* const* getAllCreators(int32_t* count) const noexcept override {
    return guarded<IPluginCreatorInterface* const*>(nullptr, [&] {
      const std::lock_guard lock(mutex_);
      std::vector<IPluginCreatorInterface*> list;
      for (const auto& [key, creator] : creators_) list.push_back(creator);
      return hand_out(lists_, std::move(list), count);
    });
  }
  IPluginCreatorInterface* const* getAllCreatorsRecursive(int32_t* count) noexcept override {
    return guarded<IPluginCreatorInterface* const*>(nullptr, [&] {
      std::vector<IPluginCreatorInterface*> list;
      for (const CreatorInfo& one : infos(true)) list.push_back(one.creator);
      const std::lock_guard lock(mutex_);
      return hand_out(lists_, std::move(list), count);
    });
  }

  IPluginCreator* getPluginCreator(const AsciiChar* name, const AsciiChar* version,
                                   const AsciiChar* name_space) noexcept override {
    IPluginCreatorInterface* found = getCreator(name, version, name_space);
    return found != nullptr && kind_of(*found) == Kind::kV1 ? static_cast<IPluginCreator*>(found)
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

  IPluginResource* acquirePluginResource(const AsciiChar* key,
                                         IPluginResource* resource) noexcept override {
    return guarded<IPluginResource*>(nullptr, [&]() -> IPluginResource* {
      require(key != nullptr, "acquirePluginResource: the key is null");
      const std::lock_guard lock(mutex_);
      if (const auto it = resources_.find(key); it != resources_.end()) {
        ++it->second.uses;
        return it->second.resource;
      }
      if (resource == nullptr) return nullptr;
      IPluginResource* kept = resource->clone();
      require(kept != nullptr, "acquirePluginResource: clone() of the resource \"{}\" gave null",
              key);
      resources_[key] = {kept, 1};
      return kept;
    });
  }
  int32_t releasePluginResource(const AsciiChar* key) noexcept override {
    return guarded<int32_t>(-1, [&] {
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
    });
  }

  // Own creators, and the parent's where `recursive` and nothing of that name is registered here.
  std::vector<CreatorInfo> infos(bool recursive) const {
    std::map<Key, IPluginCreatorInterface*> all;
    if (recursive && parent_ != nullptr && parent_search_) {
      const std::lock_guard lock(parent_->mutex_);
      all = parent_->creators_;
    }
    {
      const std::lock_guard lock(mutex_);
      for (const auto& [key, creator] : creators_) all[key] = creator;
    }
    std::vector<CreatorInfo> list;
    for (const auto& [key, creator] : all)
      list.push_back(
          {key.name, key.version, key.name_space, creator, kind_of(*creator) == Kind::kV3});
    std::sort(list.begin(), list.end(), [](const CreatorInfo& a, const CreatorInfo& b) {
      return std::tie(a.name, a.version, a.name_space) < std::tie(b.name, b.version, b.name_space);
    });
    return list;
  }

  struct Key {
    std::string name_space, name, version;
    auto operator<=>(const Key&) const = default;
  };

  IPluginCreatorInterface* find(const Key& key) const {
    {
      const std::lock_guard lock(mutex_);
      if (const auto it = creators_.find(key); it != creators_.end()) return it->second;
    }
    return parent_ != nullptr && parent_search_ ? parent_->find(key) : nullptr;
  }

 private:
  struct Resource {
    IPluginResource* resource = nullptr;
    int64_t uses = 0;
  };
  struct Library {
    std::string path;
    int64_t uses = 0;
    std::vector<IPluginCreatorInterface*> creators;
  };

  void report(const Error& error) const noexcept {
    if (IErrorRecorder* recorder = recorder_) recorder->reportError(error.code(), error.what());
    write(ILogger::Severity::kERROR, error.what());
  }

  template <class T, class Body> T guarded(T failure, Body&& body) const noexcept {
    try {
      return body();
    } catch (const Error& e) {
      report(e);
    } catch (const std::exception& e) {
      write(ILogger::Severity::kERROR, std::string("plugin registry: ") + e.what());
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
    // TensorRT 8's creators answer their version number here, and have other slots behind it.
    const auto language = static_cast<int32_t>(creator.getAPILanguage());
    require(
        language == 0 || language == 1,
        "a plugin creator was built for another TensorRT (its first method answers {}): compile "
        "the plugin library again with TensorRT 10's headers",
        language);
    const char* kind_text = creator.getInterfaceInfo().kind;
    const Kind kind = kind_of(creator);
    if (kind == Kind::kUnknown)
      fail(ErrorCode::kUNSUPPORTED_STATE, "plugin creators of kind \"{}\" are not supported yet",
           text_or_empty(kind_text));
    const Names names = names_of(creator);
    require(!names.name.empty(), "a plugin creator without a name cannot be registered");
    const Key key{text_or_empty(name_space), names.name, names.version};
    {
      const std::lock_guard lock(mutex_);
      const auto [it, fresh] = creators_.emplace(key, &creator);
      if (!fresh) {
        write(ILogger::Severity::kWARNING,
              fmt::format("plugin \"{}\" version \"{}\" in namespace \"{}\" is registered already; "
                          "the first one stays",
                          key.name, key.version, key.name_space));
        return false;
      }
    }
    if (kind == Kind::kV1)
      static_cast<IPluginCreator&>(creator).setPluginNamespace(key.name_space.c_str());
    if (registered_by_library != nullptr) registered_by_library->push_back(&creator);
    return true;
  }

  bool remove(const IPluginCreatorInterface* creator) {
    const std::lock_guard lock(mutex_);
    return std::erase_if(creators_, [&](const auto& e) { return e.second == creator; }) > 0;
  }

  PluginLibraryHandle load(const AsciiChar* path) {
    require(path != nullptr && *path != '\0', "loadLibrary: no path was given");
    std::vector<IPluginCreatorInterface*> fresh;
    auto* outer = std::exchange(registered_by_library, &fresh);
    void* handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    const std::string reason = handle == nullptr ? text_or_empty(dlerror()) : "";
    if (handle != nullptr) ask_for_creators(handle);
    registered_by_library = outer;
    if (handle == nullptr) refuse(path, reason);
    const std::lock_guard lock(mutex_);
    Library& library = libraries_[handle];
    library.path = path;
    ++library.uses;
    library.creators.insert(library.creators.end(), fresh.begin(), fresh.end());
    if (library.creators.empty())
      write(ILogger::Severity::kWARNING,
            fmt::format("{} registered no plugin that was not there before", path));
    return handle;
  }

  [[noreturn]] static void refuse(const char* path, const std::string& reason) {
    std::error_code ignored;
    const bool is_path = std::string_view(path).find('/') != std::string_view::npos;
    if (std::filesystem::is_directory(path, ignored))
      fail(ErrorCode::kINVALID_ARGUMENT,
           "cannot load plugin library {}: it is a directory; name a .so file", path);
    if (is_path && !std::filesystem::exists(path, ignored))
      fail(ErrorCode::kINVALID_ARGUMENT, "cannot load plugin library {}: no such file", path);
    const bool is_old = reason.find("libnvinfer.so.8") != std::string::npos
                        || reason.find("libnvinfer_plugin.so.8") != std::string::npos;
    fail(
        ErrorCode::kINVALID_ARGUMENT, "cannot load plugin library {}: {}{}", path, reason,
        is_old ? "; it was built for TensorRT 8: compile it again with TensorRT 10's headers" : "");
  }

  // What libraries made for loadLibrary() export instead of registering in static constructors.
  void ask_for_creators(void* handle) {
    static LoggerFinder finder;
    using SetLoggerFinder = void (*)(nvinfer1::ILoggerFinder*);
    using GetCreators = IPluginCreatorInterface* const* (*)(int32_t&);
    using GetPluginCreators = IPluginCreator* const* (*)(int32_t&);
    if (auto set = reinterpret_cast<SetLoggerFinder>(dlsym(handle, "setLoggerFinder")))
      set(&finder);
    int32_t count = 0;
    if (auto get = reinterpret_cast<GetCreators>(dlsym(handle, "getCreators"))) {
      auto* const* list = get(count);
      for (int32_t i = 0; list != nullptr && i < count; ++i) offer(list[i]);
    } else if (auto old = reinterpret_cast<GetPluginCreators>(dlsym(handle, "getPluginCreators"))) {
      auto* const* list = old(count);
      for (int32_t i = 0; list != nullptr && i < count; ++i) offer(list[i]);
    }
  }

  void offer(IPluginCreatorInterface* creator) {
    if (creator != nullptr) guarded(false, [&] { return add_if_new(creator); });
  }

  // A library may do both: export its creators and register them.
  bool add_if_new(IPluginCreatorInterface* creator) {
    {
      const std::lock_guard lock(mutex_);
      for (const auto& [key, known] : creators_)
        if (known == creator) return false;
    }
    std::string name_space;
    if (const Kind kind = kind_of(*creator); kind == Kind::kV1)
      name_space = text_or_empty(static_cast<IPluginCreator*>(creator)->getPluginNamespace());
    else if (kind == Kind::kV3)
      name_space =
          text_or_empty(static_cast<nvinfer1::IPluginCreatorV3One*>(creator)->getPluginNamespace());
    return add(*creator, name_space.c_str());
  }

  bool unload(PluginLibraryHandle handle) {
    {
      const std::lock_guard lock(mutex_);
      const auto it = libraries_.find(handle);
      require(it != libraries_.end(),
              "deregisterLibrary: the handle is not one that loadLibrary returned");
      if (--it->second.uses == 0) {
        for (IPluginCreatorInterface* creator : it->second.creators)
          std::erase_if(creators_, [&](const auto& e) { return e.second == creator; });
        libraries_.erase(it);
      }
    }
    dlclose(handle);
    return true;
  }

  mutable std::mutex mutex_;
  std::map<Key, IPluginCreatorInterface*> creators_;
  mutable std::vector<std::vector<IPluginCreator*>> v1_lists_;
  mutable std::vector<std::vector<IPluginCreatorInterface*>> lists_;
  std::map<std::string, Resource> resources_;
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

std::shared_ptr<nvinfer1::IPluginRegistry> make_child_registry() {
  return std::make_shared<Registry>(&process_registry());
}

std::vector<CreatorInfo> registered_creators() {
  return process_registry().infos(true);
}

IPluginCreatorInterface* find_creator(std::string_view name, std::string_view version,
                                      std::string_view name_space) {
  Registry& registry = process_registry();
  const std::string name_text(name), version_text(version);
  if (auto* exact = registry.find({std::string(name_space), name_text, version_text})) return exact;
  return registry.find({"", name_text, version_text});
}

}  // namespace tenon
