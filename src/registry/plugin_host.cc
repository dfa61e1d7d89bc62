#include "registry/plugin_host.h"

#include <mutex>
#include <shared_mutex>
#include <unordered_map>
#include <utility>

#include "base/parallel.h"

namespace tenon {
namespace {

// Never destroyed: plugin objects of other libraries may go after our statics.
struct Kernels {
  std::shared_mutex mutex;
  std::unordered_map<const void*, TenonCpuKernel> by_plugin;
};
Kernels& kernels() {
  static Kernels* all = new Kernels;
  return *all;
}

thread_local std::string reported;

}  // namespace

TenonCpuKernel cpu_kernel_of(const void* plugin) {
  Kernels& all = kernels();
  const std::shared_lock lock(all.mutex);
  const auto it = all.by_plugin.find(plugin);
  return it == all.by_plugin.end() ? nullptr : it->second;
}

std::string take_plugin_error() {
  const std::string text = std::exchange(reported, "");
  return text.empty() ? text : ": " + text;
}

}  // namespace tenon

extern "C" {

void tenonSetCpuKernel(void* plugin, TenonCpuKernel kernel) noexcept {
  tenon::Kernels& all = tenon::kernels();
  const std::unique_lock lock(all.mutex);
  if (kernel == nullptr)
    all.by_plugin.erase(plugin);
  else
    all.by_plugin[plugin] = kernel;
}

void tenonParallelFor(int64_t count, int64_t grain, void (*body)(void*, int64_t, int64_t),
                      void* state) noexcept {
  tenon::parallel_for(count, grain, [&](int64_t begin, int64_t end) { body(state, begin, end); });
}

void tenonReportPluginError(const char* message) noexcept {
  tenon::reported = message == nullptr ? "" : message;
}
}
