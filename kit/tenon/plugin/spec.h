/// What a plugin says about itself. Plain data that the adapters and the tests read.
#pragma once

#include <NvInferRuntime.h>

#include <array>
#include <cstdint>
#include <initializer_list>
#include <string>

#include "tenon/plugin/elements.h"

namespace tenon {
namespace kit {

/// A set of data types, a bit per nvinfer1::DataType.
using TypeMask = uint32_t;
constexpr TypeMask bit(DataType type) {
  return 1u << static_cast<int>(type);
}
inline constexpr TypeMask kFloat = bit(DataType::kFLOAT), kHalf = bit(DataType::kHALF),
                          kBFloat16 = bit(DataType::kBF16), kInt8 = bit(DataType::kINT8),
                          kInt32 = bit(DataType::kINT32), kInt64 = bit(DataType::kINT64),
                          kBool = bit(DataType::kBOOL), kUint8 = bit(DataType::kUINT8);
/// The type variable T: a type of the plugin's `T`, the same for all ports that say kT.
inline constexpr TypeMask kT = 1u << 31;
/// The type T, but float32 where T is Quantized. Only for inputs, behind one that says kT.
inline constexpr TypeMask kReal = 1u << 28;
/// A second type variable, of the plugin's `U`: for indices that are int32 or int64, say.
inline constexpr TypeMask kU = 1u << 29;
/// Any type at all: for inputs of which only the shape counts. Its tensors are of `void`.
inline constexpr TypeMask kAny = 1u << 30;

/// The types of T: `using T = Types<float, Half>;`. The first one is the default.
template <class First, class... Others> struct Types {
  static constexpr TypeMask mask = (bit(TypeOf<First>::value) | ... | bit(TypeOf<Others>::value));
  static constexpr DataType first = TypeOf<First>::value;
  static constexpr bool has_quantized =
      (std::is_same_v<First, Quantized> || ... || std::is_same_v<Others, Quantized>);
};

/// How often a port is there.
enum class Presence {
  kOnce,
  kOptional,  // only the last ports may be; the tensor is null when it is left out
  kRepeated,  // once or more, one port of a list; run() gets Tensors
};
inline constexpr Presence kOptional = Presence::kOptional, kRepeated = Presence::kRepeated;

/// An input or output.
struct Port {
  const char* name = "";
  TypeMask types = kT;  // one type, kT, kU, or (inputs only) kReal, kAny
  Presence presence = Presence::kOnce;
  /// Takes tensors in TensorFormat::kHWC (N, H, W, C in memory), too: all ports that say so
  /// together.
  bool channels_last = false;
};

/// Where the tensors of a port lie in a list of inputs or outputs.
struct Range {
  int first, count;
};

struct Ports {
  static constexpr int kMax = 16;
  std::array<Port, kMax> port{};
  int count = 0;
  constexpr Ports(std::initializer_list<Port> list) {
    for (const Port& p : list) port[count++] = p;
  }
  constexpr const Port& operator[](size_t i) const { return port[i]; }

  constexpr int min_count() const {
    int n = 0;
    for (int i = 0; i < count; ++i) n += port[i].presence != Presence::kOptional;
    return n;
  }
  constexpr int max_count() const {
    for (int i = 0; i < count; ++i)
      if (port[i].presence == Presence::kRepeated) return kMax;
    return count;
  }
  constexpr bool is_fixed() const { return min_count() == count && max_count() == count; }
  /// The tensors of port `p` among `tensors` of them.
  constexpr Range range(int p, int tensors) const {
    int repeated = -1;
    for (int i = 0; i < count; ++i)
      if (port[i].presence == Presence::kRepeated) repeated = i;
    const int more = repeated >= 0 ? tensors - count : 0;  // than one of the repeated port
    if (p == repeated) return {p, more + 1};
    const int first = repeated >= 0 && p > repeated ? p + more : p;
    return {first, first < tensors ? 1 : 0};
  }
  /// The port of a tensor.
  constexpr const Port& port_at(int tensor, int tensors) const {
    int p = 0;
    while (p + 1 < count && range(p, tensors).first + range(p, tensors).count <= tensor) ++p;
    return port[p];
  }
};

/// Under which TensorRT protocol a plugin is registered; both exist for every plugin.
enum class Protocol { kV3, kV2 };

struct Spec {
  const char* name;
  const char* version = "1";
  const char* name_space = "";
  Ports inputs;
  Ports outputs;
  /// Shape tensors, whose values the shape rule reads; IPluginV3 only. run() does not get them.
  Ports shape_inputs = {};
  /// kV2 for plugins that old programs look for with getPluginCreator().
  Protocol protocol = Protocol::kV3;
  /// For the documentation: what it computes, in a sentence or two.
  const char* text = "";
  /// For the documentation: in what it is not as the plugin of that name elsewhere, and why.
  const char* differs = "";
};

/// The same plugin under another name, version or namespace.
constexpr Spec renamed(Spec spec, const char* name, const char* version = nullptr,
                       const char* name_space = nullptr) {
  spec.name = name;
  if (version != nullptr) spec.version = version;
  if (name_space != nullptr) spec.name_space = name_space;
  return spec;
}
inline std::string label_of(const Spec& spec) {
  return std::string("plugin ") + spec.name + " version " + spec.version;
}

}  // namespace kit
}  // namespace tenon
