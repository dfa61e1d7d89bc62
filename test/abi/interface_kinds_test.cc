// The kind and version that each versioned interface reports; the library tells objects apart by
// it.
#include <gtest/gtest.h>

#include <string>

#include "NvInfer.h"
#include "impl/NvInferPythonPlugin.h"

namespace nvinfer1 {
namespace {

struct ErrorRecorder : IErrorRecorder {
  int32_t getNbErrors() const noexcept override { return 0; }
  ErrorCode getErrorCode(int32_t) const noexcept override { return ErrorCode::kSUCCESS; }
  ErrorDesc getErrorDesc(int32_t) const noexcept override { return ""; }
  bool hasOverflowed() const noexcept override { return false; }
  void clear() noexcept override {}
  bool reportError(ErrorCode, ErrorDesc) noexcept override { return false; }
  RefCount incRefCount() noexcept override { return 1; }
  RefCount decRefCount() noexcept override { return 0; }
};

struct Allocator : IGpuAllocator {
  void* allocate(uint64_t, uint64_t, AllocatorFlags) noexcept override { return &memory; }
  bool deallocate(void*) noexcept override { return true; }
  int memory = 0;
};

struct Allocator8x : IGpuAllocator {
  void* allocate(uint64_t, uint64_t, AllocatorFlags) noexcept override { return nullptr; }
  void free(void* memory) noexcept override { freed = memory; }
  void* freed = nullptr;
};

struct AsyncAllocator : IGpuAsyncAllocator {
  void* allocateAsync(uint64_t, uint64_t, AllocatorFlags, cudaStream_t) noexcept override {
    return this;
  }
  bool deallocateAsync(void* memory, cudaStream_t) noexcept override { return memory == this; }
};

struct OutputAllocator : IOutputAllocator {
  void notifyShape(const char*, const Dims&) noexcept override {}
};

struct Reader : IStreamReader {
  int64_t read(void*, int64_t) override { return 0; }
};

struct ReaderV2 : IStreamReaderV2 {
  int64_t read(void*, int64_t, cudaStream_t) noexcept override { return 0; }
  bool seek(int64_t, SeekPosition) noexcept override { return false; }
};

struct Writer : IStreamWriter {
  int64_t write(const void*, int64_t) override { return 0; }
};

struct DebugListener : IDebugListener {
  bool processDebugTensor(const void*, TensorLocation, DataType, const Dims&, const char*,
                          cudaStream_t) override {
    return true;
  }
};

struct ProgressMonitor : IProgressMonitor {
  void phaseStart(const char*, const char*, int32_t) noexcept override {}
  bool stepComplete(const char*, int32_t) noexcept override { return true; }
  void phaseFinish(const char*) noexcept override {}
};

struct AlgorithmSelector : IAlgorithmSelector {
  int32_t selectAlgorithms(const IAlgorithmContext&, const IAlgorithm* const*, int32_t,
                           int32_t*) noexcept override {
    return 0;
  }
  void reportAlgorithms(const IAlgorithmContext* const*, const IAlgorithm* const*,
                        int32_t) noexcept override {}
};

template <typename Interface> struct Calibrator : Interface {
  int32_t getBatchSize() const noexcept override { return 1; }
  bool getBatch(void*[], const char*[], int32_t) noexcept override { return false; }
  const void* readCalibrationCache(size_t&) noexcept override { return nullptr; }
  void writeCalibrationCache(const void*, size_t) noexcept override {}
};

struct LegacyCalibrator : Calibrator<IInt8LegacyCalibrator> {
  double getQuantile() const noexcept override { return 1.0; }
  double getRegressionCutoff() const noexcept override { return 1.0; }
  const void* readHistogramCache(size_t&) noexcept override { return nullptr; }
  void writeHistogramCache(const void*, size_t) noexcept override {}
};

struct Resource : IPluginResource {
  int32_t release() noexcept override { return 0; }
  IPluginResource* clone() noexcept override { return nullptr; }
};

struct PluginV3 : IPluginV3 {
  IPluginCapability* getCapabilityInterface(PluginCapabilityType) noexcept override {
    return nullptr;
  }
  IPluginV3* clone() noexcept override { return nullptr; }
};

template <typename Interface> struct Core : Interface {
  const AsciiChar* getPluginName() const noexcept override { return "Plugin"; }
  const AsciiChar* getPluginVersion() const noexcept override { return "1"; }
  const AsciiChar* getPluginNamespace() const noexcept override { return ""; }
};

template <typename Interface> struct OneBuild : Interface {
  int32_t configurePlugin(const DynamicPluginTensorDesc*, int32_t, const DynamicPluginTensorDesc*,
                          int32_t) noexcept override {
    return 0;
  }
  int32_t getOutputDataTypes(DataType*, int32_t, const DataType*, int32_t) const noexcept override {
    return 0;
  }
  int32_t getOutputShapes(const DimsExprs*, int32_t, const DimsExprs*, int32_t, DimsExprs*, int32_t,
                          IExprBuilder&) noexcept override {
    return 0;
  }
  bool supportsFormatCombination(int32_t, const DynamicPluginTensorDesc*, int32_t,
                                 int32_t) noexcept override {
    return true;
  }
  int32_t getNbOutputs() const noexcept override { return 1; }
};

struct OneRuntime : IPluginV3OneRuntime {
  int32_t onShapeChange(const PluginTensorDesc*, int32_t, const PluginTensorDesc*,
                        int32_t) noexcept override {
    return 0;
  }
  int32_t enqueue(const PluginTensorDesc*, const PluginTensorDesc*, const void* const*,
                  void* const*, void*, cudaStream_t) noexcept override {
    return 0;
  }
  IPluginV3* attachToContext(IPluginResourceContext*) noexcept override { return nullptr; }
  const PluginFieldCollection* getFieldsToSerialize() noexcept override { return nullptr; }
};

template <typename Interface> struct QuickBuild : Interface {
  int32_t getOutputDataTypes(DataType*, int32_t, const DataType*, const int32_t*,
                             int32_t) const noexcept override {
    return 0;
  }
  int32_t getOutputShapes(const DimsExprs*, int32_t, const DimsExprs*, int32_t, DimsExprs*, int32_t,
                          IExprBuilder&) noexcept override {
    return 0;
  }
  int32_t configurePlugin(const DynamicPluginTensorDesc*, int32_t, const DynamicPluginTensorDesc*,
                          int32_t) noexcept override {
    return 0;
  }
  int32_t getNbSupportedFormatCombinations(const DynamicPluginTensorDesc*, int32_t,
                                           int32_t) noexcept override {
    return 0;
  }
  int32_t getSupportedFormatCombinations(const DynamicPluginTensorDesc*, int32_t, int32_t,
                                         PluginTensorDesc*, int32_t) noexcept override {
    return 0;
  }
  int32_t getNbOutputs() const noexcept override { return 1; }
};

struct QuickAotBuild : QuickBuild<IPluginV3QuickAOTBuild> {
  int32_t getLaunchParams(const DimsExprs*, const DynamicPluginTensorDesc*, int32_t, int32_t,
                          IKernelLaunchParams*, ISymExprs*, IExprBuilder&) noexcept override {
    return 0;
  }
  int32_t getKernel(const PluginTensorDesc*, int32_t, const PluginTensorDesc*, int32_t,
                    const char**, char**, int32_t*) noexcept override {
    return 0;
  }
};

struct QuickRuntime : IPluginV3QuickRuntime {
  int32_t enqueue(const PluginTensorDesc*, const PluginTensorDesc*, const void* const*,
                  void* const*, const Dims*, const Dims*, int32_t, int32_t,
                  cudaStream_t) noexcept override {
    return 0;
  }
  const PluginFieldCollection* getFieldsToSerialize() noexcept override { return nullptr; }
};

struct CreatorV1 : Core<IPluginCreator> {
  const PluginFieldCollection* getFieldNames() noexcept override { return nullptr; }
  IPluginV2* createPlugin(const AsciiChar*, const PluginFieldCollection*) noexcept override {
    return nullptr;
  }
  IPluginV2* deserializePlugin(const AsciiChar*, const void*, size_t) noexcept override {
    return nullptr;
  }
  void setPluginNamespace(const AsciiChar*) noexcept override {}
};

struct CreatorV3One : Core<IPluginCreatorV3One> {
  IPluginV3* createPlugin(const AsciiChar*, const PluginFieldCollection*,
                          TensorRTPhase) noexcept override {
    return nullptr;
  }
  const PluginFieldCollection* getFieldNames() noexcept override { return nullptr; }
};

struct CreatorV3Quick : Core<IPluginCreatorV3Quick> {
  IPluginV3* createPlugin(const AsciiChar*, const AsciiChar*, const PluginFieldCollection*,
                          TensorRTPhase, QuickPluginCreationRequest) noexcept override {
    return nullptr;
  }
  const PluginFieldCollection* getFieldNames() noexcept override { return nullptr; }
};

template <typename Implementation> std::string kind_of() {
  Implementation object;
  const IVersionedInterface& seen_by_library = object;
  EXPECT_EQ(seen_by_library.getAPILanguage(), APILanguage::kCPP);
  const InterfaceInfo info = seen_by_library.getInterfaceInfo();
  return std::string(info.kind) + " " + std::to_string(info.major) + "."
         + std::to_string(info.minor);
}

TEST(InterfaceKinds, OfApplicationInterfaces) {
  EXPECT_EQ(kind_of<ErrorRecorder>(), "IErrorRecorder 1.0");
  EXPECT_EQ(kind_of<Allocator>(), "IGpuAllocator 1.0");
  EXPECT_EQ(kind_of<AsyncAllocator>(), "IGpuAllocator 1.0");
  EXPECT_EQ(kind_of<OutputAllocator>(), "IOutputAllocator 1.0");
  EXPECT_EQ(kind_of<Reader>(), "IStreamReader 1.0");
  EXPECT_EQ(kind_of<ReaderV2>(), "IStreamReaderV2 1.0");
  EXPECT_EQ(kind_of<Writer>(), "IStreamWriter 1.0");
  EXPECT_EQ(kind_of<DebugListener>(), "IDebugListener 1.0");
  EXPECT_EQ(kind_of<ProgressMonitor>(), "IProgressMonitor 1.0");
  EXPECT_EQ(kind_of<AlgorithmSelector>(), "IAlgorithmSelector 1.0");
}

TEST(InterfaceKinds, OfCalibrators) {
  EXPECT_EQ(kind_of<Calibrator<IInt8EntropyCalibrator>>(), "IInt8EntropyCalibrator 1.0");
  EXPECT_EQ(kind_of<Calibrator<IInt8EntropyCalibrator2>>(), "IInt8EntropyCalibrator2 1.0");
  EXPECT_EQ(kind_of<Calibrator<IInt8MinMaxCalibrator>>(), "IInt8MinMaxCalibrator 1.0");
  EXPECT_EQ(kind_of<LegacyCalibrator>(), "IInt8Calibrator 1.0");
}

TEST(InterfaceKinds, OfPlugins) {
  EXPECT_EQ(kind_of<Resource>(), "IPluginResource 1.0");
  EXPECT_EQ(kind_of<PluginV3>(), "PLUGIN 1.0");
  EXPECT_EQ(kind_of<Core<IPluginV3OneCore>>(), "PLUGIN_V3ONE_CORE 1.0");
  EXPECT_EQ(kind_of<OneBuild<IPluginV3OneBuild>>(), "PLUGIN_V3ONE_BUILD 1.0");
  EXPECT_EQ(kind_of<OneBuild<IPluginV3OneBuildV2>>(), "PLUGIN_V3ONE_BUILD 2.0");
  EXPECT_EQ(kind_of<OneRuntime>(), "PLUGIN_V3ONE_RUNTIME 1.0");
  EXPECT_EQ(kind_of<Core<IPluginV3QuickCore>>(), "PLUGIN_V3QUICK_CORE 1.0");
  EXPECT_EQ(kind_of<QuickBuild<IPluginV3QuickBuild>>(), "PLUGIN_V3QUICK_BUILD 1.0");
  EXPECT_EQ(kind_of<QuickAotBuild>(), "PLUGIN_V3QUICKAOT_BUILD 1.0");
  EXPECT_EQ(kind_of<QuickRuntime>(), "PLUGIN_V3QUICK_RUNTIME 1.0");
}

TEST(InterfaceKinds, OfPluginCreators) {
  EXPECT_EQ(kind_of<CreatorV1>(), "PLUGIN CREATOR_V1 1.0");
  EXPECT_EQ(kind_of<CreatorV3One>(), "PLUGIN CREATOR_V3ONE 1.0");
  EXPECT_EQ(kind_of<CreatorV3Quick>(), "PLUGIN CREATOR_V3QUICK 1.0");
}

TEST(Allocators, AsynchronousCallsFallBackToSynchronousOnes) {
  Allocator allocator;
  IGpuAllocator& seen_by_library = allocator;
  EXPECT_EQ(seen_by_library.allocateAsync(4, 4, 0, nullptr), &allocator.memory);
  EXPECT_TRUE(seen_by_library.deallocateAsync(&allocator.memory, nullptr));
  EXPECT_EQ(seen_by_library.reallocate(&allocator.memory, 4, 8), nullptr);
}

TEST(Allocators, SynchronousCallsOfAsyncAllocatorsUseTheDefaultStream) {
  AsyncAllocator allocator;
  IGpuAllocator& seen_by_library = allocator;
  EXPECT_EQ(seen_by_library.allocate(4, 4, 0), &allocator);
  EXPECT_TRUE(seen_by_library.deallocate(&allocator));
}

TEST(Allocators, DeallocateFreesThroughAllocatorsWrittenFor8x) {
  Allocator8x allocator;
  IGpuAllocator& seen_by_library = allocator;
  int memory = 0;
  EXPECT_TRUE(seen_by_library.deallocate(&memory));
  EXPECT_EQ(allocator.freed, &memory);
}

}  // namespace
}  // namespace nvinfer1
