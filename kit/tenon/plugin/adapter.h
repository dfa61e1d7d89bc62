/// What the adapters of both protocols share: kernels by plugin, types, shapes, errors.
#pragma once

#include <cstdio>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "tenon/plugin/attributes.h"
#include "tenon/plugin/device.h"
#include "tenon/plugin/shapes.h"

// The logger and the registry of whichever engine there is; null where there is none.
extern "C" __attribute__((weak)) nvinfer1::ILogger* getLogger() noexcept;
extern "C" __attribute__((weak)) nvinfer1::IPluginRegistry* getPluginRegistry() noexcept;

namespace tenon {
namespace kit {

using nvinfer1::DimsExprs;
using nvinfer1::PluginTensorDesc;

/// One call of a kernel.
struct Call {
  const void* plugin;  // the plugin struct
  const PluginTensorDesc* inputs;
  const PluginTensorDesc* outputs;
  const void* const* input_data;
  void* const* output_data;
  void* workspace;
  void* stream;
};
using Launch = void (*)(const Call& call);

/// What the compilations of one plugin contribute.
struct Entry {
  Launch cpu = nullptr;
  Launch cuda = nullptr;
  nvinfer1::IPluginCreatorInterface* v2 = nullptr;
  nvinfer1::IPluginCreatorInterface* v3 = nullptr;
  TenonCpuKernel run_v2 = nullptr;
  TenonCpuKernel run_v3 = nullptr;
  TypeMask types = 0;  // of T
};
/// By "name/version/namespace". Hidden: each library has its own plugins.
__attribute__((visibility("hidden"))) inline std::map<std::string, Entry>& entries() {
  static std::map<std::string, Entry> all;
  return all;
}
inline std::string key_of(const Spec& spec) {
  return std::string(spec.name) + "/" + spec.version + "/" + spec.name_space;
}

inline namespace TENON_TARGET {

template <TypeMask mask> struct FixedElement {
  using type = void;
};
template <> struct FixedElement<kFloat> {
  using type = float;
};
template <> struct FixedElement<kHalf> {
  using type = Half;
};
template <> struct FixedElement<kInt8> {
  using type = int8_t;
};
template <> struct FixedElement<kInt32> {
  using type = int32_t;
};
template <> struct FixedElement<kInt64> {
  using type = int64_t;
};
template <> struct FixedElement<kBool> {
  using type = bool;
};
template <> struct FixedElement<kUint8> {
  using type = uint8_t;
};

template <TypeMask mask, class E>
using Element = std::conditional_t<mask == kT, E, typename FixedElement<mask>::type>;

/// The plugin's types of T; a plugin without a T has nothing to choose.
template <class P> struct TypesOf {
  using type = Types<float>;
};
template <class P>
  requires requires { typename P::T; }
struct TypesOf<P> {
  using type = typename P::T;
};

template <class P> DataType bound_type(const PluginTensorDesc* inputs) {
  for (int i = 0; i < P::spec.inputs.count; ++i)
    if (P::spec.inputs[i].types == kT) return inputs[i].type;
  return DataType::kFLOAT;
}

template <class P, class E, size_t... I, size_t... O>
void call_run(const Device& device, const Call& c, std::index_sequence<I...>,
              std::index_sequence<O...>) {
  const P& plugin = *static_cast<const P*>(c.plugin);
  plugin.template run<E>(
      device,
      Tensor<const Element<P::spec.inputs[I].types, E>>{
          static_cast<const Element<P::spec.inputs[I].types, E>*>(c.input_data[I]),
          {c.inputs[I].dims}}...,
      Tensor<Element<P::spec.outputs[O].types, E>>{
          static_cast<Element<P::spec.outputs[O].types, E>*>(c.output_data[O]),
          {c.outputs[O].dims}}...);
}

template <class P, class... Es>
bool launch_for(Types<Es...>*, DataType type, const Device& device, const Call& call) {
  return ((TypeOf<Es>::value == type
           && (call_run<P, Es>(device, call, std::make_index_sequence<P::spec.inputs.count>{},
                               std::make_index_sequence<P::spec.outputs.count>{}),
               true))
          || ...);
}

template <class P> void launch(const Call& call) {
  Device device;
  device.workspace = call.workspace;
#if defined(__CUDACC__)
  device.stream = static_cast<cudaStream_t>(call.stream);
#endif
  auto* types = static_cast<typename TypesOf<P>::type*>(nullptr);
  if (!launch_for<P>(types, bound_type<P>(call.inputs), device, call))
    throw std::logic_error("no kernel for this data type");
}

}  // namespace TENON_TARGET

#if !defined(__CUDACC__)

/// The last error of this thread, for tests.
__attribute__((visibility("hidden"))) inline std::string& last_error() {
  static thread_local std::string text;
  return text;
}

inline void report(const std::string& text) noexcept {
  last_error() = text;
  if (tenonReportPluginError != nullptr) return tenonReportPluginError(text.c_str());
  nvinfer1::ILogger* logger = getLogger == nullptr ? nullptr : getLogger();
  if (logger != nullptr) logger->log(nvinfer1::ILogger::Severity::kERROR, text.c_str());
}

/// Runs `body`; an exception becomes a reported error and the status 1.
template <class P, class F> int32_t guard(const F& body) noexcept {
  try {
    body();
    return 0;
  } catch (const std::exception& e) {
    const std::string label = label_of<P>();
    const std::string text = e.what();
    report(text.starts_with(label) ? text : label + ": " + text);
    return 1;
  }
}

template <class P> constexpr bool has_valid_ports() {
  for (int i = 0; i < P::spec.inputs.count; ++i) {
    const TypeMask t = P::spec.inputs[i].types;
    if (t == 0 || (t & (t - 1)) != 0) return false;
  }
  for (int i = 0; i < P::spec.outputs.count; ++i) {
    const TypeMask t = P::spec.outputs[i].types;
    if (t == 0 || t == kAny || (t & (t - 1)) != 0) return false;
  }
  return P::spec.outputs.count > 0;
}

inline DataType type_of(TypeMask mask) {
  int type = 0;
  while ((mask >> type & 1) == 0) ++type;
  return static_cast<DataType>(type);
}

/// Whether a type in linear format suits a port, given the types of the ports before it.
template <class P, class DescOf>
bool accepts(int position, int inputs, int outputs, const DescOf& desc_of) {
  const int n = P::spec.inputs.count;
  if (inputs != n || outputs != P::spec.outputs.count || position < 0
      || position >= inputs + outputs)
    return false;
  const PluginTensorDesc& desc = desc_of(position);
  if (desc.format != nvinfer1::PluginFormat::kLINEAR) return false;
  const TypeMask wanted =
      position < n ? P::spec.inputs[position].types : P::spec.outputs[position - n].types;
  if (wanted == kAny) return true;
  if (wanted != kT) return desc.type == type_of(wanted);
  for (int i = 0; i < std::min(position, n); ++i)
    if (P::spec.inputs[i].types == kT) return desc.type == desc_of(i).type;
  return (bit(desc.type) & TypesOf<P>::type::mask) != 0;
}

template <class P> DataType output_type(int output, const DataType* inputs) {
  const TypeMask wanted = P::spec.outputs[output].types;
  if (wanted != kT) return type_of(wanted);
  for (int i = 0; i < P::spec.inputs.count; ++i)
    if (P::spec.inputs[i].types == kT) return inputs[i];
  return DataType::kFLOAT;
}

template <class P>
void output_shapes(const P& plugin, const DimsExprs* inputs, int32_t input_count,
                   DimsExprs* outputs, nvinfer1::IExprBuilder& builder) {
  if (input_count != P::spec.inputs.count)
    throw std::invalid_argument("takes " + std::to_string(P::spec.inputs.count) + " inputs, found "
                                + std::to_string(input_count));
  std::vector<Extents> in(P::spec.inputs.count), out(P::spec.outputs.count);
  for (int i = 0; i < P::spec.inputs.count; ++i)
    for (int d = 0; d < inputs[i].nbDims; ++d) in[i].emplace_back(inputs[i].d[d], &builder);
  if constexpr (requires { plugin.shapes(std::span<const Extents>(), std::span<Extents>()); }) {
    plugin.shapes(std::span<const Extents>(in), std::span<Extents>(out));
  } else {
    for (Extents& o : out) o = in.at(0);
  }
  for (int i = 0; i < P::spec.outputs.count; ++i) {
    if (out[i].size() > nvinfer1::Dims::MAX_DIMS)
      throw std::invalid_argument("output " + std::to_string(i) + " has more than 8 dimensions");
    outputs[i] = DimsExprs{};
    outputs[i].nbDims = static_cast<int32_t>(out[i].size());
    for (size_t d = 0; d < out[i].size(); ++d) outputs[i].d[d] = out[i][d].lower(builder);
  }
}

/// Concrete shapes of a plugin's tensors, without allocating.
template <int N> struct Shapes {
  std::array<Shape, N> shape{};
  explicit Shapes(const PluginTensorDesc* descs) {
    for (int i = 0; i < N; ++i) shape[i] = {descs[i].dims};
  }
};

template <class P> void check_inputs(const P& plugin, const PluginTensorDesc* inputs) {
  if constexpr (requires { plugin.check(std::span<const Shape>()); }) {
    const Shapes<P::spec.inputs.count> in(inputs);
    for (const Shape& s : in.shape)
      for (int i = 0; i < s.rank(); ++i)
        if (s[i] < 0) return;  // not known yet
    plugin.check(std::span<const Shape>(in.shape));
  }
}

template <class P>
size_t workspace_bytes(const P& plugin, const PluginTensorDesc* inputs,
                       const PluginTensorDesc* outputs) {
  if constexpr (requires {
                  plugin.workspace(std::span<const Shape>(), std::span<const Shape>());
                }) {
    const Shapes<P::spec.inputs.count> in(inputs);
    const Shapes<P::spec.outputs.count> out(outputs);
    return plugin.workspace(std::span<const Shape>(in.shape), std::span<const Shape>(out.shape));
  } else {
    return 0;
  }
}

/// Calls a kernel, or says why it cannot be.
template <class P>
int32_t dispatch(const P& plugin, Launch launch, const char* target, const PluginTensorDesc* inputs,
                 const PluginTensorDesc* outputs, const void* const* input_data,
                 void* const* output_data, void* workspace, void* stream) noexcept {
  return guard<P>([&] {
    if (launch == nullptr)
      throw std::runtime_error(std::string("it was built without a kernel for ") + target);
    check_inputs(plugin, inputs);
    launch({&plugin, inputs, outputs, input_data, output_data, workspace, stream});
  });
}

/// A plugin struct P in its adapter Self. `Protocol` is the interface by which the engine knows the
/// object whose CPU kernel it is told of.
template <class P, class Self, class Protocol> class Adapted {
 public:
  static int32_t run_on_cpu(void* plugin, const PluginTensorDesc* inputs,
                            const PluginTensorDesc* outputs, const void* const* input_data,
                            void* const* output_data, void* workspace) {
    const Adapted& self = static_cast<Self&>(*static_cast<Protocol*>(plugin));
    return dispatch(self.plugin_, self.entry_.cpu, "the CPU", inputs, outputs, input_data,
                    output_data, workspace, nullptr);
  }

 protected:
  explicit Adapted(P plugin) : plugin_(std::move(plugin)) {}

  void offer_cpu_kernel(Protocol* self) const {
    if (tenonSetCpuKernel != nullptr && entry_.cpu != nullptr) tenonSetCpuKernel(self, &run_on_cpu);
  }
  static void withdraw_cpu_kernel(Protocol* self) {
    if (tenonSetCpuKernel != nullptr) tenonSetCpuKernel(self, nullptr);
  }
  int32_t run_on_cuda(const PluginTensorDesc* inputs, const PluginTensorDesc* outputs,
                      const void* const* input_data, void* const* output_data, void* workspace,
                      cudaStream_t stream) const noexcept {
    return dispatch(plugin_, entry_.cuda, "CUDA", inputs, outputs, input_data, output_data,
                    workspace, stream);
  }

  P plugin_;

 private:
  const Entry& entry_ = entries()[key_of(P::spec)];
};

#endif

}  // namespace kit
}  // namespace tenon
