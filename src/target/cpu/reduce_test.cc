// Reductions against the reference: every operation over every set of axes.
#include "ops/reduce.h"

#include "target/testing.h"

namespace tenon::cpu {
namespace {

using nvinfer1::ReduceOperation;

constexpr ReduceOperation kOperations[] = {ReduceOperation::kSUM, ReduceOperation::kPROD,
                                           ReduceOperation::kMAX, ReduceOperation::kMIN,
                                           ReduceOperation::kAVG};

TEST(ReduceTest, EveryOperationAndAxes) {
  for (const ReduceOperation operation : kOperations)
    for (uint32_t axes = 0; axes < 16; ++axes)
      for (const bool keep : {false, true}) {
        SCOPED_TRACE(fmt::format("{} {:#x} {}", static_cast<int>(operation), axes, keep));
        Reduce op;
        op.operation = operation;
        op.axes = axes;
        op.keep_dimensions = keep;
        LayerTest test(op, {data({3, 4, 2, 21})});
        ASSERT_EQ(test.offer("reduce"), "");
        expect_close(test.run(), test.reference(), 1e-5);
      }
}

TEST(ReduceTest, ManyElements) {
  for (const ReduceOperation operation :
       {ReduceOperation::kSUM, ReduceOperation::kMAX, ReduceOperation::kAVG})
    for (const auto& [shape, axes] : {std::pair<Shape, uint32_t>{{2, 50000}, 2},
                                      {{50000, 3}, 1},
                                      {{1000, 300}, 1},
                                      {{7, 600, 40}, 5}}) {
      SCOPED_TRACE(fmt::format("{} {}", static_cast<int>(operation), shape));
      Reduce op;
      op.operation = operation;
      op.axes = axes;
      LayerTest test(op, {{random_tensor(shape, 1, 0, 1), false, Layout::kLinear}});
      ASSERT_EQ(test.offer("reduce"), "");
      expect_close(test.run(), test.reference(), 2e-6);
    }
}

TEST(ReduceTest, NothingAndNaNs) {
  for (const ReduceOperation operation : kOperations) {
    Reduce op;
    op.operation = operation;
    op.axes = 2;
    LayerTest empty(op, {data({3, 0})});
    ASSERT_EQ(empty.offer("reduce"), "");
    expect_close(empty.run(), empty.reference());
    for (const uint32_t axes : {1u, 2u}) {
      op.axes = axes;
      TestInput in = data({40, 40});
      in.tensor->mutable_data<float>()[0] = NAN;
      in.tensor->mutable_data<float>()[100] = NAN;
      in.tensor->mutable_data<float>()[1599] = NAN;
      LayerTest test(op, {in});
      ASSERT_EQ(test.offer("reduce"), "");
      expect_close(test.run(), test.reference(), 1e-5);
    }
  }
}

}  // namespace
}  // namespace tenon::cpu
