// What operators on shapes, and loops, say of models that they cannot import or run.
#include <onnx_schema.pb.h>

#include "import/small_models.h"

namespace tenon {
namespace {

using ::testing::HasSubstr;
using namespace testing;

// One node from "x", whose extents are not known, to "y".
onnx::ModelProto unknown_extents(const char* op, int rank) {
  auto model = relu_model();
  auto& graph = *model.mutable_graph();
  graph.mutable_node(0)->set_op_type(op);
  auto& shape = *graph.mutable_input(0)->mutable_type()->mutable_tensor_type()->mutable_shape();
  shape.clear_dim();
  for (int i = 0; i < rank; ++i) shape.add_dim();
  return model;
}

// Whether two axes are 1 is decided when the network is built; a third must not be.
TEST(Shape, SqueezeWithoutAxesWantsToKnowTheOnes) {
  auto model = unknown_extents("Squeeze", 3);
  const auto shape_for = [&](const Shape& shape) {
    return run(model, {Tensor(DataType::kFLOAT, shape)}).at(0).shape();
  };
  EXPECT_EQ(shape_for({2, 3, 4}), (Shape{2, 3, 4}));
  EXPECT_EQ(shape_for({1, 3, 4}), (Shape{3, 4}));
  EXPECT_EQ(shape_for({1, 1, 4}), (Shape{4}));
  try {
    shape_for({2, 3, 1});
    FAIL() << "the rank would be another";
  } catch (const Error& e) {
    EXPECT_THAT(e.what(),
                HasSubstr("node 'relu' (Squeeze) gives no axes, and axis 2 of its input"));
  }
}

TEST(Shape, ScanOfOpset8HasNoLengths) {
  auto model = unknown_extents("Scan", 3);
  model.mutable_opset_import(0)->set_version(8);
  auto& node = *model.mutable_graph()->mutable_node(0);
  node.add_input("x");
  EXPECT_THAT(error_of(model), HasSubstr("lengths of sequences are not supported yet"));
}

}  // namespace
}  // namespace tenon
