#include "check/library.h"

#include <dlfcn.h>

#include <algorithm>

#include "check/error.h"

namespace tenon::check {
namespace {

using Creators = std::vector<nvinfer1::IPluginCreatorInterface*>;

Creators registered() {
  int32_t count = 0;
  auto* const* list = getPluginRegistry()->getAllCreatorsRecursive(&count);
  return {list, list + count};
}

template <class Each> void add_exported(void* library, const char* name, Creators& all) {
  using Get = Each* const* (*)(int32_t&);
  const auto get = reinterpret_cast<Get>(dlsym(library, name));
  if (get == nullptr) return;
  int32_t count = 0;
  Each* const* list = get(count);
  for (int32_t i = 0; list != nullptr && i < count; ++i)
    if (list[i] != nullptr && std::find(all.begin(), all.end(), list[i]) == all.end())
      all.push_back(list[i]);
}

}  // namespace

Creators creators_of(const std::string& path) {
  const Creators known = registered();
  if (path.empty()) return known;
  // A library's plugins may have their names.
  for (auto* creator : known) getPluginRegistry()->deregisterCreator(*creator);
  void* library = getPluginRegistry()->loadLibrary(path.c_str());
  if (library == nullptr)
    fail(ErrorClass::kPluginLibrary, "{}: cannot load the plugin library",
         path);  // it has said why
  Creators fresh = registered();
  add_exported<nvinfer1::IPluginCreatorInterface>(library, "getCreators", fresh);
  add_exported<nvinfer1::IPluginCreator>(library, "getPluginCreators", fresh);
  if (!fresh.empty()) return fresh;
  fail(ErrorClass::kPluginLibrary,
       "{}: it has no plugins: it registers none when it is loaded, and getCreators(), "
       "getPluginCreators() and initLibNvInferPlugins() give none",
       path);
}

}  // namespace tenon::check
