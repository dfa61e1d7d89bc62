// Layers whose elements depend on their neighbours along an axis, against the reference.
#include "backend/accuracy_testing.h"
#include "backend/testing.h"
#include "ops/cumulative.h"
#include "ops/dynamic_quantize.h"
#include "ops/lrn.h"

namespace tenon {
namespace {

TestInput axis_of(int32_t axis) {
  return integers<int32_t>(DataType::kINT32, {}, {axis});
}

void expect_same_sums(const Cumulative& op, const TestInput& in, int32_t axis, double tolerance) {
  expect_as_reference(op, {in, axis_of(axis)}, tolerance);
}

TEST(CumulativeTest, EveryAxisAndDirection) {
  for (const bool exclusive : {false, true})
    for (const bool reverse : {false, true})
      for (const int32_t axis : {0, 1, -1}) {
        SCOPED_TRACE(fmt::format("{} {} {}", exclusive, reverse, axis));
        Cumulative op;
        op.exclusive = exclusive;
        op.reverse = reverse;
        for (const Shape& shape :
             {Shape{3, 20, 40}, Shape{5, 7, 3}, Shape{1, 1, 3000}, Shape{0, 2, 3}})
          expect_same_sums(op, data(shape), axis, 1e-5);  // float sums in another order
        op.operation = CumulativeKind::kProduct;
        expect_same_sums(op, {random_tensor({3, 20, 40}, 1, 0.9f, 1.1f)}, axis, 1e-5);
      }
}

TEST(CumulativeTest, ManyLinesSideBySide) {
  expect_same_sums(Cumulative(), data({2, 100, 5000}), 1, 1e-6);
}

TEST(CumulativeTest, OtherTypes) {
  const Cumulative op;
  expect_same_sums(op, as_type(DataType::kHALF, data({3, 70})), 1, 1e-3);
  expect_same_sums(op, as_type(DataType::kBF16, data({3, 70})), 1, 8e-3);
  std::vector<int64_t> large(1500);
  std::vector<int8_t> small(large.size());
  for (size_t i = 0; i < large.size(); ++i) {
    large[i] = static_cast<int64_t>(i * 0x9e3779b97f4a7c15u);
    small[i] = static_cast<int8_t>(i);
  }
  for (const int32_t axis : {0, 1}) {
    expect_same_sums(op, integers<int64_t>(DataType::kINT64, {1, 1500}, large), axis, 0);
    expect_same_sums(op, integers<int8_t>(DataType::kINT8, {15, 100}, small), axis, 0);
    expect_same_sums(op, integers<int8_t>(DataType::kUINT8, {15, 100}, small), axis, 0);
  }
}

TEST(LrnTest, EveryLayoutTypeAndWindow) {
  for (const Layout layout : tested().layouts)
    for (const DataType type : {DataType::kFLOAT, DataType::kHALF, DataType::kBF16})
      for (const int64_t window : {1, 4, 5, 99})
        for (const float beta : {0.75f, 0.6f}) {
          SCOPED_TRACE(fmt::format("{} {} {}", name_of(layout), name_of(type), window));
          Lrn op;
          op.window = window;
          op.alpha = 0.5f;
          op.beta = beta;
          op.bias = 2;
          LayerTest test(op, {as_type(type, data({2, 11, 5, 7}, 1, layout))});
          const Tensor expected = test.reference();
          for_each_candidate(test, [&] { expect_accurate(test.run(), expected, 8, 0.1); });
        }
}

TEST(DynamicQuantizeTest, BlocksOfEveryKind) {
  for (const DataType to : {DataType::kFP4, DataType::kFP8, DataType::kINT8})
    for (const DataType scale :
         {DataType::kFP8, DataType::kE8M0, DataType::kFLOAT, DataType::kHALF})
      for (const bool has_unit : {false, true}) {
        SCOPED_TRACE(fmt::format("{} {} {}", name_of(to), name_of(scale), has_unit));
        DynamicQuantize op;
        op.to = to;
        op.scale_type = scale;
        op.block_size = 16;
        Tensor blocks_of_zeros = random_tensor({6, 64}, 1, -5, 5);
        std::fill_n(blocks_of_zeros.mutable_data<float>() + 32, 16, 0.f);
        const TestInput unit = has_unit ? TestInput{random_tensor({1}, 2, 0.01f, 0.02f)} : absent();
        expect_as_reference(op, {{blocks_of_zeros}, unit});
        op.block = {2, -1};
        expect_as_reference(op, {data({6, 64}), unit});
      }
}

TEST(DynamicQuantizeTest, BlocksThatDoNotDivideAnAxis) {
  DynamicQuantize op;
  op.to = DataType::kFP8;
  op.scale_type = DataType::kE8M0;
  op.axis = 0;
  op.block_size = 4;
  expect_as_reference(op, {as_type(DataType::kHALF, data({7, 10})), absent()});
}

}  // namespace
}  // namespace tenon
