// Filled tensors against the reference. Random normal numbers may differ by what functions of two
// mathematics libraries do.
#include "ops/fill.h"

#include "common/suites/float_types_testing.h"
#include "ops/one_hot.h"

namespace tenon {
namespace {

using nvinfer1::FillOperation;

TestInput dimensions(std::vector<int64_t> extents) {
  TestInput in = integers(DataType::kINT64, {static_cast<int64_t>(extents.size())}, extents);
  in.is_constant = true;
  return in;
}

TEST(FillTest, EvenlySpaced) {
  for (const DataType type : {DataType::kFLOAT, DataType::kHALF, DataType::kBF16, DataType::kINT32,
                              DataType::kINT64, DataType::kINT8, DataType::kUINT8})
    for (const Shape& shape : {Shape{}, Shape{0}, Shape{1}, Shape{1000}}) {
      SCOPED_TRACE(fmt::format("{} {}", name_of(type), shape));
      Fill op;
      op.type = type;
      op.dimensions = shape;
      op.alpha = -3.3;
      op.beta = 0.7;
      expect_as_reference(op, {});
      op.integers = true;
      op.alpha_integer = 5;
      op.beta_integer = -2;
      expect_as_reference(op, {});
    }
}

TEST(FillTest, StepsAsInputs) {
  Fill op;
  expect_as_reference(op, {dimensions({7, 40, 3}), data({}, 2), data({3}, 3)});
  expect_as_reference(op, {dimensions({7, 40, 3}), integers<int64_t>(DataType::kINT64, {}, {-5}),
                           integers<int64_t>(DataType::kINT64, {3}, {INT64_MAX, -2, 3})});
}

TEST(FillTest, RandomNumbers) {
  for (const DataType type : kFloatTypes)
    for (const auto operation : {FillOperation::kRANDOM_UNIFORM, FillOperation::kRANDOM_NORMAL})
      for (const int64_t count : {0, 1, 7, 5000}) {
        SCOPED_TRACE(fmt::format("{} {}", name_of(type), count));
        Fill op;
        op.operation = operation;
        op.type = type;
        op.dimensions = {count};
        op.alpha = -2;
        op.beta = 5;
        op.seed = -77;
        const bool is_exact = operation == FillOperation::kRANDOM_UNIFORM;
        expect_as_reference(op, {}, is_exact ? 0 : type == DataType::kFLOAT ? 1e-6 : 4e-3);
      }
}

TEST(OneHotTest, EveryAxisAndType) {
  for (const DataType type :
       {DataType::kUINT8, DataType::kHALF, DataType::kFLOAT, DataType::kINT64})
    for (const int axis : {0, 1, -1}) {
      SCOPED_TRACE(fmt::format("{} {}", name_of(type), axis));
      Tensor values(type, {2});
      for (int64_t i = 0; i < 2 * bits_of(type) / 8; ++i)
        values.mutable_data<uint8_t>()[i] = static_cast<uint8_t>(i + 1);
      OneHot op;
      op.axis = axis;
      std::vector<int32_t> indices;
      for (int32_t i = 0; i < 60; ++i) indices.push_back(i * 7 % 23 - 11);
      TestInput depth = integers<int64_t>(DataType::kINT64, {}, {9});
      depth.is_constant = true;
      expect_as_reference(
          op,
          {integers(DataType::kINT32, {4, 15}, indices), {values, false, Layout::kLinear}, depth});
    }
}

}  // namespace
}  // namespace tenon
