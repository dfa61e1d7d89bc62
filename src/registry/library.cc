#include "registry/library.h"

#include <dlfcn.h>

#include <filesystem>
#include <string_view>

#include "base/current_logger.h"
#include "base/error.h"
#include "base/text.h"

namespace tenon {
namespace {

using nvinfer1::IPluginCreatorInterface;

class LoggerFinder final : public nvinfer1::ILoggerFinder {
 public:
  nvinfer1::ILogger* findLogger() override { return current_logger(); }
};

[[noreturn]] void refuse(const char* path, const char* what, const std::string& reason) {
  std::error_code ignored;
  const bool is_path = std::string_view(path).find('/') != std::string_view::npos;
  if (std::filesystem::is_directory(path, ignored))
    fail(ErrorClass::kPluginLibrary, "cannot load {} {}: it is a directory; name a .so file", what,
         path);
  if (is_path && !std::filesystem::exists(path, ignored))
    fail(ErrorClass::kPluginLibrary, "cannot load {} {}: no such file", what, path);
  const bool is_old = reason.find("libnvinfer.so.8") != std::string::npos
                      || reason.find("libnvinfer_plugin.so.8") != std::string::npos;
  fail(ErrorClass::kPluginLibrary, "cannot load {} {}: {}{}", what, path, reason,
       is_old ? "; it was built for TensorRT 8: compile it again with TensorRT 10's headers" : "");
}

template <class Creator>
bool ask(void* library, const char* function, std::vector<IPluginCreatorInterface*>& creators) {
  using Get = Creator* const* (*)(int32_t&);
  const auto get = reinterpret_cast<Get>(dlsym(library, function));
  if (get == nullptr) return false;
  int32_t count = 0;
  Creator* const* const list = get(count);
  for (int32_t i = 0; list != nullptr && i < count; ++i)
    if (list[i] != nullptr) creators.push_back(list[i]);
  return true;
}

}  // namespace

void* open_library(const char* path, const char* what) {
  void* const library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) refuse(path, what, text_or_empty(dlerror()));
  return library;
}

void initialize(void* library) {
  using Initialize = bool (*)(void* logger, const char* name_space);
  const auto init = reinterpret_cast<Initialize>(dlsym(library, "initLibNvInferPlugins"));
  if (init != nullptr) init(current_logger(), "");
}

std::vector<IPluginCreatorInterface*> exported_creators(void* library) {
  static LoggerFinder finder;
  using SetLoggerFinder = void (*)(nvinfer1::ILoggerFinder*);
  if (auto set = reinterpret_cast<SetLoggerFinder>(dlsym(library, "setLoggerFinder"))) set(&finder);
  std::vector<IPluginCreatorInterface*> creators;
  if (!ask<IPluginCreatorInterface>(library, "getCreators", creators))
    ask<nvinfer1::IPluginCreator>(library, "getPluginCreators", creators);
  return creators;
}

}  // namespace tenon
