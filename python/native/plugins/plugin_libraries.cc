#include "plugins/plugin_libraries.h"

#include <dlfcn.h>

#include <stdexcept>
#include <string>

#include "../../host/host.h"
#include "bind.h"
#include "engine_call.h"

namespace tenon::python {
namespace {

// Collects what a registry reports.
class Errors final : public nvinfer1::IErrorRecorder {
 public:
  int32_t getNbErrors() const noexcept override { return text.empty() ? 0 : 1; }
  nvinfer1::ErrorCode getErrorCode(int32_t) const noexcept override {
    return nvinfer1::ErrorCode::kUNSPECIFIED_ERROR;
  }
  ErrorDesc getErrorDesc(int32_t) const noexcept override { return text.c_str(); }
  bool hasOverflowed() const noexcept override { return false; }
  void clear() noexcept override { text.clear(); }
  bool reportError(nvinfer1::ErrorCode, ErrorDesc description) noexcept override {
    text += (text.empty() ? "" : "\n") + std::string(description);
    return false;
  }
  RefCount incRefCount() noexcept override { return ++users_; }
  RefCount decRefCount() noexcept override { return --users_; }

  std::string text;

 private:
  RefCount users_ = 0;
};

// lib/ of the package that this module is in.
std::string library_folder() {
  Dl_info info;
  if (dladdr(reinterpret_cast<void*>(&prepare_for_plugin_libraries), &info) == 0)
    throw std::runtime_error("the folder of the module tenon._native cannot be found");
  const std::string module = info.dli_fname;
  return module.substr(0, module.rfind('/') + 1) + "lib/";
}

void* open(const std::string& path, int mode) {
  void* const library = dlopen(path.c_str(), RTLD_NOW | mode);
  if (library == nullptr)
    throw std::runtime_error("the package tenon is not complete: " + std::string(dlerror()));
  return library;
}

bool prepare() {
  const std::string folder = library_folder();
  void* const host = open(folder + "libtenon_host.so", RTLD_GLOBAL);
  const auto set = reinterpret_cast<decltype(&tenonSetHost)>(dlsym(host, "tenonSetHost"));
  if (set == nullptr) throw std::runtime_error("libtenon_host.so is of another version of tenon");
  set({&getPluginRegistry, &getLogger, &tenonSetCpuKernel, &tenonSetCpuOnly, &tenonParallelFor,
       &tenonMultiply, &tenonDescribePlugin, &tenonPluginText, &tenonReportPluginError});
  // What is loaded under its name is not searched for again.
  for (const char* name : {"libnvinfer.so.10", "libnvinfer_plugin.so.10"})
    open(folder + name, RTLD_LOCAL);
  return true;
}

}  // namespace

void prepare_for_plugin_libraries() {
  [[maybe_unused]] static const bool prepared = prepare();
}

void keep_loaded(const char* path) {
  dlopen(path, RTLD_NOW | RTLD_NOLOAD);
}

void bind_plugin_libraries(nb::module_& m) {
  m.def(
      "load_plugin_library",
      [](const char* path) -> nb::object {
        prepare_for_plugin_libraries();
        nvinfer1::IPluginRegistry& registry = *getPluginRegistry();
        Errors errors;
        const bool loaded = into_engine([&] {
          nvinfer1::IErrorRecorder* const before = registry.getErrorRecorder();
          registry.setErrorRecorder(&errors);
          const bool done = registry.loadLibrary(path) != nullptr;
          registry.setErrorRecorder(before);
          return done;
        });
        if (!loaded) return nb::str(errors.text.c_str());
        keep_loaded(path);
        return nb::none();
      },
      nb::arg("path"), nb::sig("def load_plugin_library(path: str) -> str | None"),
      "Loads a plugin library; gives what is wrong with it, or None.");
}

}  // namespace tenon::python
