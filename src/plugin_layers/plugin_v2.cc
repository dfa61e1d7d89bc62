#include "plugin_layers/plugin_v2.h"

#include <algorithm>

#include "base/error.h"
#include "plugin_layers/plugin_expr.h"
#include "registry/plugin_host.h"

namespace tenon {
namespace {

using nvinfer1::IPluginV2;
using nvinfer1::IPluginV2DynamicExt;
using nvinfer1::IPluginV2Ext;
using nvinfer1::IPluginV2IOExt;
using nvinfer1::PluginTensorDesc;
using nvinfer1::TensorFormat;

int32_t count(const auto& list) {
  return static_cast<int32_t>(list.size());
}

class DynamicInstance final : public PluginV2Instance {
 public:
  using PluginV2Instance::PluginV2Instance;

  void infer(Inference& c, int outputs) const override {
    require(max_batch == 0,
            "{}: plugins of IPluginV2DynamicExt need the batch as a dimension: create the network "
            "with kEXPLICIT_BATCH",
            label());
    PluginExprBuilder builder(c, 0);
    const std::vector<DataType> types = plugin_input_types(c, c.input_count(), label());
    const std::vector<nvinfer1::DimsExprs> dims = builder.expose_inputs(c.input_count());
    for (int i = 0; i < outputs; ++i) {
      const PluginReports reports;
      const auto out = dynamic().getOutputDimensions(i, dims.data(), count(dims), builder);
      builder.check(label());
      require(out.nbDims >= 0, "{}: getOutputDimensions() gives output {} the rank {}{}", label(),
              i, out.nbDims, reports.text());
      Dims read = builder.read(out, fmt::format("{}: output {}", label(), i));
      const DataType type = dynamic().getOutputDataType(i, types.data(), count(types));
      c.set_output(i, checked_plugin_type(type, i, label()), std::move(read));
    }
  }
  bool supports(int32_t position, std::span<const PluginTensorDesc> all,
                int32_t inputs) const override {
    return dynamic().supportsFormatCombination(position, all.data(), inputs, count(all) - inputs);
  }
  void configure(std::span<const PluginTensor> inputs,
                 std::span<const PluginTensor> outputs) const override {
    dynamic().configurePlugin(inputs.data(), count(inputs), outputs.data(), count(outputs));
  }
  void attach(nvinfer1::IGpuAllocator& allocator, std::span<const PluginTensor> inputs,
              std::span<const PluginTensor> outputs) override {
    dynamic().attachToContext(nullptr, nullptr, &allocator);
    configure(inputs, outputs);
  }
  void detach() const override { dynamic().detachFromContext(); }
  size_t workspace_bytes(std::span<const PluginTensorDesc> inputs,
                         std::span<const PluginTensorDesc> outputs) const override {
    return dynamic().getWorkspaceSize(inputs.data(), count(inputs), outputs.data(), count(outputs));
  }
  int32_t enqueue(const PluginTensorDesc* input_descs, const PluginTensorDesc* output_descs,
                  const void* const* inputs, void* const* outputs, void* workspace,
                  cudaStream_t stream) const override {
    return dynamic().enqueue(input_descs, output_descs, inputs, outputs, workspace, stream);
  }

 private:
  IPluginV2DynamicExt& dynamic() const { return static_cast<IPluginV2DynamicExt&>(plugin()); }
};

// The families without expressions for shapes. Without an implicit batch, a plugin is told of
// batches of one item, whose dimensions are all those of the tensor. What configures it goes into
// its serialised form, so that it is not configured again when a plan is loaded.
class StaticInstance : public PluginV2Instance {
 public:
  using PluginV2Instance::PluginV2Instance;

  void infer(Inference& c, int outputs) const override {
    const std::vector<DataType> types = plugin_input_types(c, c.input_count(), label());
    require(max_batch == 0 || c.input_count() > 0,
            "{}: a plugin without inputs has no implicit batch", label());
    std::vector<nvinfer1::Dims> dims;
    const auto shared = std::make_unique<bool[]>(static_cast<size_t>(c.input_count()));
    Dim batch = c.pool().constant(1);
    for (int i = 0; i < c.input_count(); ++i) {
      dims.push_back(item_dims(c, i));
      if (max_batch == 0) continue;
      const Dim items = c.dims(i)[0];
      shared[i] = max_batch > 1 && items->is_integer_constant();
      if (!shared[i]) batch = items;
      require(!shared[i] || takes_shared(i),
              "{}: input {} is one tensor for all items of the batch, which the plugin does not "
              "take (canBroadcastInputAcrossBatch), and copying it is not supported yet",
              label(), i);
    }
    for (int i = 0; i < outputs; ++i) {
      Dims extents;
      if (max_batch > 0)
        extents = {makes_shared(i, shared.get(), c.input_count()) ? c.pool().constant(1) : batch};
      for (int64_t extent : output_shape(i, dims)) extents.push_back(c.pool().constant(extent));
      c.set_output(i, checked_plugin_type(output_type(i, types), i, label()), std::move(extents));
    }
  }
  void attach(nvinfer1::IGpuAllocator&, std::span<const PluginTensor> inputs,
              std::span<const PluginTensor> outputs) override {
    const auto in = dims_of(inputs), out = dims_of(outputs);
    for (size_t i = 0; i < outputs.size(); ++i) {
      const Shape shape = output_shape(static_cast<int>(i), in), expected(out[i]);
      require(shape == expected, "{} makes output {} of shape {}; expected {}", label(), i, shape,
              expected);
    }
    items_ = 1;
    if (max_batch == 0) return;
    for (const PluginTensor& t : inputs)  // of a tensor that items share, there is one
      items_ = std::max(items_, static_cast<int32_t>(t.desc.dims.d[0]));
  }
  void detach() const override {}
  size_t workspace_bytes(std::span<const PluginTensorDesc>,
                         std::span<const PluginTensorDesc>) const override {
    return plugin().getWorkspaceSize(max_items());
  }
  int32_t enqueue(const PluginTensorDesc*, const PluginTensorDesc*, const void* const* inputs,
                  void* const* outputs, void* workspace, cudaStream_t stream) const override {
    return plugin().enqueue(items_, inputs, outputs, workspace, stream);
  }

 protected:
  virtual const char* family() const = 0;
  virtual DataType output_type(int output, const std::vector<DataType>& types) const = 0;
  // Whether an input may be one tensor for all items of the batch, and whether an output is.
  virtual bool takes_shared(int) const { return false; }
  virtual bool makes_shared(int, const bool* /*inputs_shared*/, int32_t) const { return false; }

  int32_t max_items() const { return std::max(max_batch, 1); }
  // A description of what the plugin sees, which is one item of an implicit batch.
  PluginTensorDesc item_of(PluginTensorDesc desc) const {
    if (max_batch == 0) return desc;
    Shape shape(desc.dims);
    require(shape.rank() > 0, "{}: a tensor has no dimension for the batch", label());
    shape.erase(0);
    desc.dims = shape.dims();
    return desc;
  }
  std::vector<nvinfer1::Dims> dims_of(std::span<const PluginTensor> tensors) const {
    std::vector<nvinfer1::Dims> dims;
    for (const PluginTensor& t : tensors) dims.push_back(item_of(t.desc).dims);
    return dims;
  }

 private:
  int32_t items_ = 1;  // of the shapes it is attached for

  nvinfer1::Dims item_dims(const Inference& c, int input) const {
    Shape shape;
    for (size_t axis = max_batch > 0 ? 1 : 0; axis < c.dims(input).size(); ++axis) {
      const Dim extent = c.dims(input)[axis];
      require(extent->is_integer_constant(),
              "{}: extents of input {} are known only at run time, and plugins of {} take fixed "
              "shapes: derive it from IPluginV2DynamicExt or IPluginV3",
              label(), input, family());
      shape.push_back(extent->value.integer);
    }
    return shape.dims();
  }
  Shape output_shape(int output, const std::vector<nvinfer1::Dims>& inputs) const {
    const nvinfer1::Dims dims = plugin().getOutputDimensions(output, inputs.data(), count(inputs));
    bool valid = dims.nbDims >= 0 && dims.nbDims <= Shape::kMaxRank;
    for (int32_t axis = 0; valid && axis < dims.nbDims; ++axis) valid = dims.d[axis] >= 0;
    require(valid, "{}: getOutputDimensions() gives output {} no valid shape (rank {})", label(),
            output, dims.nbDims);
    return Shape(dims);
  }
};

// All tensors have the type and format of the first.
class BasicInstance final : public StaticInstance {
 public:
  using StaticInstance::StaticInstance;

  bool supports(int32_t position, std::span<const PluginTensorDesc> all, int32_t) const override {
    const PluginTensorDesc& t = all[static_cast<size_t>(position)];
    return t.type == all[0].type && t.format == all[0].format
           && plugin().supportsFormat(t.type, t.format);
  }
  void configure(std::span<const PluginTensor> inputs,
                 std::span<const PluginTensor> outputs) const override {
    const auto in = dims_of(inputs), out = dims_of(outputs);
    const PluginTensorDesc& first = (inputs.empty() ? outputs : inputs)[0].desc;
    const DataType type = inputs.empty() ? DataType::kFLOAT : first.type;
    plugin().configureWithFormat(in.data(), count(in), out.data(), count(out), type, first.format,
                                 max_items());
  }

 private:
  const char* family() const override { return "IPluginV2"; }
  DataType output_type(int, const std::vector<DataType>& types) const override {
    return types.empty() ? DataType::kFLOAT : types[0];
  }
};

class ExtInstance : public StaticInstance {
 public:
  using StaticInstance::StaticInstance;

  // The plugin speaks of its floating-point tensors alone, which all have one format.
  bool supports(int32_t position, std::span<const PluginTensorDesc> all, int32_t) const override {
    const PluginTensorDesc& t = all[static_cast<size_t>(position)];
    if (!is_float(t.type)) return t.format == TensorFormat::kLINEAR;
    const auto first = std::ranges::find_if(all, is_of_floats);
    return t.format == first->format && plugin().supportsFormat(t.type, t.format);
  }
  void configure(std::span<const PluginTensor> inputs,
                 std::span<const PluginTensor> outputs) const override {
    const auto in = dims_of(inputs), out = dims_of(outputs);
    std::vector<DataType> in_types, out_types;
    for (const PluginTensor& t : inputs) in_types.push_back(t.desc.type);
    for (const PluginTensor& t : outputs) out_types.push_back(t.desc.type);
    const auto shared = std::make_unique<bool[]>(in.size() + out.size());
    auto format = TensorFormat::kLINEAR;  // that of the floats
    size_t i = 0;
    for (const auto list : {inputs, outputs})
      for (const PluginTensor& t : list) {
        shared[i++] = max_batch > 1 && t.max.d[0] == 1;
        if (is_of_floats(t.desc)) format = t.desc.format;
      }
    ext().configurePlugin(in.data(), count(in), out.data(), count(out), in_types.data(),
                          out_types.data(), shared.get(), shared.get() + in.size(), format,
                          max_items());
  }
  void attach(nvinfer1::IGpuAllocator& allocator, std::span<const PluginTensor> inputs,
              std::span<const PluginTensor> outputs) override {
    StaticInstance::attach(allocator, inputs, outputs);
    ext().attachToContext(nullptr, nullptr, &allocator);
  }
  void detach() const override { ext().detachFromContext(); }

 protected:
  const char* family() const override { return "IPluginV2Ext"; }
  DataType output_type(int output, const std::vector<DataType>& types) const override {
    return ext().getOutputDataType(output, types.data(), count(types));
  }
  bool takes_shared(int input) const override { return ext().canBroadcastInputAcrossBatch(input); }
  bool makes_shared(int output, const bool* inputs_shared, int32_t inputs) const override {
    return ext().isOutputBroadcastAcrossBatch(output, inputs_shared, inputs);
  }

 private:
  static bool is_of_floats(const PluginTensorDesc& desc) { return is_float(desc.type); }
  IPluginV2Ext& ext() const { return static_cast<IPluginV2Ext&>(plugin()); }
};

class IOExtInstance final : public ExtInstance {
 public:
  using ExtInstance::ExtInstance;

  bool supports(int32_t position, std::span<const PluginTensorDesc> all,
                int32_t inputs) const override {
    std::vector<PluginTensorDesc> items;
    for (const PluginTensorDesc& t : all) items.push_back(item_of(t));
    return io().supportsFormatCombination(position, items.data(), inputs, count(all) - inputs);
  }
  void configure(std::span<const PluginTensor> inputs,
                 std::span<const PluginTensor> outputs) const override {
    std::vector<PluginTensorDesc> in, out;
    for (const PluginTensor& t : inputs) in.push_back(item_of(t.desc));
    for (const PluginTensor& t : outputs) out.push_back(item_of(t.desc));
    io().configurePlugin(in.data(), count(in), out.data(), count(out));
  }

 private:
  const char* family() const override { return "IPluginV2IOExt"; }
  IPluginV2IOExt& io() const { return static_cast<IPluginV2IOExt&>(plugin()); }
};

}  // namespace

PluginV2Instance::~PluginV2Instance() {
  if (initialized_) plugin_.terminate();
  plugin_.destroy();
}

void PluginV2Instance::initialize() {
  const std::lock_guard lock(mutex_);
  if (initialized_) return;
  const PluginReports reports;
  const int32_t status = plugin_.initialize();
  if (status != 0)
    fail(ErrorClass::kPluginFailed, "{}: initialize() failed with {}{}", label_, status,
         reports.text());
  initialized_ = true;
}

std::unique_ptr<PluginV2Instance> PluginV2Instance::clone() const {
  const PluginReports reports;
  IPluginV2* copy = plugin_.clone();
  require(copy != nullptr, "{}: clone() gave null{}", label_, reports.text());
  auto instance = make_instance(*copy, label_);
  instance->max_batch = max_batch;
  return instance;
}

// The family is in the top byte of the plugin's version number.
uint32_t plugin_family(IPluginV2& plugin, const std::string& label) {
  const auto number = static_cast<uint32_t>(plugin.getTensorRTVersion());
  // NVIDIA's bindings mark what is written in Python by one more bit; its calls are the same.
  constexpr uint32_t kInPython = 0x40;
  const uint32_t family = number >> 24 & ~kInPython, version = number & 0xFFFFFF;
  require(version >= 100000,
          "{} was built for TensorRT {}.{}: compile it again with TensorRT 10's headers", label,
          version / 1000, version / 100 % 10);
  if (family > 3)
    fail(ErrorCode::kUNSUPPORTED_STATE, "{}: version-2 plugins of kind {} are not supported yet",
         label, family);
  return family;
}

std::unique_ptr<PluginV2Instance> make_instance(IPluginV2& plugin, const std::string& label) {
  constexpr auto destroy = [](IPluginV2* p) { p->destroy(); };
  std::unique_ptr<IPluginV2, decltype(destroy)> owned(&plugin);
  const uint32_t family = plugin_family(plugin, label);
  std::unique_ptr<PluginV2Instance> instance;
  if (family == 0)
    instance = std::make_unique<BasicInstance>(plugin, label);
  else if (family == 1)
    instance = std::make_unique<ExtInstance>(plugin, label);
  else if (family == 2)
    instance = std::make_unique<IOExtInstance>(plugin, label);
  else
    instance = std::make_unique<DynamicInstance>(plugin, label);
  static_cast<void>(owned.release());
  return instance;
}

std::vector<DataType> plugin_input_types(Inference& c, int count, const std::string& label) {
  std::vector<DataType> types;
  for (int i = 0; i < count; ++i) {
    require(c.has_input(i), "{}: input {} is left out; plugins have no optional inputs here", label,
            i);
    types.push_back(c.type(i));
  }
  return types;
}

DataType checked_plugin_type(DataType type, int output, const std::string& label) {
  const auto number = static_cast<int32_t>(type);
  require(number >= 0 && number < nvinfer1::impl::EnumMaxImpl<DataType>::kVALUE,
          "{} gives output {} the data type {}, which is none", label, output, number);
  return type;
}

}  // namespace tenon
