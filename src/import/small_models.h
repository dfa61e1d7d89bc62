// Models of one node or two, and what the importer makes of them, for its tests.
#pragma once

#include "import/testing.h"

namespace tenon::testing {

/// A model of one Relu, from "x" to "y", to be varied.
inline onnx::ModelProto relu_model() {
  onnx::ModelProto model;
  model.set_ir_version(8);
  model.add_opset_import()->set_version(17);
  auto& graph = *model.mutable_graph();
  graph.set_name("test");
  auto& node = *graph.add_node();
  node.set_op_type("Relu");
  node.set_name("relu");
  node.add_input("x");
  node.add_output("y");
  auto* input = graph.add_input();
  input->set_name("x");
  auto* type = input->mutable_type()->mutable_tensor_type();
  type->set_elem_type(onnx::TensorProto::FLOAT);
  type->mutable_shape()->add_dim()->set_dim_value(3);
  graph.add_output()->set_name("y");
  return model;
}

inline onnx::TensorProto float_tensor(const std::string& name, std::vector<int64_t> dims,
                                      const std::vector<float>& values) {
  onnx::TensorProto t;
  t.set_name(name);
  t.set_data_type(onnx::TensorProto::FLOAT);
  for (int64_t d : dims) t.add_dims(d);
  t.set_raw_data(values.data(), values.size() * sizeof(float));
  return t;
}

/// A model that adds the initializer "w" to "x".
inline onnx::ModelProto add_model(const onnx::TensorProto& weight) {
  onnx::ModelProto model = relu_model();
  auto& node = *model.mutable_graph()->mutable_node(0);
  node.set_op_type("Add");
  node.set_name("add");
  node.add_input("w");
  *model.mutable_graph()->add_initializer() = weight;
  return model;
}

inline std::string error_of(const std::string& bytes, const std::string& path = "") {
  Network network;
  ImportReport report;
  ImportOptions options;
  options.model_path = path;
  try {
    import_onnx(bytes_of(bytes), options, network, report);
  } catch (const Error&) {
    EXPECT_FALSE(report.problems.empty());
    std::string text;
    for (const auto& problem : report.problems) text += problem.text + "\n";
    return text;
  }
  return "";
}
inline std::string error_of(const onnx::ModelProto& model, const std::string& path = "") {
  return error_of(model.SerializeAsString(), path);
}

inline std::vector<Tensor> run(const onnx::ModelProto& model, const std::vector<Tensor>& inputs) {
  Network network;
  ImportReport report;
  const std::string bytes = model.SerializeAsString();
  import_onnx(bytes_of(bytes), ImportOptions(), network, report);
  return run_reference(network, inputs);
}

inline Tensor floats(std::vector<float> values) {
  return Tensor::of<float>(DataType::kFLOAT, Shape{static_cast<int64_t>(values.size())}, values);
}
inline std::vector<double> numbers(const std::vector<Tensor>& tensors) {
  return tensors.at(0).numbers();
}

}  // namespace tenon::testing
