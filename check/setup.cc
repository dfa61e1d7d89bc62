#include "check/setup.h"

#include <tenon/cudart/engine.h>
#include <tenon/plugin/describe.h>

#include <algorithm>
#include <cmath>

#include "check/gpu.h"
#include "check/orders.h"

namespace tenon::check {
namespace {

using kit::testing::CaseTensor;
using kit::testing::VectorFormat;
using nvinfer1::Dims;
using nvinfer1::TensorFormat;

constexpr DataType kTypes[] = {DataType::kFLOAT, DataType::kHALF,  DataType::kBF16,
                               DataType::kINT32, DataType::kINT64, DataType::kINT8,
                               DataType::kBOOL,  DataType::kUINT8};

std::string type_name(DataType type) {
  return kit::types_text(kit::TypeMask{1} << static_cast<int>(type));
}

size_t volume_of(const Dims& dims) {
  size_t volume = 1;
  for (int i = 0; i < dims.nbDims; ++i) volume *= static_cast<size_t>(dims.d[i]);
  return volume;
}

kit::testing::Placement placement_of(const Tensor& tensor) {
  return {tensor.max, tensor.desc.format};
}

size_t bytes_of(const Tensor& tensor) {
  constexpr double kMaxElements = 1 << 30;
  double volume = 1;
  for (int i = 0; i < tensor.max.nbDims; ++i) volume *= static_cast<double>(tensor.max.d[i]);
  if (volume > kMaxElements)
    throw NotRun{fmt::format("a tensor of {:.0f} elements is too large to check", volume)};
  return placement_of(tensor).elements() * kit::testing::size_of(tensor.desc.type);
}

// Without expected results, values are cut to whole numbers.
bool may_be_integers(const Trial& trial) {
  const auto is_whole = [](const CaseTensor& v) {
    return !v.follows_t || std::ranges::all_of(v.values, [](double x) {
      return x == std::nearbyint(x) && std::fabs(x) < 128;
    });
  };
  return trial.test.outputs().empty()
         || (std::ranges::all_of(trial.test.inputs(), is_whole)
             && std::ranges::all_of(trial.test.outputs(), is_whole));
}

// Finds a format, and for an output a type, that the plugin takes after those before it.
bool settle(const Subject& subject, Tensors& all, int position, int inputs,
            const VectorFormat* vectors) {
  PluginTensorDesc& desc = all[static_cast<size_t>(position)].desc;
  const nvinfer1::Dims& max = all[static_cast<size_t>(position)].max;
  const bool is_data_dependent = !std::equal(max.d, max.d + max.nbDims, desc.dims.d);
  const auto takes = [&](TensorFormat format) {
    desc.format = format;
    return subject.supports(position, all, inputs);
  };
  const auto takes_any = [&] {
    return (vectors != nullptr && !is_data_dependent && vectors->suits(desc)
            && takes(vectors->format))
           || takes(TensorFormat::kLINEAR);
  };
  if (takes_any()) return true;
  if (position < inputs) return false;
  // Weakly typed networks take another type of an output than the one it is declared with.
  for (const DataType type : kTypes) {
    desc.type = type;
    if (takes_any()) return true;
  }
  return false;
}

// For each output, the input whose memory it has.
std::vector<int> aliased_inputs(const Subject& subject, const Tensors& inputs,
                                const Tensors& outputs) {
  std::vector<int> list;
  for (size_t o = 0; o < outputs.size(); ++o) {
    const int input = subject.aliased_input(static_cast<int>(o));
    const std::string call = fmt::format("getAliasedInput({})", o);
    if (input < -1 || input >= static_cast<int>(inputs.size()))
      throw Broken{fmt::format("{} to be -1 or one of the {} inputs", call, inputs.size()),
                   std::to_string(input)};
    if (input >= 0 && std::ranges::find(list, input) != list.end())
      throw Broken{call + " to name an input that no other output has", std::to_string(input)};
    list.push_back(input);
    if (input < 0) continue;
    const Tensor &from = inputs[static_cast<size_t>(input)], &to = outputs[o];
    if (bytes_of(from) != bytes_of(to) || from.desc.type != to.desc.type
        || from.desc.format != to.desc.format)
      throw Broken{
          fmt::format("output {} to be as large as input {}, whose memory it has, and of its "
                      "type and format",
                      o, input),
          fmt::format("{} and {} bytes", bytes_of(to), bytes_of(from))};
  }
  return list;
}

}  // namespace

std::optional<size_t> Setup::elements(size_t o) const {
  const Dims& dims = outputs[o].desc.dims;
  if (std::find(dims.d, dims.d + dims.nbDims, -1) == dims.d + dims.nbDims) return volume_of(dims);
  if (trial == nullptr || o >= trial->test.outputs().size()) return std::nullopt;
  return static_cast<size_t>(trial->test.outputs()[o].volume());
}

std::vector<Dims> dims_of(const Trial& trial) {
  std::vector<Dims> dims;
  for (const CaseTensor& v : trial.test.inputs()) dims.push_back(v.dims);
  return dims;
}

std::string describe(const Trial& trial, DataType t) {
  std::string text;
  if (!trial.name.empty()) return fmt::format("case {}, {}", trial.name, type_name(t));
  for (const CaseTensor& v : trial.test.inputs())
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", shape_text(v.dims),
                        type_name(v.type_for(t)));
  return text;
}

std::vector<DataType> types_of(const Trial& trial) {
  const auto follows = [](const CaseTensor& v) { return v.follows_t; };
  if (!std::ranges::any_of(trial.test.inputs(), follows)
      && !std::ranges::any_of(trial.test.outputs(), follows))
    return {DataType::kFLOAT};
  std::vector<DataType> types(std::begin(kTypes), std::end(kTypes));
  if (!may_be_integers(trial))
    std::erase_if(types, [](DataType type) { return !kit::testing::is_floating(type); });
  return types;
}

std::optional<Setup> make_setup(const Subject& subject, const Trial& trial,
                                const std::vector<Dims>& dims, DataType t,
                                const VectorFormat* format) {
  const auto& inputs = trial.test.inputs();
  Setup setup{describe(trial, t), t, {}, {}, {}, {}, format == nullptr, &trial};
  std::vector<DataType> types;
  for (size_t i = 0; i < inputs.size(); ++i) {
    types.push_back(inputs[i].type_for(t));
    setup.inputs.push_back(
        {{dims[i], types.back(), TensorFormat::kLINEAR, inputs[i].scale}, dims[i]});
  }
  const auto out_types = subject.output_types(types);
  const auto out_shapes = subject.output_shapes(dims, trial.test.shape_inputs());
  const auto scale_of = [&](size_t o) {
    return o < trial.test.outputs().size() ? trial.test.outputs()[o].scale : 1;
  };
  for (size_t o = 0; o < out_shapes.size(); ++o)
    setup.outputs.push_back({{out_shapes[o].dims, out_types[o], TensorFormat::kLINEAR, scale_of(o)},
                             out_shapes[o].max,
                             out_shapes[o].max_size});
  Tensors all = setup.inputs;
  all.insert(all.end(), setup.outputs.begin(), setup.outputs.end());
  for (size_t i = 0; i < all.size(); ++i)
    if (!settle(subject, all, static_cast<int>(i), static_cast<int>(inputs.size()), format))
      return std::nullopt;
  std::copy_n(all.begin(), inputs.size(), setup.inputs.begin());
  std::copy(all.begin() + static_cast<ptrdiff_t>(inputs.size()), all.end(), setup.outputs.begin());
  if (format != nullptr) {
    const auto has_it = [&](const Tensor& v) { return v.desc.format == format->format; };
    if (std::ranges::none_of(all, has_it)) return std::nullopt;
    setup.label += fmt::format(", {}", format->name);
  }
  setup.aliased = aliased_inputs(subject, setup.inputs, setup.outputs);
  for (size_t i = 0; i < inputs.size(); ++i) {
    CaseTensor tensor = inputs[i];
    tensor.dims = dims[i];
    tensor.values.resize(std::min(tensor.values.size(), static_cast<size_t>(tensor.volume())));
    bytes_of(setup.inputs[i]);
    const auto bytes = tensor.bytes(types[i], setup.inputs[i].desc.format);
    setup.input_bytes.emplace_back(bytes.begin(), bytes.end());
  }
  return setup;
}

namespace {

size_t usable_workspace(size_t bytes) {
  const std::string log = plugin_log();
  if (bytes > PTRDIFF_MAX)
    throw Broken{"a size from getWorkspaceSize()", fmt::format("{}{}", bytes, log)};
  if (bytes > size_t{4} << 30) throw NotRun{fmt::format("it wants a workspace of {} bytes", bytes)};
  return bytes;
}

}  // namespace

Buffers::Buffers(const Setup& setup, size_t workspace_bytes)
    : setup_(setup), workspace_(usable_workspace(workspace_bytes)) {
  for (const Tensor& t : setup.inputs) inputs_.emplace_back(bytes_of(t));
  for (const Tensor& t : setup.outputs) outputs_.emplace_back(bytes_of(t));
}

void Buffers::reset(unsigned char fill) {
  for (size_t i = 0; i < inputs_.size(); ++i) {
    inputs_[i].fill(fill);
    inputs_[i].write(setup_.input_bytes[i]);
  }
  for (Guarded& v : outputs_) v.fill(fill);
  workspace_.fill(fill);
  require_usable(cudaDeviceSynchronize());  // filling is not waited for otherwise, and a CPU kernel
                                            // has no stream
  for (const Guarded& v : inputs_) v.close_zones();
  for (const Guarded& v : outputs_) v.close_zones();
  workspace_.close_zones();
}

void Buffers::enqueue(const Subject& subject, cudaStream_t stream) {
  std::vector<const void*> in;
  std::vector<void*> out;
  for (const Guarded& v : inputs_) in.push_back(v.data());
  for (size_t o = 0; o < outputs_.size(); ++o) out.push_back(output(o).data());
  cudaGetLastError();
  cudart::forget_refused_kernel();
  const auto in_descs = descs_of(setup_.inputs), out_descs = descs_of(setup_.outputs);
  const TenonCpuKernel kernel = on_gpu() ? nullptr : tenonCpuKernel(subject.object());
  const int32_t status = kernel != nullptr
                             ? kernel(subject.object(), in_descs.data(), out_descs.data(),
                                      in.data(), out.data(), workspace_.data())
                             : subject.enqueue(setup_.inputs, setup_.outputs, in.data(), out.data(),
                                               workspace_.data(), stream);
  const std::string log = plugin_log(), refused = cudart::refused_kernel();
  const cudaError_t waited = cudaStreamSynchronize(stream), last = cudaGetLastError();
  const cudaError_t error = waited != cudaSuccess ? waited : last;
  if (!refused.empty() || (error == cudaErrorNotSupported && !on_gpu()))
    throw NotRun{
        refused.empty()
            ? fmt::format("it calls a part of CUDA that needs a GPU: {}", cudaGetErrorString(error))
            : fmt::format("it launches a CUDA kernel ({}), and there is no GPU here", refused)};
  if (error != cudaSuccess) require_usable(cudaDeviceSynchronize());
  if (status != 0) throw Broken{"0 from enqueue()", fmt::format("{}{}", status, log)};
  if (error != cudaSuccess)
    throw Broken{"enqueue() without an error of CUDA", cudaGetErrorString(error) + kernel_log()};
}

const Guarded& Buffers::output(size_t o) const {
  const int input = setup_.aliased[o];
  return input < 0 ? outputs_[o] : inputs_[static_cast<size_t>(input)];
}

std::vector<std::string> Buffers::outputs() const {
  std::vector<std::string> all;
  for (size_t o = 0; o < outputs_.size(); ++o) {
    const Tensor& tensor = setup_.outputs[o];
    std::string bytes = output(o).read();
    if (tensor.desc.format != TensorFormat::kLINEAR) {
      const auto placement = placement_of(tensor);
      const size_t size = kit::testing::size_of(tensor.desc.type);
      std::string linear(volume_of(tensor.max) * size, '\0');
      for (size_t i = 0; i * size < linear.size(); ++i)
        linear.replace(i * size, size, bytes, placement(i) * size, size);
      bytes = std::move(linear);
    }
    all.push_back(std::move(bytes));
  }
  return all;
}

void Buffers::require_bounds() const {
  const auto require = [](const Guarded& memory, const std::string& what) {
    if (const std::string damage = memory.damage(); !damage.empty())
      throw Broken{
          fmt::format("enqueue() to write nothing outside of {} ({} bytes)", what, memory.bytes()),
          damage};
  };
  for (size_t i = 0; i < outputs_.size(); ++i) require(outputs_[i], fmt::format("output {}", i));
  require(workspace_, "the workspace that getWorkspaceSize() asks for");
  for (size_t i = 0; i < inputs_.size(); ++i) require(inputs_[i], fmt::format("input {}", i));
}

void Buffers::require_inputs_kept() const {
  for (size_t i = 0; i < inputs_.size(); ++i) {
    if (std::ranges::find(setup_.aliased, static_cast<int>(i)) != setup_.aliased.end()) continue;
    const std::string now = inputs_[i].read(), before = setup_.input_bytes[i].substr(0, now.size());
    const auto [a, b] = std::mismatch(now.begin(), now.end(), before.begin());
    if (a != now.end())
      throw Broken{fmt::format("enqueue() to leave input {} as it is", i),
                   fmt::format("byte {} of it written", a - now.begin())};
  }
}

}  // namespace tenon::check
