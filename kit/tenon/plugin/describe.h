/// What a plugin says of itself, as text for lists and documentation.
#pragma once

#include <string>
#include <vector>

#include "tenon/plugin/attributes.h"
#include "tenon/plugin/entry.h"

namespace tenon {
namespace kit {

inline std::string types_text(TypeMask mask) {
  constexpr const char* kNames[] = {"float32", "float16",  "int8",  "int32", "bool",  "uint8",
                                    "float8",  "bfloat16", "int64", "int4",  "float4"};
  if (mask == kAny) return "any type";
  if (mask == kT) return "T";
  if (mask == kU) return "U";
  if (mask == kReal) return "T, float32 where that is int8";
  std::string list;
  for (size_t i = 0; i < std::size(kNames); ++i)
    if ((mask >> i & 1) != 0) list += (list.empty() ? "" : ", ") + std::string(kNames[i]);
  return list;
}

inline std::string ports_text(const Ports& ports) {
  std::string list;
  for (size_t i = 0; i < static_cast<size_t>(ports.count); ++i) {
    const Port& port = ports[i];
    list +=
        (list.empty() ? "" : "; ") + std::string("`") + port.name + "` " + types_text(port.types);
    if (port.presence == Presence::kOptional) list += ", optional";
    if (port.presence == Presence::kRepeated) list += ", once or more";
    if (port.channels_last) list += ", NCHW or NHWC";
  }
  return list;
}

inline std::string ports_text(const Entry& entry) {
  const Spec& spec = entry.spec;
  std::string text = "Inputs: " + ports_text(spec.inputs) + ". ";
  if (spec.shape_inputs.count > 0) text += "Shape inputs: " + ports_text(spec.shape_inputs) + ". ";
  text += "Outputs: " + ports_text(spec.outputs) + ".";
  if (text.find("` T") != std::string::npos) text += " T is one of " + types_text(entry.t) + ".";
  if (text.find("` U") != std::string::npos) text += " U is one of " + types_text(entry.u) + ".";
  return text;
}

template <class A, class V> std::string value_text(const A& attribute, const V& value) {
  if constexpr (std::is_same_v<V, std::string>) {
    return "\"" + value + "\"";
  } else if constexpr (IsVector<V>::value) {
    std::string list;
    for (const auto& v : value) list += (list.empty() ? "" : ", ") + value_text(attribute, v);
    return "[" + list + "]";
  } else if constexpr (std::is_same_v<V, nvinfer1::Dims>) {
    return value_text(attribute, std::vector<int64_t>(value.d, value.d + value.nbDims));
  } else if constexpr (std::is_enum_v<V>) {
    for (const auto& choice : attribute.choices)
      if (choice.value == value) return std::string(choice.name);
    return std::to_string(static_cast<int64_t>(value));
  } else if constexpr (std::is_integral_v<V>) {
    return std::to_string(value);
  } else {
    char text[32];
    std::snprintf(text, sizeof(text), "%g", static_cast<double>(value));
    return text;
  }
}

/// A text for each declared field of P: what it means, its choices, its default.
template <class P> std::vector<std::string> field_texts() {
  std::vector<std::string> texts;
  const P defaults;
  for_each_attribute<P>([&](const auto& a) {
    std::string text = a.text;
    if (!text.empty() && text.back() != '.') text += '.';
    if constexpr (std::tuple_size_v<decltype(a.choices)> > 0) {
      std::string list;
      for (const auto& c : a.choices)
        list += (list.empty() ? "One of " : ", ") + std::string(c.name) + " ("
                + std::to_string(static_cast<int64_t>(c.value)) + ")";
      text += (text.empty() ? "" : " ") + list + ".";
    }
    text += text.empty() ? "" : " ";
    text += a.is_required ? "Required." : "Default " + value_text(a, defaults.*a.member) + ".";
    texts.push_back(text);
    for (const char* alias : a.aliases)
      if (alias != nullptr) texts.push_back("The same as `" + std::string(a.name) + "`.");
  });
  return texts;
}

}  // namespace kit
}  // namespace tenon
