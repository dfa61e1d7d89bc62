#include "ops/reduce.h"

#include "backend/accuracy_testing.h"

namespace tenon {
namespace {

using nvinfer1::ReduceOperation;

constexpr ReduceOperation kOperations[] = {ReduceOperation::kSUM, ReduceOperation::kPROD,
                                           ReduceOperation::kMAX, ReduceOperation::kMIN,
                                           ReduceOperation::kAVG};

Reduce reduce_of(ReduceOperation operation, uint32_t axes, bool keep = false) {
  Reduce op;
  op.operation = operation;
  op.axes = axes;
  op.keep_dimensions = keep;
  return op;
}

void expect_same(const Reduce& op, const TestInput& in, double ulps = 8) {
  LayerTest test(op, {in});
  const Tensor expected = test.reference();
  for_each_candidate(test, [&] { expect_accurate(test.run(), expected, ulps, 1); });
}

TEST(ReduceTest, AnyAxesOfEveryLayout) {
  for (const Shape& shape : {Shape{3, 8, 5, 16}, Shape{3, 7, 5, 11}})
    for (const Layout layout : tested().layouts)
      for (uint32_t axes = 0; axes < 16; ++axes) {
        SCOPED_TRACE(fmt::format("{} {} {:#x}", shape, name_of(layout), axes));
        expect_same(reduce_of(ReduceOperation::kSUM, axes, axes % 2 == 0), data(shape, 1, layout),
                    64);
      }
}

TEST(ReduceTest, EveryOperationAndType) {
  for (const ReduceOperation operation : kOperations)
    for (const uint32_t axes : {2u, 4u}) {
      SCOPED_TRACE(fmt::format("{} {}", static_cast<int>(operation), axes));
      const Reduce op = reduce_of(operation, axes);
      for (const DataType type : {DataType::kFLOAT, DataType::kHALF, DataType::kBF16})
        expect_same(op, as_type(type, {random_tensor({4, 12, 24}, 1, 0.5f, 1.5f)}));
      std::vector<int8_t> small(4 * 12 * 24);
      std::vector<int32_t> numbers(small.size());
      std::vector<int64_t> large(small.size());
      for (size_t i = 0; i < small.size(); ++i) {
        small[i] = static_cast<int8_t>(i * 37);
        numbers[i] = static_cast<int32_t>(i * 2654435761u);
        large[i] = static_cast<int64_t>(i * 0x9e3779b97f4a7c15u);
      }
      expect_same(op, integers<int8_t>(DataType::kINT8, {4, 12, 24}, small));
      expect_same(op, integers<int8_t>(DataType::kUINT8, {4, 12, 24}, small));
      expect_same(op, integers<int32_t>(DataType::kINT32, {4, 12, 24}, numbers));
      if (operation != ReduceOperation::kAVG || axes == 2)
        expect_same(op, integers<int64_t>(DataType::kINT64, {4, 12, 24}, large));
    }
}

TEST(ReduceTest, NoNumberStaysNone) {
  Tensor t = random_tensor({3, 100}, 1);
  t.mutable_data<float>()[150] = NAN;
  for (const ReduceOperation operation : kOperations) expect_same(reduce_of(operation, 2), {t}, 64);
}

TEST(ReduceTest, ReductionsOfNothing) {
  for (const ReduceOperation operation : kOperations) {
    SCOPED_TRACE(static_cast<int>(operation));
    expect_same(reduce_of(operation, 2), data({3, 0, 5}));
    expect_same(reduce_of(operation, 4), data({3, 0, 5}));
  }
}

// So many that blocks share one result.
TEST(ReduceTest, LongReductions) {
  for (const Shape& shape : {Shape{1, 300000}, Shape{2, 99999}, Shape{60000, 8}, Shape{50001, 3}})
    for (const uint32_t axes : {1u, 2u, 3u}) {
      SCOPED_TRACE(fmt::format("{} {}", shape, axes));
      expect_same(reduce_of(ReduceOperation::kAVG, axes), {random_tensor(shape, 1, 0, 2)}, 64);
      expect_same(reduce_of(ReduceOperation::kMAX, axes), data(shape), 0);
    }
}

TEST(ReduceTest, OtherShapesWithTheSameKernel) {
  LayerTest test(reduce_of(ReduceOperation::kSUM, 2), {data({4, 8, 16})});
  ASSERT_EQ(test.offer("reduce"), "");
  for (const Shape& shape : {Shape{1, 1, 1}, Shape{5, 7, 3}, Shape{0, 3, 4}, Shape{2, 1000, 33}}) {
    SCOPED_TRACE(shape.str());
    // Of one sign: where numbers cancel, the order of a sum counts.
    test.set_inputs({{random_tensor(shape, 1, 0, 2)}});
    expect_accurate(test.run(), test.reference(), 64, 1);
  }
}

TEST(ReduceTest, APlanKeepsTheCode) {
  LayerTest test(reduce_of(ReduceOperation::kSUM, 2), {data({4, 8, 16})});
  ASSERT_EQ(test.offer("reduce"), "");
  expect_identical(test.run(*test.load(test.stored())), test.run());
}

TEST(ReduceTest, EveryOperationAndAxes) {
  for (const ReduceOperation operation : kOperations)
    for (uint32_t axes = 0; axes < 16; ++axes)
      for (const bool keep : {false, true}) {
        SCOPED_TRACE(fmt::format("{} {:#x} {}", static_cast<int>(operation), axes, keep));
        Reduce op;
        op.operation = operation;
        op.axes = axes;
        op.keep_dimensions = keep;
        expect_as_reference(op, {data({3, 4, 2, 21})}, "reduce", 1e-5);
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
      expect_as_reference(op, {{random_tensor(shape, 1, 0, 1), false, Layout::kLinear}}, "reduce",
                          2e-6);
    }
}

TEST(ReduceTest, NothingAndNaNs) {
  for (const ReduceOperation operation : kOperations) {
    Reduce op;
    op.operation = operation;
    op.axes = 2;
    expect_as_reference(op, {data({3, 0})}, "reduce", 2e-6);
    for (const uint32_t axes : {1u, 2u}) {
      op.axes = axes;
      TestInput in = data({40, 40});
      in.tensor->mutable_data<float>()[0] = NAN;
      in.tensor->mutable_data<float>()[100] = NAN;
      in.tensor->mutable_data<float>()[1599] = NAN;
      expect_as_reference(op, {in}, "reduce", 1e-5);
    }
  }
}

}  // namespace
}  // namespace tenon
