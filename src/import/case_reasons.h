// Why a test case of ONNX cannot pass, as the case itself shows it.
#pragma once

#include <set>
#include <string>

#include "import/import.h"
#include "import/node.h"
#include "onnx_model/tensors.h"

namespace tenon {

/// The operator of a model of one node.
inline std::string qualified_operator_of(const onnx::ModelProto& model) {
  return qualified_operator(model.graph().node(0).domain(), model.graph().node(0).op_type());
}

/// The element type that TensorRT's DataType lacks; "" for one that it has, and for none.
inline std::string foreign_type(int32_t type) {
  using T = onnx::TensorProto;
  static const std::set<int32_t> own{
      T::UNDEFINED, T::FLOAT, T::FLOAT16, T::BFLOAT16, T::FLOAT8E4M3FN, T::INT4,      T::INT8,
      T::UINT8,     T::INT32, T::INT64,   T::BOOL,     T::FLOAT4E2M1,   T::FLOAT8E8M0};
  return own.contains(type) ? "" : "type " + onnx_type_name(type);
}

/// The same inside a model, where wider types stand for those that wrap.
inline std::string foreign_type_inside(int32_t type) {
  const bool stands = data_type_of(type) && type != onnx::TensorProto::UINT64;
  return stands ? "" : foreign_type(type);
}

/// "sequences and optionals …" where a tensor is none, else what foreign_type() says.
inline std::string reason_of_io(const onnx::ValueInfoProto& value) {
  const auto& type = value.type();
  if (type.has_sequence_type() || type.has_optional_type())
    return "sequences and optionals as inputs or outputs";
  return foreign_type(type.tensor_type().elem_type());
}

/// What keeps one node from being imported: an operator that is not there, training, a type.
inline std::string reason_of(const onnx::NodeProto& node) {
  const std::string op = qualified_operator(node.domain(), node.op_type());
  if (!operator_is_known(op)) return "operator " + op;
  for (const auto& a : node.attribute()) {
    std::string reason;
    if (a.name() == "to" || a.name() == "dtype" || a.name() == "output_dtype")
      reason = foreign_type_inside(static_cast<int32_t>(a.i()));
    if (a.has_t()) reason = foreign_type_inside(a.t().data_type());
    if (!reason.empty()) return reason;
  }
  // The third input of Dropout says whether the model trains; elsewhere in the tests it is left
  // out.
  if (op == "Dropout" && node.input_size() > 2) return "training";
  return "";
}

/// "" for a case that has to pass.
inline std::string reason_in(const onnx::ModelProto& model) {
  const auto& graph = model.graph();
  for (const auto* list : {&graph.input(), &graph.output()})
    for (const auto& value : *list)
      if (std::string reason = reason_of_io(value); !reason.empty()) return reason;
  for (const auto& tensor : graph.initializer())
    if (std::string reason = foreign_type_inside(tensor.data_type()); !reason.empty())
      return reason;
  for (const auto& node : graph.node())
    if (std::string reason = reason_of(node); !reason.empty()) return reason;
  return "";
}

}  // namespace tenon
