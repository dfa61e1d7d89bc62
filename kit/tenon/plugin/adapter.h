/// What the adapters of both protocols share: types, shapes, kernels, errors.
#pragma once

#include "tenon/plugin/engine.h"
#include "tenon/plugin/model.h"

namespace tenon {
namespace kit {

using nvinfer1::DimsExprs;

/// The last error of this thread, for tests.
__attribute__((visibility("hidden"))) inline std::string& last_error() {
  static thread_local std::string text;
  return text;
}

/// Given by setLoggerFinder(); null before.
__attribute__((visibility("hidden"))) inline nvinfer1::ILoggerFinder*& logger_finder() {
  static nvinfer1::ILoggerFinder* finder = nullptr;
  return finder;
}

inline void report(const std::string& text) noexcept {
  last_error() = text;
  if (engine().report_plugin_error != nullptr) return engine().report_plugin_error(text.c_str());
  nvinfer1::ILogger* logger = engine().logger != nullptr   ? engine().logger()
                              : logger_finder() != nullptr ? logger_finder()->findLogger()
                                                           : nullptr;
  if (logger != nullptr) logger->log(nvinfer1::ILogger::Severity::kERROR, text.c_str());
}

/// Runs `body`; an exception becomes a reported error and the status 1.
template <class F> int32_t guard(const Entry& entry, const F& body) noexcept {
  try {
    body();
    return 0;
  } catch (const std::exception& e) {
    const std::string label = entry.label(), text = e.what();
    report(text.starts_with(label) ? text : label + ": " + text);
    return 1;
  } catch (...) {
    report(entry.label() + ": it threw something that is no std::exception");
    return 1;
  }
}

inline DataType type_of(TypeMask mask) {
  int type = 0;
  while ((mask >> type & 1) == 0) ++type;
  return static_cast<DataType>(type);
}

/// Concrete shapes of a plugin's tensors, without allocating.
class Shapes {
 public:
  Shapes(const PluginTensorDesc* descs, int count) : count_(static_cast<size_t>(count)) {
    for (int i = 0; i < count; ++i) shape_[static_cast<size_t>(i)] = {descs[i].dims};
  }
  operator std::span<const Shape>() const { return {shape_.data(), count_}; }  // NOLINT
  bool are_known() const {
    for (size_t i = 0; i < count_; ++i)
      for (int d = 0; d < shape_[i].rank(); ++d)
        if (shape_[i][d] < 0) return false;
    return true;
  }

 private:
  std::array<Shape, Ports::kMax> shape_;
  size_t count_;
};

/// A plugin of either protocol.
class __attribute__((visibility("hidden"))) Adapted {
 protected:
  Adapted(const Entry& entry, std::unique_ptr<Model> model)
      : entry_(entry),
        model_(std::move(model)),
        input_count_(entry.spec.inputs.min_count()),
        output_count_(model_->output_count()) {}
  Adapted(const Adapted& other)
      : entry_(other.entry_),
        model_(other.model_->copy()),
        input_count_(other.input_count_),
        output_count_(other.output_count_) {}
  Adapted& operator=(const Adapted&) = delete;
  ~Adapted() = default;

  static constexpr const char* kInputCount = "number of inputs";

  /// From fields that saved() gave.
  void restore(int32_t inputs) {
    if (!entry_.spec.inputs.is_fixed()) set_input_count(inputs);
  }
  /// The attributes, and how many inputs there are where that can vary.
  StoredAttributes saved() const {
    StoredAttributes stored = model_->stored();
    if (!entry_.spec.inputs.is_fixed()) stored.add_number(kInputCount, input_count_);
    return stored;
  }
  void set_input_count(int32_t count) {
    const Ports& ports = entry_.spec.inputs;
    if (count >= ports.min_count() && count <= ports.max_count()) {
      input_count_ = count;
      return;
    }
    const std::string min_count = std::to_string(ports.min_count()),
                      max_count = std::to_string(ports.max_count());
    throw std::invalid_argument(
        "takes " + (min_count == max_count ? min_count : min_count + " to " + max_count)
        + (ports.max_count() == 1 ? " input, found " : " inputs, found ") + std::to_string(count));
  }

  template <class Protocol> void offer_cpu_kernel(Protocol* self, TenonCpuKernel run) const {
    if (engine().set_cpu_kernel == nullptr || entry_.cpu == nullptr) return;
    engine().set_cpu_kernel(self, run);
    if (engine().set_cpu_only != nullptr && entry_.cuda == nullptr) engine().set_cpu_only(self);
  }
  template <class Protocol> static void withdraw_cpu_kernel(Protocol* self) {
    if (engine().set_cpu_kernel != nullptr) engine().set_cpu_kernel(self, nullptr);
  }

  /// Calls a kernel, or says why it cannot be.
  int32_t dispatch(Launch launch, const char* target, const PluginTensorDesc* inputs,
                   const PluginTensorDesc* outputs, const void* const* input_data,
                   void* const* output_data, void* workspace, void* stream) const noexcept {
    return guard(entry_, [&] {
      if (launch == nullptr)
        throw std::runtime_error(std::string("it was built without a kernel for ") + target);
      check_inputs(inputs);
      launch({model_->object(), inputs, outputs, input_count_, output_count_, input_data,
              output_data, workspace, stream});
    });
  }
  int32_t run_on_cpu(const PluginTensorDesc* inputs, const PluginTensorDesc* outputs,
                     const void* const* input_data, void* const* output_data,
                     void* workspace) const noexcept {
    return dispatch(entry_.cpu, "the CPU", inputs, outputs, input_data, output_data, workspace,
                    nullptr);
  }
  int32_t run_on_cuda(const PluginTensorDesc* inputs, const PluginTensorDesc* outputs,
                      const void* const* input_data, void* const* output_data, void* workspace,
                      cudaStream_t stream) const noexcept {
    return dispatch(entry_.cuda, "CUDA", inputs, outputs, input_data, output_data, workspace,
                    stream);
  }

  void check_inputs(const PluginTensorDesc* inputs) const {
    const Shapes in(inputs, input_count_);
    if (in.are_known()) model_->check(in);
  }
  /// Neither protocol lets a plugin say that it cannot tell: more than any engine has stops the
  /// engine, where 0 bytes would be written behind.
  static constexpr size_t kUnknownWorkspace = SIZE_MAX;
  /// Enough for either target: a plugin does not hear which one an engine is for.
  size_t workspace_bytes(const PluginTensorDesc* inputs, const PluginTensorDesc* outputs) const {
    const Shapes in(inputs, input_count_), out(outputs, output_count_);
    size_t bytes = 0;
    for (const Workspace workspace : {entry_.cpu_workspace, entry_.cuda_workspace})
      if (workspace != nullptr) bytes = std::max(bytes, workspace(model_->object(), in, out));
    if (entry_.is_quantized)
      bytes += float_copies_bytes(entry_.spec.inputs, inputs, input_count_)
               + float_copies_bytes(entry_.spec.outputs, outputs, output_count_);
    return bytes;
  }

  /// Whether a type and format suit a port, given those of the ports before it.
  template <class DescOf>
  bool accepts(int position, int inputs, int outputs, const DescOf& desc_of) {
    const Spec& spec = entry_.spec;
    if (guard(entry_, [&] { set_input_count(inputs); }) != 0 || outputs != output_count_
        || position < 0 || position >= inputs + outputs)
      return false;
    const auto port_at = [&](int i) -> const Port& {
      return i < inputs ? spec.inputs.port_at(i, inputs)
                        : spec.outputs.port_at(i - inputs, outputs);
    };
    const PluginTensorDesc& desc = desc_of(position);
    const Port& port = port_at(position);
    TypeMask types = port.types == kT ? entry_.t : port.types == kU ? entry_.u : port.types;
    const auto is_of_t = [](const Port& p) { return p.types == kT || p.types == kReal; };
    auto format = nvinfer1::TensorFormat::kLINEAR;
    if (port.channels_last && desc.dims.nbDims == 4 && desc.format == nvinfer1::TensorFormat::kHWC)
      format = desc.format;
    for (int i = 0; i < position; ++i) {
      const Port& before = port_at(i);
      if (before.types == kU && port.types == kU) types = bit(desc_of(i).type);
      if (before.types == kT && is_of_t(port)) types = bit(desc_of(i).type);
      if (before.channels_last && port.channels_last) format = desc_of(i).format;
    }
    if (port.types == kReal && types == kInt8) types = kFloat;
    return desc.format == format && (port.types == kAny || (types & bit(desc.type)) != 0);
  }

  DataType output_type(int output, const DataType* inputs, int count) const {
    const Spec& spec = entry_.spec;
    const TypeMask wanted = spec.outputs.port_at(output, output_count_).types;
    if (wanted != kT && wanted != kU) return type_of(wanted);
    for (int i = 0; i < count; ++i)
      if (spec.inputs.port_at(i, count).types == wanted) return inputs[i];
    return wanted == kT ? entry_.first_t : entry_.first_u;
  }

  void output_shapes(const DimsExprs* inputs, int input_count, const DimsExprs* shape_inputs,
                     int shape_count, DimsExprs* outputs, nvinfer1::IExprBuilder& builder) {
    set_input_count(input_count);
    if (shape_count != entry_.spec.shape_inputs.count)
      throw std::invalid_argument(
          "takes " + std::to_string(entry_.spec.shape_inputs.count)
          + (entry_.spec.shape_inputs.count == 1 ? " shape input, found " : " shape inputs, found ")
          + std::to_string(shape_count));
    const auto extents = [&](const DimsExprs* list, int count) {
      std::vector<Extents> all(static_cast<size_t>(count));
      for (int i = 0; i < count; ++i)
        for (int d = 0; d < list[i].nbDims; ++d)
          all[static_cast<size_t>(i)].emplace_back(list[i].d[d], &builder);
      return all;
    };
    const std::vector<Extents> in = extents(inputs, input_count),
                               values = extents(shape_inputs, shape_count);
    std::vector<Extents> out(static_cast<size_t>(output_count_));
    try {
      model_->shapes(ShapeQuery(in, values, &builder), out);
    } catch (const std::out_of_range&) {  // Extents::at()
      std::string found;
      for (const Extents& x : in) found += (found.empty() ? "" : ", ") + std::to_string(x.size());
      throw std::invalid_argument("an input has too few dimensions, found inputs of " + found);
    }
    for (size_t i = 0; i < out.size(); ++i) {
      if (out[i].size() > nvinfer1::Dims::MAX_DIMS)
        throw std::invalid_argument("output " + std::to_string(i) + " has more than 8 dimensions");
      outputs[i] = DimsExprs{};
      outputs[i].nbDims = static_cast<int32_t>(out[i].size());
      for (size_t d = 0; d < out[i].size(); ++d) outputs[i].d[d] = out[i][d].lower(builder);
    }
  }

  const Entry& entry_;
  std::unique_ptr<Model> model_;
  int32_t input_count_, output_count_;
};

}  // namespace kit
}  // namespace tenon
