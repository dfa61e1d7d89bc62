// Plugins of version 2: IPluginV2, IPluginV2Ext, IPluginV2IOExt and IPluginV2DynamicExt.
#include <tenon/plugin/number_builder.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "check/gpu.h"
#include "check/subject.h"

namespace tenon::check {
namespace {

using nvinfer1::Dims;
using nvinfer1::IPluginV2;
using nvinfer1::IPluginV2DynamicExt;
using nvinfer1::IPluginV2Ext;
using nvinfer1::IPluginV2IOExt;
using nvinfer1::TensorFormat;

std::vector<Dims> dims_of(const Tensors& tensors) {
  std::vector<Dims> list;
  for (const Tensor& t : tensors) list.push_back(t.desc.dims);
  return list;
}

std::vector<DataType> types_of(const Tensors& tensors) {
  std::vector<DataType> list;
  for (const Tensor& t : tensors) list.push_back(t.desc.type);
  return list;
}

bool is_floating(DataType type) {
  return type == DataType::kFLOAT || type == DataType::kHALF || type == DataType::kBF16;
}

// The one format of those that families without descriptions of each tensor speak of: the
// floating-point ones.
TensorFormat format_of(const Tensors& inputs, const Tensors& outputs) {
  for (const Tensors* list : {&inputs, &outputs})
    for (const Tensor& t : *list)
      if (is_floating(t.desc.type)) return t.desc.format;
  return inputs.empty() ? TensorFormat::kLINEAR : inputs[0].desc.format;
}

std::unique_ptr<Subject> adopt(IPluginV2& plugin);

// A plugin that keeps to shapes it was configured with. Batches have one item, whose dimensions are
// all those of the tensor, as in the engine.
class Basic : public Subject {
 public:
  explicit Basic(IPluginV2& plugin) : plugin_(plugin) {}
  Basic(const Basic&) = delete;
  ~Basic() override {
    if (is_attached_) detach();
    if (is_initialized_) plugin_.terminate();
    plugin_.destroy();
  }

  const char* family() const override { return "IPluginV2"; }
  Identity identity() const override {
    return {text_or_empty(plugin_.getPluginType()), text_or_empty(plugin_.getPluginVersion()),
            text_or_empty(plugin_.getPluginNamespace())};
  }
  int output_count() const override { return plugin_.getNbOutputs(); }
  std::unique_ptr<Subject> clone() const override {
    IPluginV2* copy = plugin_.clone();
    if (copy == nullptr) throw Broken{"a plugin from clone()", "null" + plugin_log()};
    return adopt(*copy);
  }
  bool set_name_space(const char* name_space) const override {
    plugin_.setPluginNamespace(name_space);
    return true;
  }
  std::string serialized() const override;

  std::vector<OutputShape> output_shapes(const std::vector<Dims>& inputs,
                                         const std::vector<std::vector<int64_t>>&) const override {
    std::vector<OutputShape> list;
    for (int i = 0; i < output_count(); ++i) {
      const Dims dims = plugin_.getOutputDimensions(i, inputs.data(), count(inputs));
      bool is_valid = dims.nbDims >= 0 && dims.nbDims <= Dims::MAX_DIMS;
      for (int d = 0; is_valid && d < dims.nbDims; ++d) is_valid = dims.d[d] >= 0;
      if (!is_valid)
        throw Broken{fmt::format("a shape for output {} from getOutputDimensions()", i),
                     fmt::format("{} dimensions, or a negative extent", dims.nbDims)};
      list.push_back({dims, dims});
    }
    return list;
  }
  std::vector<DataType> output_types(const std::vector<DataType>& inputs) const override {
    return std::vector<DataType>(static_cast<size_t>(output_count()),
                                 inputs.empty() ? DataType::kFLOAT : inputs[0]);
  }
  bool supports(int position, const Tensors& all, int) const override {
    const PluginTensorDesc& t = all[static_cast<size_t>(position)].desc;
    return t.type == all[0].desc.type && t.format == all[0].desc.format
           && plugin_.supportsFormat(t.type, t.format);
  }
  void configure(const Tensors& inputs, const Tensors& outputs) const override {
    const auto in = dims_of(inputs), out = dims_of(outputs);
    plugin_.configureWithFormat(in.data(), count(in), out.data(), count(out),
                                inputs.empty() ? DataType::kFLOAT : inputs[0].desc.type,
                                format_of(inputs, outputs), kBatch);
  }
  size_t workspace_bytes(const Tensors&, const Tensors&) const override {
    return plugin_.getWorkspaceSize(kBatch);
  }
  std::unique_ptr<Subject> attach(const Tensors& inputs, const Tensors& outputs) override {
    if (!is_initialized_) require_success("initialize", plugin_.initialize());
    is_initialized_ = true;
    std::unique_ptr<Subject> copy = clone();
    auto& context = static_cast<Basic&>(*copy);
    context.enter(inputs, outputs);
    context.is_attached_ = true;
    return copy;
  }
  int aliased_input(int) const override { return -1; }
  int32_t enqueue(const Tensors&, const Tensors&, const void* const* input_data,
                  void* const* output_data, void* workspace, cudaStream_t stream) const override {
    return plugin_.enqueue(kBatch, input_data, output_data, workspace, stream);
  }
  void* object() const override { return &plugin_; }

 protected:
  static constexpr int32_t kBatch = 1;
  virtual void enter(const Tensors&, const Tensors&) {}

  IPluginV2& plugin_;
  bool is_ext_ = false;                           // ~Basic() can ask no virtual function
  std::array<std::shared_ptr<void>, 2> handles_;  // the context's own, until the plugin is gone

 private:
  void detach() const {
    if (is_ext_) static_cast<IPluginV2Ext&>(plugin_).detachFromContext();
  }
  bool is_initialized_ = false, is_attached_ = false;
};

std::string Basic::serialized() const {
  constexpr size_t kZone = 4096;
  const size_t size = plugin_.getSerializationSize();
  if (size > size_t{1} << 30)
    throw Broken{"a size from getSerializationSize()", fmt::format("{} bytes", size)};
  std::string first;
  size_t unwritten = size;  // how many bytes at the end no call has written
  for (const char fill : {'\x5a', '\xa5'}) {
    std::string memory(size + 2 * kZone, fill);
    plugin_.serialize(memory.data() + kZone);
    const auto changed = [&](size_t from, size_t bytes) {
      size_t n = 0;
      for (size_t i = from; i < from + bytes; ++i) n += memory[i] != fill;
      return n;
    };
    if (changed(0, kZone) > 0)
      throw Broken{"serialize() to write nothing before its buffer",
                   fmt::format("{} bytes written there", changed(0, kZone))};
    if (changed(kZone + size, kZone) > 0)
      throw Broken{fmt::format("serialize() to write the {} bytes of getSerializationSize()", size),
                   fmt::format("{} bytes written behind them", changed(kZone + size, kZone))};
    size_t end = 0;
    while (end < unwritten && memory[kZone + size - 1 - end] == fill) ++end;
    unwritten = end;
    first = memory.substr(kZone, size);
  }
  if (unwritten > 0)
    throw Broken{fmt::format("serialize() to write the {} bytes of getSerializationSize()", size),
                 fmt::format("the last {} not written", unwritten)};
  return first;
}

class Ext : public Basic {
 public:
  explicit Ext(IPluginV2& plugin) : Basic(plugin) { is_ext_ = true; }
  const char* family() const override { return "IPluginV2Ext"; }
  std::vector<DataType> output_types(const std::vector<DataType>& inputs) const override {
    std::vector<DataType> list;
    for (int i = 0; i < output_count(); ++i)
      list.push_back(ext().getOutputDataType(i, inputs.data(), count(inputs)));
    return list;
  }
  // It speaks of its floating-point tensors; others come behind them.
  bool supports(int position, const Tensors& all, int) const override {
    const PluginTensorDesc& t = all[static_cast<size_t>(position)].desc;
    const bool is_beside = !is_floating(t.type) && t.format == TensorFormat::kLINEAR
                           && std::any_of(all.begin(), all.begin() + position,
                                          [](const Tensor& v) { return is_floating(v.desc.type); });
    return is_beside
           || (t.format == format_of(all, {}) && plugin_.supportsFormat(t.type, t.format));
  }
  void configure(const Tensors& inputs, const Tensors& outputs) const override {
    const auto in = dims_of(inputs), out = dims_of(outputs);
    const auto in_types = types_of(inputs), out_types = types_of(outputs);
    const auto shared = std::make_unique<bool[]>(in.size() + out.size());
    ext().configurePlugin(in.data(), count(in), out.data(), count(out), in_types.data(),
                          out_types.data(), shared.get(), shared.get() + in.size(),
                          format_of(inputs, outputs), kBatch);
  }

 protected:
  void enter(const Tensors&, const Tensors&) override {
    handles_ = {make_cudnn_handle(), make_cublas_handle()};
    ext().attachToContext(static_cast<cudnnContext*>(handles_[0].get()),
                          static_cast<cublasContext*>(handles_[1].get()), &allocator());
  }
  IPluginV2Ext& ext() const { return static_cast<IPluginV2Ext&>(plugin_); }
};

class IOExt final : public Ext {
 public:
  using Ext::Ext;
  const char* family() const override { return "IPluginV2IOExt"; }
  bool supports(int position, const Tensors& all, int inputs) const override {
    const auto descs = descs_of(all);
    return io().supportsFormatCombination(position, descs.data(), inputs, count(descs) - inputs);
  }
  void configure(const Tensors& inputs, const Tensors& outputs) const override {
    const auto in = descs_of(inputs), out = descs_of(outputs);
    io().configurePlugin(in.data(), count(in), out.data(), count(out));
  }

 private:
  IPluginV2IOExt& io() const { return static_cast<IPluginV2IOExt&>(plugin_); }
};

class Dynamic final : public Ext {
 public:
  using Ext::Ext;
  const char* family() const override { return "IPluginV2DynamicExt"; }
  std::vector<OutputShape> output_shapes(const std::vector<Dims>& inputs,
                                         const std::vector<std::vector<int64_t>>&) const override {
    kit::testing::NumberBuilder builder;
    std::vector<nvinfer1::DimsExprs> in;
    for (const Dims& d : inputs) in.push_back(builder.expressions(d.d, d.nbDims));
    std::vector<OutputShape> list;
    for (int i = 0; i < output_count(); ++i)
      list.push_back(
          read_shape(dynamic().getOutputDimensions(i, in.data(), count(in), builder), i));
    return list;
  }
  bool supports(int position, const Tensors& all, int inputs) const override {
    const auto descs = descs_of(all);
    return dynamic().supportsFormatCombination(position, descs.data(), inputs,
                                               count(descs) - inputs);
  }
  void configure(const Tensors& inputs, const Tensors& outputs) const override {
    const auto in = dynamic_of(inputs), out = dynamic_of(outputs);
    dynamic().configurePlugin(in.data(), count(in), out.data(), count(out));
  }
  size_t workspace_bytes(const Tensors& inputs, const Tensors& outputs) const override {
    const auto in = descs_of(inputs), out = descs_of(outputs);
    return dynamic().getWorkspaceSize(in.data(), count(in), out.data(), count(out));
  }
  int32_t enqueue(const Tensors& inputs, const Tensors& outputs, const void* const* input_data,
                  void* const* output_data, void* workspace, cudaStream_t stream) const override {
    const auto in = descs_of(inputs), out = descs_of(outputs);
    return dynamic().enqueue(in.data(), out.data(), input_data, output_data, workspace, stream);
  }

 protected:
  void enter(const Tensors& inputs, const Tensors& outputs) override {
    Ext::enter(inputs, outputs);
    configure(inputs, outputs);
  }

 private:
  IPluginV2DynamicExt& dynamic() const { return static_cast<IPluginV2DynamicExt&>(plugin_); }
};

// The family is in the top byte of a plugin's version number.
std::unique_ptr<Subject> adopt(IPluginV2& plugin) {
  const auto number = static_cast<uint32_t>(plugin.getTensorRTVersion());
  constexpr uint32_t kMinVersion = 100000;  // 10.0.0
  if ((number & 0xffffff) < kMinVersion)
    throw NotRun{
        fmt::format("it was built for TensorRT {}.{}: compile it again with TensorRT "
                    "10's headers",
                    (number & 0xffffff) / 1000, (number & 0xffffff) / 100 % 10)};
  switch (number >> 24) {
    case 0:
      return std::make_unique<Basic>(plugin);
    case 1:
      return std::make_unique<Ext>(plugin);
    case 2:
      return std::make_unique<IOExt>(plugin);
    case 3:
      return std::make_unique<Dynamic>(plugin);
    default:
      throw NotRun{
          fmt::format("plugins of version 2 and kind {} are not supported yet", number >> 24)};
  }
}

class CreatorV2 final : public Creator {
 public:
  explicit CreatorV2(nvinfer1::IPluginCreator& creator) : creator_(creator) {}
  Identity identity() const override {
    return {text_or_empty(creator_.getPluginName()), text_or_empty(creator_.getPluginVersion()),
            text_or_empty(creator_.getPluginNamespace())};
  }
  const nvinfer1::PluginFieldCollection* fields() const override {
    return creator_.getFieldNames();
  }
  std::unique_ptr<Subject> create(const std::vector<PluginField>& fields) const override {
    const nvinfer1::PluginFieldCollection collection{count(fields), fields.data()};
    return owned(creator_.createPlugin("checked", &collection));
  }
  std::unique_ptr<Subject> restore(const Subject& subject) const override {
    const std::string bytes = subject.serialized();
    const auto exact = std::make_unique<char[]>(bytes.size());  // for sanitizers
    std::memcpy(exact.get(), bytes.data(), bytes.size());
    auto made = owned(creator_.deserializePlugin("checked", exact.get(), bytes.size()));
    if (made == nullptr)
      throw Broken{fmt::format("a plugin from deserializePlugin() of the {} bytes that serialize() "
                               "wrote",
                               bytes.size()),
                   "null" + plugin_log()};
    return made;
  }

 private:
  // Engines give a plugin the namespace of its creator.
  std::unique_ptr<Subject> owned(IPluginV2* plugin) const {
    if (plugin == nullptr) return nullptr;
    plugin->setPluginNamespace(text_or_empty(creator_.getPluginNamespace()).c_str());
    return adopt(*plugin);
  }
  nvinfer1::IPluginCreator& creator_;
};

}  // namespace

std::unique_ptr<Creator> make_creator_v2(nvinfer1::IPluginCreator& creator) {
  return std::make_unique<CreatorV2>(creator);
}

}  // namespace tenon::check
