// Models of very many nodes: limits.cc says how many are too many.
#include <onnx_schema.pb.h>

#include "import/small_models.h"

namespace tenon {
namespace {

using ::testing::HasSubstr;
using namespace testing;

// The bytes of a field of protobuf whose tag is one byte.
std::string field(char tag, const std::string& bytes) {
  std::string text(1, tag);
  size_t size = bytes.size();
  for (; size > 0x7f; size >>= 7) text += static_cast<char>((size & 0x7f) | 0x80);
  return text + static_cast<char>(size) + bytes;
}

// A model with so many Relus after each other.
std::string chain_of(int length) {
  onnx::ModelProto model = relu_model();
  onnx::NodeProto node = model.graph().node(0);
  model.mutable_graph()->clear_node();
  std::string nodes;
  for (int i = 0; i < length; ++i) {
    node.set_name("relu" + std::to_string(i));
    node.set_input(0, i == 0 ? "x" : "t" + std::to_string(i - 1));
    node.set_output(0, i == length - 1 ? "y" : "t" + std::to_string(i));
    nodes += field('\x0a', node.SerializeAsString());
  }
  return model.SerializeAsString() + field('\x3a', nodes);  // graphs of one model are one
}

TEST(Limits, AMillionNodesAreOneError) {
  Network network;
  ImportReport report;
  EXPECT_THROW(
      import_onnx(testing::bytes_of(chain_of(1'000'000)), ImportOptions(), network, report), Error);
  ASSERT_EQ(report.problems.size(), 1u);
  EXPECT_THAT(report.problems[0].text, HasSubstr("more nodes than are allowed (200000"));
  EXPECT_TRUE(network.nodes().empty());
}

TEST(Limits, TheNumberOfNodesIsSettable) {
  const std::string model = chain_of(40'000);
  for (const size_t max_nodes : {size_t{39'999}, size_t{40'000}}) {
    Network network;
    ImportReport report;
    ImportOptions options;
    options.max_nodes = max_nodes;
    if (max_nodes < 40'000) {
      EXPECT_THROW(import_onnx(testing::bytes_of(model), options, network, report), Error);
      continue;
    }
    import_onnx(testing::bytes_of(model), options, network, report);
    EXPECT_EQ(network.nodes().size(), 40'000u);
  }
}

}  // namespace
}  // namespace tenon
