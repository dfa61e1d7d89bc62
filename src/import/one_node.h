// A model of one node, for tests of what the importer says about it.
#pragma once

#include <string>
#include <vector>

#include "import/testing.h"

namespace tenon::testing {

/// Inputs and attributes are added one by one; the first output is the model's.
class OneNode {
 public:
  OneNode(const std::string& op, int64_t opset) {
    model_.set_ir_version(8);
    model_.add_opset_import()->set_version(opset);
    node().set_op_type(op);
    node().set_name("node");
    node().add_output("y");
    graph().add_output()->set_name("y");
  }

  OneNode& input(std::vector<int64_t> dims, int32_t type = onnx::TensorProto::FLOAT) {
    auto& in = *graph().add_input();
    in.set_name(next_name());
    auto& tensor = *in.mutable_type()->mutable_tensor_type();
    tensor.set_elem_type(type);
    tensor.mutable_shape();
    for (int64_t d : dims) tensor.mutable_shape()->add_dim()->set_dim_value(d);
    return *this;
  }
  OneNode& constant(const std::vector<int64_t>& values) {
    auto& t = *graph().add_initializer();
    t.set_name(next_name());
    t.set_data_type(onnx::TensorProto::INT64);
    t.add_dims(static_cast<int64_t>(values.size()));
    for (int64_t v : values) t.add_int64_data(v);
    return *this;
  }
  OneNode& set(const std::string& name, int64_t value) {
    auto& a = attribute(name, onnx::AttributeProto::INT);
    a.set_i(value);
    return *this;
  }
  OneNode& set_real(const std::string& name, float value) {
    auto& a = attribute(name, onnx::AttributeProto::FLOAT);
    a.set_f(value);
    return *this;
  }
  OneNode& set(const std::string& name, const char* value) {
    auto& a = attribute(name, onnx::AttributeProto::STRING);
    a.set_s(value);
    return *this;
  }
  OneNode& set(const std::string& name, const std::vector<int64_t>& values) {
    auto& a = attribute(name, onnx::AttributeProto::INTS);
    for (int64_t v : values) a.add_ints(v);
    return *this;
  }

  /// What the importer says; "" when it takes the model.
  std::string error() {
    Network network;
    ImportReport report;
    const std::string bytes = model_.SerializeAsString();
    try {
      import_onnx(bytes_of(bytes), ImportOptions(), network, report);
    } catch (const Error& e) {
      return report.problems.empty() ? e.what() : report.problems[0].text;
    }
    return "";
  }

 private:
  onnx::GraphProto& graph() { return *model_.mutable_graph(); }
  onnx::NodeProto& node() {
    return graph().node_size() > 0 ? *graph().mutable_node(0) : *graph().add_node();
  }
  std::string next_name() {
    node().add_input(fmt::format("x{}", node().input_size()));
    return node().input(node().input_size() - 1);
  }
  onnx::AttributeProto& attribute(const std::string& name,
                                  onnx::AttributeProto::AttributeType type) {
    auto& a = *node().add_attribute();
    a.set_name(name);
    a.set_type(type);
    return a;
  }

  onnx::ModelProto model_;
};

}  // namespace tenon::testing
