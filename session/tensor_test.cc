#include "tenon/session/tensor.h"

#include "tenon/session/shape.h"
#include "test_networks.h"

namespace tenon::session {
namespace {

TEST(Tensors, HaveTheRangeOfTheirProfile) {
  ErrorLog log;
  const Engine sum = build_sum(log);
  const auto tensors = tensors_of(*sum.engine, 1);
  ASSERT_EQ(tensors.size(), 2u);
  EXPECT_TRUE(tensors[0].is_input);
  EXPECT_EQ(tensors[0].label(), "input 'x'");
  EXPECT_EQ(to_shape(tensors[0].shape), (Shape{-1, 3}));
  EXPECT_EQ(to_shape(tensors[0].min), (Shape{3, 3}));
  EXPECT_EQ(to_shape(tensors[0].opt), (Shape{4, 3}));
  EXPECT_EQ(to_shape(tensors[0].max), (Shape{5, 3}));
  EXPECT_FALSE(tensors[0].decides_shapes);
  EXPECT_EQ(tensors[1].label(), "output 'y'");
}

TEST(Tensors, ForgeNoLinesByTheirNames) {
  Tensor tensor;
  tensor.name = "x\ny";
  EXPECT_EQ(tensor.label(), "output 'x\\ny'");
}

TEST(Tensors, SayWhichDecideShapes) {
  ErrorLog log;
  const Engine first = build_first(log, DataType::kINT64, 4);
  for (const Tensor& tensor : tensors_of(*first.engine, 0)) {
    EXPECT_EQ(tensor.decides_shapes, tensor.name == "count") << tensor.name;
    if (tensor.name == "count") {
      EXPECT_TRUE(tensor.is_on_host);
      EXPECT_EQ(tensor.type, DataType::kINT64);
    }
  }
}

}  // namespace
}  // namespace tenon::session
