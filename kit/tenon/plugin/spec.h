/// What a plugin says about itself. Plain data that the adapters and the tests read.
#pragma once

#include <NvInferRuntime.h>

#include <array>
#include <cstdint>
#include <initializer_list>
#include <string_view>
#include <tuple>

// The same source is compiled once for each target, each in its own namespace.
#if defined(__CUDACC__)
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#define TENON_HD __host__ __device__
#define TENON_TARGET cuda
#else
#define TENON_HD
#define TENON_TARGET cpu
#endif

namespace tenon {
namespace kit {

using nvinfer1::DataType;

inline namespace TENON_TARGET {
#if defined(__CUDACC__)
using Half = __half;
#else
using Half = _Float16;
#endif
}  // namespace TENON_TARGET

/// A set of data types, a bit per nvinfer1::DataType.
using TypeMask = uint32_t;
constexpr TypeMask bit(DataType type) {
  return 1u << static_cast<int>(type);
}
inline constexpr TypeMask kFloat = bit(DataType::kFLOAT), kHalf = bit(DataType::kHALF),
                          kInt8 = bit(DataType::kINT8), kInt32 = bit(DataType::kINT32),
                          kInt64 = bit(DataType::kINT64), kBool = bit(DataType::kBOOL),
                          kUint8 = bit(DataType::kUINT8);
/// The type variable T: a type of the plugin's `T`, the same for all ports that say kT.
inline constexpr TypeMask kT = 1u << 31;
/// Any type at all: for inputs of which only the shape counts. Its tensors are of `void`.
inline constexpr TypeMask kAny = 1u << 30;

template <class E> struct TypeOf;
template <> struct TypeOf<float> {
  static constexpr DataType value = DataType::kFLOAT;
};
template <> struct TypeOf<Half> {
  static constexpr DataType value = DataType::kHALF;
};
template <> struct TypeOf<int8_t> {
  static constexpr DataType value = DataType::kINT8;
};
template <> struct TypeOf<int32_t> {
  static constexpr DataType value = DataType::kINT32;
};
template <> struct TypeOf<int64_t> {
  static constexpr DataType value = DataType::kINT64;
};
template <> struct TypeOf<bool> {
  static constexpr DataType value = DataType::kBOOL;
};
template <> struct TypeOf<uint8_t> {
  static constexpr DataType value = DataType::kUINT8;
};

/// The types of T: `using T = Types<float, Half>;`. The first one is the default.
template <class... Es> struct Types {
  static constexpr TypeMask mask = (bit(TypeOf<Es>::value) | ...);
};

/// An input or output.
struct Port {
  const char* name = "";
  TypeMask types = kT;  // one type, kT, or (inputs only) kAny
};

struct Ports {
  static constexpr int kMost = 16;
  std::array<Port, kMost> port{};
  int count = 0;
  constexpr Ports(std::initializer_list<Port> list) {
    for (const Port& p : list) port[count++] = p;
  }
  constexpr const Port& operator[](size_t i) const { return port[i]; }
};

/// Under which TensorRT protocol a plugin is registered; both exist for every plugin.
enum class Protocol { kV3, kV2 };

struct Spec {
  const char* name;
  const char* version = "1";
  const char* name_space = "";
  Ports inputs;
  Ports outputs;
  /// kV2 for plugins that old programs look for with getPluginCreator().
  Protocol protocol = Protocol::kV3;
};

/// One attribute: a field of the plugin's creator, a member of the plugin. The member's initial
/// value is the default. Members may be bool, int32_t, int64_t, float, double, std::string, and
/// std::vector of int32_t, int64_t or float.
template <class P, class V> struct Attribute {
  const char* name;
  V P::* member;
  bool is_required = false;
  /// The same, but leaving it out is an error.
  constexpr Attribute required() const { return {name, member, true}; }
};
template <class P, class V> constexpr Attribute<P, V> attribute(const char* name, V P::* member) {
  return {name, member};
}

template <class V> struct Choice {
  std::string_view name;
  V value;
};
/// An attribute of an enumeration type, given by name or by number.
template <class P, class V, size_t N> struct EnumAttribute {
  const char* name;
  V P::* member;
  std::array<Choice<V>, N> choices;
  bool is_required = false;
  constexpr EnumAttribute required() const { return {name, member, choices, true}; }
};
/// `attribute("mode", &P::mode, {{"avg", Mode::kAverage}, {"max", Mode::kMaximum}})`
template <class P, class V, size_t N>
constexpr EnumAttribute<P, V, N> attribute(const char* name, V P::* member,
                                           const Choice<V> (&choices)[N]) {
  return {name, member, std::to_array(choices)};
}

}  // namespace kit
}  // namespace tenon
