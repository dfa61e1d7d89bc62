// Plugins with kernels, for the modes of `tenon plugins check`: a sound one, and others with one
// fault each.
#include <NvInferRuntime.h>
#include <cuda_runtime.h>

#include <string>
#include <vector>

namespace {

using namespace nvinfer1;  // NOLINT: the file is all about it

constexpr int kThreads = 64;

// Elements of a block in reverse order.
__global__ void sound(const float* x, float* y, int n, int*) {
  __shared__ float all[kThreads];
  const int first = blockIdx.x * kThreads, count = min(kThreads, n - first), t = threadIdx.x;
  if (t < count) all[t] = x[first + t];
  __syncthreads();
  if (t < count) y[first + t] = all[count - 1 - t];
}

__global__ void missing_barrier(const float* x, float* y, int n, int*) {
  __shared__ float all[kThreads];
  const int first = blockIdx.x * kThreads, count = min(kThreads, n - first), t = threadIdx.x;
  if (t < count) all[t] = x[first + t];              // first
  if (t < count) y[first + t] = all[count - 1 - t];  // second
}

__global__ void reads_behind(const float* x, float* y, int n, int*) {
  const int i = blockIdx.x * kThreads + threadIdx.x;
  if (i < n) y[i] = x[i] + 0 * x[i + 1000];  // here
}

__global__ void writes_shared(const float* x, float* y, int n, int*) {
  __shared__ float all[kThreads];
  const int i = blockIdx.x * kThreads + threadIdx.x;
  all[threadIdx.x + 1] = i < n ? x[i] : 0;  // here
  __syncthreads();
  if (i < n) y[i] = all[threadIdx.x + 1];
}

// Places are given to those who come first.
__global__ void depends_on_order(const float* x, float* y, int n, int* taken) {
  const int i = blockIdx.x * kThreads + threadIdx.x;
  if (i < n) y[atomicAdd(taken, 1)] = x[i];
}

__global__ void waits_apart(const float* x, float* y, int n, int*) {
  const int i = blockIdx.x * kThreads + threadIdx.x;
  if (i < n) y[i] = x[i];
  if (threadIdx.x < 3)
    __syncthreads();
  else
    __syncthreads();  // here
}

__global__ void passes_on(const float* x, float* y, int n, int* turn) {
  const int i = threadIdx.x;
  while (*static_cast<volatile int*>(turn) != kThreads - 1 - i) {}
  if (i < n) y[i] = x[i];
  atomicAdd(turn, 1);
}

using Kernel = void (*)(const float*, float*, int, int*);

class Plugin final : public IPluginV2DynamicExt {
 public:
  Plugin(const char* name, Kernel kernel) : name_(name), kernel_(kernel) {}
  const AsciiChar* getPluginType() const noexcept override { return name_; }
  const AsciiChar* getPluginVersion() const noexcept override { return "1"; }
  int32_t getNbOutputs() const noexcept override { return 1; }
  int32_t initialize() noexcept override { return 0; }
  void terminate() noexcept override {}
  size_t getSerializationSize() const noexcept override { return 1; }
  void serialize(void* buffer) const noexcept override { *static_cast<char*>(buffer) = 'p'; }
  void destroy() noexcept override { delete this; }
  void setPluginNamespace(const AsciiChar* name) noexcept override { name_space_ = name; }
  const AsciiChar* getPluginNamespace() const noexcept override { return name_space_.c_str(); }
  DataType getOutputDataType(int32_t, const DataType* types, int32_t) const noexcept override {
    return types[0];
  }
  IPluginV2DynamicExt* clone() const noexcept override { return new Plugin(*this); }
  DimsExprs getOutputDimensions(int32_t, const DimsExprs* inputs, int32_t,
                                IExprBuilder&) noexcept override {
    return inputs[0];
  }
  bool supportsFormatCombination(int32_t position, const PluginTensorDesc* all, int32_t,
                                 int32_t) noexcept override {
    return all[position].type == DataType::kFLOAT && all[position].format == TensorFormat::kLINEAR;
  }
  void configurePlugin(const DynamicPluginTensorDesc*, int32_t, const DynamicPluginTensorDesc*,
                       int32_t) noexcept override {}
  size_t getWorkspaceSize(const PluginTensorDesc*, int32_t, const PluginTensorDesc*,
                          int32_t) const noexcept override {
    return sizeof(int);
  }
  int32_t enqueue(const PluginTensorDesc* in, const PluginTensorDesc*, const void* const* inputs,
                  void* const* outputs, void* workspace, cudaStream_t stream) noexcept override {
    int n = 1;
    for (int i = 0; i < in[0].dims.nbDims; ++i) n *= static_cast<int>(in[0].dims.d[i]);
    if (n == 0) return 0;
    auto* const taken = static_cast<int*>(workspace);
    cudaMemsetAsync(taken, 0, sizeof(int), stream);
    const auto* const x = static_cast<const float*>(inputs[0]);
    kernel_<<<(n + kThreads - 1) / kThreads, kThreads, 0, stream>>>(
        x, static_cast<float*>(outputs[0]), n, taken);
    return cudaGetLastError();
  }

 private:
  const char* name_;
  Kernel kernel_;
  std::string name_space_;
};

class Creator final : public IPluginCreator {
 public:
  Creator(const char* name, Kernel kernel) : name_(name), kernel_(kernel) {}
  const AsciiChar* getPluginName() const noexcept override { return name_; }
  const AsciiChar* getPluginVersion() const noexcept override { return "1"; }
  const PluginFieldCollection* getFieldNames() noexcept override { return &fields_; }
  IPluginV2* createPlugin(const AsciiChar*, const PluginFieldCollection*) noexcept override {
    return new Plugin(name_, kernel_);
  }
  IPluginV2* deserializePlugin(const AsciiChar*, const void*, size_t) noexcept override {
    return new Plugin(name_, kernel_);
  }
  void setPluginNamespace(const AsciiChar*) noexcept override {}
  const AsciiChar* getPluginNamespace() const noexcept override { return ""; }

 private:
  const char* name_;
  Kernel kernel_;
  PluginFieldCollection fields_{0, nullptr};
};

}  // namespace

extern "C" IPluginCreator* const* getPluginCreators(int32_t& count) {
  static Creator creators[] = {
      {"Sound", sound},
      {"MissingBarrier", missing_barrier},
      {"ReadsBehind", reads_behind},
      {"WritesShared", writes_shared},
      {"DependsOnOrder", depends_on_order},
      {"WaitsApart", waits_apart},
      {"PassesOn", passes_on},
  };
  static std::vector<IPluginCreator*> all;
  if (all.empty())
    for (Creator& creator : creators) all.push_back(&creator);
  count = static_cast<int32_t>(all.size());
  return all.data();
}
