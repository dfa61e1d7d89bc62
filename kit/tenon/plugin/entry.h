/// The kernels of a plugin, and where both of its compilations, for the CPU and for CUDA, meet.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "tenon/plugin/device.h"
#include "tenon/plugin/quantized.h"
#include "tenon/plugin/spec.h"

namespace tenon {
namespace kit {

using nvinfer1::PluginFieldCollection;
using nvinfer1::PluginTensorDesc;

/// One call of a kernel.
struct Call {
  const void* plugin;  // the plugin struct
  const PluginTensorDesc* inputs;
  const PluginTensorDesc* outputs;
  int input_count, output_count;
  const void* const* input_data;
  void* const* output_data;
  void* workspace;
  void* stream;
};
using Launch = void (*)(const Call& call);
/// Bytes of workspace that the plugin struct asks for.
using Workspace = size_t (*)(const void* plugin, std::span<const Shape> in,
                             std::span<const Shape> out);

class Model;

/// A plugin under one of its names.
struct Entry {
  Spec spec{.name = "", .inputs = {}, .outputs = {}};
  TypeMask t = 0, u = 0;  // the types of T and U
  DataType first_t = DataType::kFLOAT, first_u = DataType::kFLOAT;
  bool needs_v3 = false;      // its shape rule asks what version 2 cannot answer
  bool is_quantized = false;  // its int8 is Quantized
  Launch cpu = nullptr;
  Launch cuda = nullptr;
  Workspace cpu_workspace = nullptr;
  Workspace cuda_workspace = nullptr;
  /// A plugin from its fields. Throws std::invalid_argument.
  std::unique_ptr<Model> (*create)(const PluginFieldCollection* fields,
                                   const std::string& label) = nullptr;
  std::vector<nvinfer1::PluginField> fields;  // what the creators declare
  std::vector<const char*> stored;            // the names of what is saved
  std::vector<std::string> field_texts;       // for the documentation, one for each of `fields`
  std::shared_ptr<void> creators;             // own the three below
  nvinfer1::IPluginCreatorInterface* v2 = nullptr;
  nvinfer1::IPluginCreatorInterface* v3 = nullptr;
  const TenonPluginText* text = nullptr;  // what they are, for the engine
  TenonCpuKernel run_v2 = nullptr;
  TenonCpuKernel run_v3 = nullptr;

  std::string label() const { return label_of(spec); }
};
/// By "name/version/namespace". Hidden: each library has its own plugins.
__attribute__((visibility("hidden"))) inline std::map<std::string, Entry>& entries() {
  static std::map<std::string, Entry> all;
  return all;
}
inline std::string key_of(const Spec& spec) {
  return std::string(spec.name) + "/" + spec.version + "/" + spec.name_space;
}

/// The type of a type variable, from the first input that has it.
inline DataType bound_type(const Ports& ports, TypeMask variable, const PluginTensorDesc* inputs,
                           int count, DataType otherwise) {
  for (int i = 0; i < count; ++i)
    if (ports.port_at(i, count).types == variable) return inputs[i].type;
  return otherwise;
}

inline namespace TENON_TARGET {

template <TypeMask mask, class T, class U> constexpr auto element() {
  if constexpr (mask == kT || mask == kReal)
    return std::type_identity<T>();
  else if constexpr (mask == kU)
    return std::type_identity<U>();
  else if constexpr (mask == kFloat)
    return std::type_identity<float>();
  else if constexpr (mask == kHalf)
    return std::type_identity<Half>();
  else if constexpr (mask == kBFloat16)
    return std::type_identity<BFloat16>();
  else if constexpr (mask == kInt8)
    return std::type_identity<int8_t>();
  else if constexpr (mask == kInt32)
    return std::type_identity<int32_t>();
  else if constexpr (mask == kInt64)
    return std::type_identity<int64_t>();
  else if constexpr (mask == kBool)
    return std::type_identity<bool>();
  else if constexpr (mask == kUint8)
    return std::type_identity<uint8_t>();
  else
    return std::type_identity<void>();
}
template <TypeMask mask, class T, class U>
using Element = typename decltype(element<mask, T, U>())::type;

/// The plugin's types of T and U; a plugin without them has nothing to choose.
template <class P> struct TypesOfT {
  using type = Types<float>;
};
template <class P>
  requires requires { typename P::T; }
struct TypesOfT<P> {
  using type = typename P::T;
};
template <class P> struct TypesOfU {
  using type = Types<float>;
};
template <class P>
  requires requires { typename P::U; }
struct TypesOfU<P> {
  using type = typename P::U;
};

/// The tensor or tensors of port `p`; E has the const of inputs.
template <class E, Presence presence, class Data>
auto argument(const Ports& ports, int p, int count, const PluginTensorDesc* descs, Data data) {
  const Range range = ports.range(p, count);
  const auto tensor = [&](int i) {
    return Tensor<E>{static_cast<E*>(data[i]), {descs[i].dims}, descs[i].format};
  };
  if constexpr (presence == Presence::kRepeated) {
    Tensors<E> all;
    for (; all.count < range.count; ++all.count)
      all.tensor[all.count] = tensor(range.first + all.count);
    return all;
  } else {
    return range.count == 0 ? Tensor<E>{nullptr, {}} : tensor(range.first);
  }
}

template <class P, class T, class U, size_t... I, size_t... O>
void call_run(const Device& device, const Call& c, std::index_sequence<I...>,
              std::index_sequence<O...>) {
  const P& plugin = *static_cast<const P*>(c.plugin);
  constexpr const Ports &in = P::spec.inputs, &out = P::spec.outputs;
  const auto run = [&](const auto&... arguments) {
    if constexpr (requires { typename P::U; })
      plugin.template run<T, U>(device, arguments...);
    else
      plugin.template run<T>(device, arguments...);
  };
  run(argument<const Element<in[I].types, T, U>, in[I].presence>(in, I, c.input_count, c.inputs,
                                                                 c.input_data)...,
      argument<Element<out[O].types, T, U>, out[O].presence>(out, O, c.output_count, c.outputs,
                                                             c.output_data)...);
}

template <class P, class T, class... Us>
bool launch_for_u(Types<Us...>*, DataType u, const Device& device, const Call& call) {
  return ((TypeOf<Us>::value == u
           && (call_run<P, T, Us>(device, call, std::make_index_sequence<P::spec.inputs.count>{},
                                  std::make_index_sequence<P::spec.outputs.count>{}),
               true))
          || ...);
}
/// run() for T = `Type`, by copies in float where that is Quantized.
template <class P, class Type> bool launch_as(DataType u, Device device, Call call) {
  auto* us = static_cast<typename TypesOfU<P>::type*>(nullptr);
  if constexpr (!std::is_same_v<Type, Quantized>) {
    return launch_for_u<P, Type>(us, u, device, call);
  } else {
    const QuantizedCall copies(device, P::spec, call.inputs, call.input_count, call.input_data,
                               call.outputs, call.output_count, call.output_data);
    call.input_data = copies.input_data.data();
    call.output_data = copies.output_data.data();
    const bool has_run = launch_for_u<P, float>(us, u, device, call);
    copies.store();
    return has_run;
  }
}
template <class P, class... Ts>
bool launch_for_t(Types<Ts...>*, DataType t, DataType u, const Device& device, const Call& call) {
  return ((TypeOf<Ts>::value == t && launch_as<P, Ts>(u, device, call)) || ...);
}

/// 0 where the struct has no workspace().
template <class P>
size_t workspace_of(const void* plugin, std::span<const Shape> in, std::span<const Shape> out) {
  const P& p = *static_cast<const P*>(plugin);
  if constexpr (requires { p.workspace(in, out); })
    return p.workspace(in, out);
  else
    return 0;
}

template <class P> void launch(const Call& call) {
  Device device;
  device.workspace = call.workspace;
#if defined(__CUDACC__)
  device.stream = static_cast<cudaStream_t>(call.stream);
#endif
  using T = typename TypesOfT<P>::type;
  using U = typename TypesOfU<P>::type;
  const Ports& in = P::spec.inputs;
  const DataType t = bound_type(in, kT, call.inputs, call.input_count, T::first);
  const DataType u = bound_type(in, kU, call.inputs, call.input_count, U::first);
  if (!launch_for_t<P>(static_cast<T*>(nullptr), t, u, device, call))
    throw std::logic_error("no kernel for these data types");
#if defined(__CUDACC__)
  if (const cudaError_t error = cudaGetLastError(); error != cudaSuccess)
    throw std::runtime_error(std::string("the kernel was not launched: ")
                             + cudaGetErrorString(error));
#endif
}

}  // namespace TENON_TARGET

}  // namespace kit
}  // namespace tenon
