#include "onnx_model/functions.h"

#include <onnx_schema.pb.h>

namespace tenon {
namespace {

std::string key_of(const std::string& domain, const std::string& name,
                   const std::string& overload) {
  return (is_standard(domain) ? "" : domain) + "\n" + name + "\n" + overload;
}

const onnx::AttributeProto* value_of(const std::string& reference, const onnx::NodeProto& call,
                                     const onnx::FunctionProto& function) {
  for (const auto& a : call.attribute())
    if (a.name() == reference) return &a;
  for (const auto& a : function.attribute_proto())
    if (a.name() == reference) return &a;
  return nullptr;
}

void substitute(onnx::NodeProto& node, const onnx::NodeProto& call,
                const onnx::FunctionProto& function) {
  auto& attributes = *node.mutable_attribute();
  for (int i = attributes.size() - 1; i >= 0; --i) {
    auto& attribute = *attributes.Mutable(i);
    if (attribute.has_g())
      for (auto& inner : *attribute.mutable_g()->mutable_node()) substitute(inner, call, function);
    if (attribute.ref_attr_name().empty()) continue;
    const auto* value = value_of(attribute.ref_attr_name(), call, function);
    if (value == nullptr) {
      attributes.DeleteSubrange(i, 1);
      continue;
    }
    const std::string name = attribute.name();
    attribute = *value;
    attribute.set_name(name);
  }
}

}  // namespace

LocalFunctions::LocalFunctions(const onnx::ModelProto& model) {
  for (const auto& function : model.functions())
    by_name_[key_of(function.domain(), function.name(), function.overload())] = &function;
}

const onnx::FunctionProto* LocalFunctions::find(const onnx::NodeProto& node) const {
  if (by_name_.empty()) return nullptr;
  const auto it = by_name_.find(key_of(node.domain(), node.op_type(), node.overload()));
  return it == by_name_.end() ? nullptr : it->second;
}

onnx::NodeProto substituted(const onnx::NodeProto& inner, const onnx::NodeProto& call,
                            const onnx::FunctionProto& function) {
  onnx::NodeProto copy = inner;
  substitute(copy, call, function);
  return copy;
}

}  // namespace tenon
