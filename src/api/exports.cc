// TensorRT's C functions, by which programs and plugin libraries reach everything else.
#include <NvInfer.h>
#include <NvInferPlugin.h>

#include <cstdio>
#include <new>
#include <optional>

#include "api/builder.h"
#include "api/engine.h"
#include "api/guard.h"
#include "api/refitter.h"
#include "api/runtime.h"
#include "base/current_logger.h"
#include "base/parallel.h"
#include "registry/registry.h"

namespace tenon {
namespace {

constexpr int32_t kMajor = TENON_TRT_ABI_VERSION / 10000;
constexpr int32_t kMinor = TENON_TRT_ABI_VERSION / 100 % 100;
constexpr int32_t kPatch = TENON_TRT_ABI_VERSION % 100;

// A reporter for `logger`; nothing, after a message, where there is no memory to hold the logger.
std::optional<Reporter> reporter_of(nvinfer1::ILogger* logger) noexcept {
  try {
    return std::make_optional<Reporter>(logger);
  } catch (const std::bad_alloc&) {
    Log(logger).write(Log::Severity::kERROR, "no memory to hold the logger");
    return std::nullopt;
  }
}

// What `make` gives to a caller that was compiled with headers of `version`; null, after a report,
// when its virtual tables are not ours.
template <class Make>
void* create(void* logger, int32_t version, const char* where, Make make) noexcept {
  // The ILogger of later majors has its methods elsewhere, so that no message would reach it.
  if (version / 10000 > kMajor) {
    // Which does not throw where standard error is closed.
    std::fprintf(stderr,
                 "tenon: %s: the program was compiled with TensorRT's headers of version %d, and "
                 "this library has the binary interface of %d.x: compile it with Tenon's headers "
                 "and -DTENON_TRT_API=%d [TN%d]\n",
                 where, version, kMajor, version / 10000, static_cast<int>(ErrorClass::kArgument));
    return nullptr;
  }
  auto* ours = static_cast<nvinfer1::ILogger*>(logger);
  if (ours == nullptr) return nullptr;
  const auto reporter = reporter_of(ours);
  if (!reporter) return nullptr;
  return reporter->guard<void*>(
      nullptr,
      [&]() -> void* {
        require(version / 10000 == kMajor,
                "the program was compiled with headers of version {}; this library is TensorRT "
                "{}.x-compatible: compile it with Tenon's headers",
                version, kMajor);
        thread_count();  // what TENON_THREADS says is refused here, not in the middle of a run
        return make(*ours);
      },
      where);
}

// The address that the caller's handle class expects, not that of another base.
template <class Handle> void* handle(Handle* object) {
  return object;
}

}  // namespace
}  // namespace tenon

extern "C" {

void* createInferBuilder_INTERNAL(void* logger, int32_t version) noexcept {
  return tenon::create(logger, version, "createInferBuilder", [](nvinfer1::ILogger& ours) {
    return tenon::handle<nvinfer1::IBuilder>(new tenon::Builder(ours));
  });
}

void* createInferRuntime_INTERNAL(void* logger, int32_t version) noexcept {
  return tenon::create(logger, version, "createInferRuntime", [](nvinfer1::ILogger& ours) {
    return tenon::handle<nvinfer1::IRuntime>(new tenon::RuntimeView(ours));
  });
}

void* createInferRefitter_INTERNAL(void* engine, void* logger, int32_t version) noexcept {
  return tenon::create(logger, version, "createInferRefitter", [&](nvinfer1::ILogger& ours) {
    auto* view = tenon::EngineView::find(static_cast<nvinfer1::ICudaEngine*>(engine));
    tenon::require(view != nullptr, "the engine is null, deleted, or not one of this library");
    return tenon::handle<nvinfer1::IRefitter>(new tenon::RefitterView(*view, ours));
  });
}

nvinfer1::IPluginRegistry* getPluginRegistry() noexcept {
  return &tenon::plugin_registry();
}

nvinfer1::ILogger* getLogger() noexcept {
  return tenon::current_logger();
}

int32_t getInferLibVersion() noexcept {
  return TENON_TRT_ABI_VERSION;
}
int32_t getInferLibMajorVersion() noexcept {
  return tenon::kMajor;
}
int32_t getInferLibMinorVersion() noexcept {
  return tenon::kMinor;
}
int32_t getInferLibPatchVersion() noexcept {
  return tenon::kPatch;
}
int32_t getInferLibBuildVersion() noexcept {
  return 0;
}

// The registry is filled by the plugin libraries themselves, when they are loaded.
bool initLibNvInferPlugins(void*, const char*) {
  return true;
}
bool initLibMMCVInferPlugins() {
  return true;
}

}  // extern "C"

namespace nvinfer1 {
extern "C" {

IPluginRegistry* getBuilderPluginRegistry(EngineCapability capability) noexcept {
  return capability == EngineCapability::kSTANDARD ? &tenon::plugin_registry() : nullptr;
}

safe::IPluginRegistry* getBuilderSafePluginRegistry(EngineCapability) noexcept {
  return nullptr;
}

// There are no libraries of ours to look for at run time.
bool setInternalLibraryPath(const AsciiChar* path) noexcept {
  return path != nullptr;
}

}  // extern "C"
}  // namespace nvinfer1
