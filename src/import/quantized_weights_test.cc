#include <gtest/gtest.h>
#include <onnx_schema.pb.h>

#include "import/small_models.h"
#include "ops/convolution.h"
#include "ops/dequantize.h"

namespace tenon {
namespace {

// A convolution of "x" with a kernel of one dequantised byte.
onnx::ModelProto convolution_of_bytes() {
  onnx::ModelProto model = testing::relu_model();
  auto& graph = *model.mutable_graph();
  auto& shape = *graph.mutable_input(0)->mutable_type()->mutable_tensor_type()->mutable_shape();
  for (int i = 0; i < 3; ++i) shape.add_dim()->set_dim_value(1);
  auto& bytes = *graph.add_initializer();
  bytes.set_name("bytes");
  bytes.set_data_type(onnx::TensorProto::INT8);
  for (int i = 0; i < 4; ++i) bytes.add_dims(1);
  bytes.add_int32_data(3);
  *graph.add_initializer() = testing::float_tensor("scale", {}, {0.5f});
  graph.clear_node();
  auto& dequantize = *graph.add_node();
  dequantize.set_op_type("DequantizeLinear");
  dequantize.add_input("bytes");
  dequantize.add_input("scale");
  dequantize.add_output("kernel");
  auto& convolution = *graph.add_node();
  convolution.set_op_type("Conv");
  convolution.add_input("x");
  convolution.add_input("kernel");
  convolution.add_output("y");
  return model;
}

TEST(QuantizedWeights, OfAConvolutionStayBytes) {
  Network network;
  ImportReport report;
  import_onnx(testing::bytes_of(convolution_of_bytes().SerializeAsString()), ImportOptions(),
              network, report);
  for (const auto& node : network.nodes()) {
    if (node->as<Convolution>() == nullptr) continue;
    const Node* producer = node->inputs[1]->producer;
    ASSERT_NE(producer, nullptr) << "the importer has made floats of them";
    EXPECT_NE(producer->as<Dequantize>(), nullptr);
    return;
  }
  FAIL() << "there is no convolution";
}

}  // namespace
}  // namespace tenon
