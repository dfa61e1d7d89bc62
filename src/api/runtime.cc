#include "api/runtime.h"

#include <dlfcn.h>

#include <algorithm>
#include <cstring>

#include "api/engine.h"
#include "base/parallel.h"
#include "plan/plan_file.h"
#include "registry/library.h"
#include "registry/registry.h"

namespace tenon {
namespace {

// What is asked of a stream at a time: a lying header costs no more memory than this and what the
// stream really gave.
constexpr size_t kChunk = size_t{64} << 20;

// Bytes of a stream, 64-byte aligned so that kernels may use weights in place.
struct StreamBytes {
  std::shared_ptr<std::byte> data;
  size_t size = 0, capacity = 0;

  void reserve(size_t wanted) {
    if (wanted <= capacity) return;
    auto larger = allocate_aligned(wanted);
    if (size > 0) std::memcpy(larger.get(), data.get(), size);
    data = std::move(larger);
    capacity = wanted;
  }
};

// Reads until there are `wanted` bytes. `read(to, count)` answers how many it gave.
template <class Read> void fill(StreamBytes& bytes, size_t wanted, Read& read) {
  while (bytes.size < wanted) {
    const size_t chunk = std::min(wanted - bytes.size, kChunk);
    if (bytes.size + chunk > bytes.capacity)
      bytes.reserve(std::min(wanted, std::max(bytes.size + chunk, 2 * bytes.capacity)));
    const int64_t given = read(bytes.data.get() + bytes.size, static_cast<int64_t>(chunk));
    require(given > 0 && given <= static_cast<int64_t>(chunk),
            "the stream ended after {} of {} bytes", bytes.size, wanted);
    bytes.size += static_cast<size_t>(given);
  }
}

}  // namespace

RuntimeView::RuntimeView(nvinfer1::ILogger& logger) : Live(this, this), reporter_(&logger) {
  mImpl = this;
}

nvinfer1::ICudaEngine* RuntimeView::engine_of(Plan plan) const {
  auto libraries = load_libraries(plan, host_code_);
  return new EngineView(std::move(plan), reporter_, allocator_, std::move(libraries));
}

nvinfer1::ICudaEngine* RuntimeView::deserializeCudaEngine(const void* blob, size_t size) noexcept {
  return reporter_.guard<nvinfer1::ICudaEngine*>(nullptr, [&] {
    require(blob != nullptr && size > 0, "the plan is empty ({} bytes at {})", size,
            blob == nullptr ? "a null address" : "an address");
    return engine_of(read_plan({static_cast<const std::byte*>(blob), size}, nullptr, "plan"));
  });
}

template <class Read>
nvinfer1::ICudaEngine* RuntimeView::read(Read&& read, const char* where) noexcept {
  return reporter_.guard<nvinfer1::ICudaEngine*>(
      nullptr,
      [&] {
        StreamBytes bytes;
        fill(bytes, kPlanHeaderBytes, read);
        fill(bytes, plan_file_bytes({bytes.data.get(), bytes.size}), read);
        return engine_of(read_plan({bytes.data.get(), bytes.size}, bytes.data, "plan"));
      },
      where);
}

nvinfer1::ICudaEngine* RuntimeView::deserializeCudaEngine(
    nvinfer1::IStreamReader& streamReader) noexcept {
  return read([&](void* to, int64_t count) { return streamReader.read(to, count); });
}

nvinfer1::ICudaEngine* RuntimeView::deserializeCudaEngineV2(
    nvinfer1::IStreamReaderV2& streamReader) noexcept {
  return read([&](void* to, int64_t count) { return streamReader.read(to, count, nullptr); });
}

nvinfer1::ICudaEngine* RuntimeView::open_plan(const char* path) noexcept {
  return reporter_.guard<nvinfer1::ICudaEngine*>(nullptr, [&] {
    require(path != nullptr && *path != '\0', "the path is empty");
    return engine_of(open_plan_file(path));
  });
}

bool RuntimeView::setMaxThreads(int32_t maxThreads) noexcept {
  return reporter_.run([&] {
    require(maxThreads > 0, "{} threads are not possible", maxThreads);
    set_thread_count(maxThreads);
  });
}

int32_t RuntimeView::getMaxThreads() const noexcept {
  return thread_count();
}

void RuntimeView::setTemporaryDirectory(const char* path) noexcept {
  reporter_.run([&] { host_code_.directory = path != nullptr ? path : ""; });
}

nvinfer1::IPluginRegistry& RuntimeView::getPluginRegistry() noexcept {
  return plugin_registry();
}

nvinfer1::IRuntime* RuntimeView::loadRuntime(const char* path) noexcept {
  return reporter_.guard<nvinfer1::IRuntime*>(nullptr, [&] {
    require(path != nullptr && *path != '\0', "the path is empty");
    // It stays loaded: what it made may outlive this runtime.
    void* const library = open_library(path, "runtime library");
    const auto create = reinterpret_cast<decltype(&createInferRuntime_INTERNAL)>(
        dlsym(library, "createInferRuntime_INTERNAL"));
    if (create == nullptr) dlclose(library);
    require(create != nullptr,
            "{} is no runtime library: it has no createInferRuntime_INTERNAL; name a "
            "libnvinfer_lean.so",
            path);
    auto* const runtime =
        static_cast<nvinfer1::IRuntime*>(create(reporter_.logger(), TENON_TRT_ABI_VERSION));
    require(runtime != nullptr, "{} makes no runtime for programs of TensorRT {}", path,
            TENON_TRT_ABI_VERSION);
    return runtime;
  });
}

}  // namespace tenon
