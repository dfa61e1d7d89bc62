#include "check/subject.h"

#include <cuda_runtime_api.h>

namespace tenon::check {
namespace {

class Allocator final : public nvinfer1::IGpuAllocator {
 public:
  void* allocate(uint64_t size, uint64_t, nvinfer1::AllocatorFlags) noexcept override {
    void* memory = nullptr;
    return size > 0 && cudaMalloc(&memory, size) == cudaSuccess ? memory : nullptr;
  }
  bool deallocate(void* memory) noexcept override { return cudaFree(memory) == cudaSuccess; }
};

}  // namespace

std::string text_or_empty(const char* text) {
  return text == nullptr ? "" : text;
}

std::string shape_text(const nvinfer1::Dims& dims) {
  return dims.nbDims == 0 ? "scalar"
                          : fmt::format("{}", fmt::join(dims.d, dims.d + dims.nbDims, "x"));
}

std::string plugin_log() {
  const std::string text = tenonTakePluginError();
  return text.empty() ? "" : " (" + text + ")";
}

std::string Identity::text() const {
  return fmt::format("{} version {}{}", name, version,
                     name_space.empty() ? "" : " of namespace " + name_space);
}

nvinfer1::IGpuAllocator& allocator() {
  static Allocator allocator;
  return allocator;
}

std::unique_ptr<Creator> make_creator(nvinfer1::IPluginCreatorInterface& creator) {
  const std::string kind = text_or_empty(creator.getInterfaceInfo().kind);
  if (kind == "PLUGIN CREATOR_V1")
    return make_creator_v2(static_cast<nvinfer1::IPluginCreator&>(creator));
  if (kind == "PLUGIN CREATOR_V3ONE")
    return make_creator_v3(static_cast<nvinfer1::v_1_0::IPluginCreatorV3One&>(creator));
  return nullptr;
}

std::vector<PluginTensorDesc> descs_of(const Tensors& tensors) {
  std::vector<PluginTensorDesc> list;
  for (const Tensor& t : tensors) list.push_back(t.desc);
  return list;
}

std::vector<nvinfer1::DynamicPluginTensorDesc> dynamic_of(const Tensors& tensors) {
  std::vector<nvinfer1::DynamicPluginTensorDesc> list;
  for (const Tensor& t : tensors) {
    nvinfer1::DynamicPluginTensorDesc& d = list.emplace_back();
    d.desc = t.desc;
    d.min = d.max = d.opt = t.max;
  }
  return list;
}

OutputShape read_shape(const nvinfer1::DimsExprs& shape, int output) {
  OutputShape read;
  read.dims.nbDims = read.max.nbDims = shape.nbDims;
  if (shape.nbDims < 0 || shape.nbDims > nvinfer1::Dims::MAX_DIMS)
    throw Broken{fmt::format("a shape of 0 to 8 dimensions for output {}", output),
                 fmt::format("{} dimensions{}", shape.nbDims, plugin_log())};
  for (int i = 0; i < shape.nbDims; ++i) {
    if (shape.d[i] == nullptr)
      throw Broken{fmt::format("an expression for dimension {} of output {}", i, output),
                   "a null pointer" + plugin_log()};
    read.max.d[i] = shape.d[i]->getConstantValue();
    read.dims.d[i] = shape.d[i]->isConstant() ? read.max.d[i] : -1;
    if (read.max.d[i] < 0)
      throw Broken{fmt::format("an extent for dimension {} of output {}", i, output),
                   std::to_string(read.max.d[i])};
  }
  return read;
}

void require_success(const char* call, int32_t status) {
  if (status != 0)
    throw Broken{fmt::format("0 from {}()", call), fmt::format("{}{}", status, plugin_log())};
}

}  // namespace tenon::check
