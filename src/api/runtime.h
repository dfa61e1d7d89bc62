// IRuntime: opens plans.
#pragma once

#include <NvInfer.h>

#include <string>

#include "api/guard.h"
#include "api/live.h"
#include "api/plan_libraries.h"

namespace tenon {

class RuntimeView final : public nvinfer1::IRuntime,
                          public nvinfer1::apiv::VRuntime,
                          public Live<RuntimeView, nvinfer1::IRuntime> {
 public:
  explicit RuntimeView(nvinfer1::ILogger& logger);
  /// Maps the file, so that weights are read when they are used.
  nvinfer1::ICudaEngine* open_plan(const char* path) noexcept;

  nvinfer1::IRuntime* getPImpl() noexcept override { return this; }
  nvinfer1::ICudaEngine* deserializeCudaEngine(const void* blob, size_t size) noexcept override;
  nvinfer1::ICudaEngine* deserializeCudaEngine(
      nvinfer1::IStreamReader& streamReader) noexcept override;
  void setDLACore(int32_t dlaCore) noexcept override { ignore_dla_core(dlaCore, reporter_); }
  int32_t getDLACore() const noexcept override { return -1; }
  int32_t getNbDLACores() const noexcept override { return 0; }
  void setGpuAllocator(nvinfer1::IGpuAllocator* allocator) noexcept override {
    allocator_ = allocator;
  }
  void setErrorRecorder(nvinfer1::IErrorRecorder* recorder) noexcept override {
    reporter_.set_recorder(recorder);
  }
  nvinfer1::IErrorRecorder* getErrorRecorder() const noexcept override {
    return reporter_.recorder();
  }
  nvinfer1::ILogger* getLogger() const noexcept override { return reporter_.logger(); }
  bool setMaxThreads(int32_t maxThreads) noexcept override;
  int32_t getMaxThreads() const noexcept override;
  void setTemporaryDirectory(const char* path) noexcept override;
  const char* getTemporaryDirectory() const noexcept override {
    return host_code_.directory.empty() ? nullptr : host_code_.directory.c_str();
  }
  void setTempfileControlFlags(nvinfer1::TempfileControlFlags flags) noexcept override {
    host_code_.files = flags;
  }
  nvinfer1::TempfileControlFlags getTempfileControlFlags() const noexcept override {
    return host_code_.files;
  }
  nvinfer1::IPluginRegistry& getPluginRegistry() noexcept override;
  void setPluginRegistryParent(nvinfer1::IPluginRegistry*) noexcept override {}
  nvinfer1::IRuntime* loadRuntime(const char* path) noexcept override;
  void setEngineHostCodeAllowed(bool allowed) noexcept override { host_code_.allowed = allowed; }
  bool getEngineHostCodeAllowed() const noexcept override { return host_code_.allowed; }
  nvinfer1::ICudaEngine* deserializeCudaEngineV2(
      nvinfer1::IStreamReaderV2& streamReader) noexcept override;

 private:
  nvinfer1::ICudaEngine* engine_of(Plan plan) const;
  template <class Read>
  nvinfer1::ICudaEngine* read(Read&& read, const char* where = __builtin_FUNCTION()) noexcept;

  Reporter reporter_;
  nvinfer1::IGpuAllocator* allocator_ = nullptr;
  HostCode host_code_;
};

}  // namespace tenon
