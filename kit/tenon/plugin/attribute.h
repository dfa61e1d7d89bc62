/// Declarations of a plugin's attributes.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <tuple>

namespace tenon {
namespace kit {

template <class V> struct Choice {
  std::string_view name;
  V value;
};

/// One attribute: a field of the plugin's creator, a member of the plugin. The member's initial
/// value is the default. Members may be bool, signed integers and floats of any width, std::string,
/// nvinfer1::Dims, std::vector of such numbers, and enumerations, which are given by name or by
/// number.
template <class P, class V, size_t N> struct Attribute {
  const char* name;
  V P::* member;
  std::array<Choice<V>, N> choices = {};
  bool is_required = false;
  int32_t count_in_bytes = 0;  // see length_in_bytes()
  std::array<const char*, 2> aliases = {};
  const char* text = "";

  /// Leaving it out is an error.
  constexpr Attribute required() const {
    Attribute a = *this;
    a.is_required = true;
    return a;
  }
  /// Another spelling; `name` wins where both are given. At most two.
  constexpr Attribute alias(const char* other) const {
    Attribute a = *this;
    a.aliases[aliases[0] == nullptr ? 0 : 1] = other;
    return a;
  }
  /// The length of its field may be in bytes, as some programs have it: one float may have length
  /// 4. `count` is the number of values that a list has.
  constexpr Attribute length_in_bytes(int32_t count = 1) const {
    Attribute a = *this;
    a.count_in_bytes = count;
    return a;
  }
  /// For the documentation: what it means, and its unit.
  constexpr Attribute says(const char* what) const {
    Attribute a = *this;
    a.text = what;
    return a;
  }
};

template <class P, class V>
constexpr Attribute<P, V, 0> attribute(const char* name, V P::* member) {
  return {name, member};
}
/// `attribute("mode", &P::mode, {{"avg", Mode::kAverage}, {"max", Mode::kMaximum}})`
template <class P, class V, size_t N>
constexpr Attribute<P, V, N> attribute(const char* name, V P::* member,
                                       const Choice<V> (&choices)[N]) {
  return {name, member, std::to_array(choices)};
}

}  // namespace kit
}  // namespace tenon
