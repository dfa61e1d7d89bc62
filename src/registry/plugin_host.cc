#include "registry/plugin_host.h"

#include <tenon/plugin_runner.h>

#include <mutex>
#include <shared_mutex>
#include <unordered_map>
#include <utility>

#include "base/current_logger.h"
#include "base/parallel.h"

namespace tenon {
namespace {

// What plugins said of their objects and creators. Never destroyed: those of other libraries may go
// after our statics.
template <class Value> class Said {
 public:
  static Said& all() {
    static Said* all = new Said;
    return *all;
  }
  Value of(const void* object) const {
    const std::shared_lock lock(mutex_);
    const auto it = values_.find(object);
    return it == values_.end() ? Value() : it->second;
  }
  void set(const void* object, Value value) {
    const std::unique_lock lock(mutex_);
    if (value == Value())
      values_.erase(object);
    else
      values_[object] = value;
  }

 private:
  mutable std::shared_mutex mutex_;
  std::unordered_map<const void*, Value> values_;
};
using Kernels = Said<TenonCpuKernel>;
using OnlyOnCpu = Said<bool>;
using Texts = Said<const TenonPluginText*>;

thread_local PluginReports* reports = nullptr;
// The last report without a collector.
thread_local std::string reported;

}  // namespace

PluginReports::PluginReports() : outer_(std::exchange(reports, this)) {}
PluginReports::~PluginReports() {
  reports = outer_;
}

}  // namespace tenon

extern "C" {

void tenonSetCpuKernel(void* plugin, TenonCpuKernel kernel) noexcept {
  tenon::Kernels::all().set(plugin, kernel);
  if (kernel == nullptr) tenon::OnlyOnCpu::all().set(plugin, false);
}

void tenonSetCpuOnly(void* plugin) noexcept {
  tenon::OnlyOnCpu::all().set(plugin, true);
}

bool tenonIsCpuOnly(const void* plugin) noexcept {
  return tenon::OnlyOnCpu::all().of(plugin);
}

TenonCpuKernel tenonCpuKernel(const void* plugin) noexcept {
  return tenon::Kernels::all().of(plugin);
}

void tenonDescribePlugin(const void* creator, const TenonPluginText* text) noexcept {
  tenon::Texts::all().set(creator, text);
}

const TenonPluginText* tenonPluginText(const void* creator) noexcept {
  return tenon::Texts::all().of(creator);
}

void tenonParallelFor(int64_t count, int64_t grain, void (*body)(void*, int64_t, int64_t),
                      void* state) noexcept {
  tenon::parallel_for(count, grain, [&](int64_t begin, int64_t end) { body(state, begin, end); });
}

void tenonReportPluginError(const char* message) noexcept {
  if (message == nullptr) return;
  if (tenon::reports != nullptr) return tenon::reports->add(message);
  tenon::reported = message;
  tenon::write_message(nvinfer1::ILogger::Severity::kERROR, message);
}

const char* tenonTakePluginError() noexcept {
  static thread_local std::string taken;
  taken = std::exchange(tenon::reported, "");
  return taken.c_str();
}
}
