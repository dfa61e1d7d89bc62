// Selections against the reference: values and positions, also of equal elements and NaNs.
#include "ops/top_k.h"

#include "backend/testing.h"

namespace tenon {
namespace {

using nvinfer1::TopKOperation;

// Numbers many of which are equal; floats with zeros of both signs, infinities and NaNs.
TestInput top_k_numbers(DataType type, const Shape& shape) {
  std::mt19937 random(7);
  TestInput floats{Tensor(DataType::kFLOAT, shape), false, Layout::kLinear};
  Tensor whole(type, shape);
  const float special[] = {0.f, -0.f, INFINITY, -INFINITY, NAN, -NAN};
  for (int64_t i = 0; i < shape.volume(); ++i) {
    const auto x = static_cast<int64_t>(random() % 200) - 100;
    floats.tensor->mutable_data<float>()[i] =
        random() % 8 == 0 ? special[random() % 6] : static_cast<float>(x) / 8;
    std::memcpy(whole.mutable_data<std::byte>() + i * bits_of(type) / 8, &x, bytes_of(type, 1));
  }
  if (type == DataType::kFLOAT) return floats;
  return is_float(type) ? as_type(type, floats) : TestInput{whole, false, Layout::kLinear};
}

void check_top_k(DataType type, const Shape& shape, int axis, int64_t k) {
  for (const auto operation : {TopKOperation::kMAX, TopKOperation::kMIN})
    for (const auto& [last_index, nans_first] :
         {std::pair(false, false), {true, false}, {false, true}}) {
      SCOPED_TRACE(fmt::format("{} {} axis {} k {} {} {} {}", name_of(type), shape, axis, k,
                               operation == TopKOperation::kMAX ? "max" : "min",
                               last_index ? "last" : "first", nans_first ? "NaNs first" : ""));
      TopK op;
      op.nans_first = nans_first;
      op.operation = operation;
      op.axes = 1u << axis;
      op.k = k;
      op.last_index = last_index;
      op.index_type = axis == 0 ? DataType::kINT64 : DataType::kINT32;
      expect_as_reference(op, {top_k_numbers(type, shape)});
    }
}

constexpr DataType kTopKTypes[] = {DataType::kFLOAT, DataType::kHALF,  DataType::kBF16,
                                   DataType::kINT32, DataType::kINT64, DataType::kINT8,
                                   DataType::kUINT8};

class TopKAlong : public ::testing::TestWithParam<std::tuple<DataType, int>> {};

TEST_P(TopKAlong, AnAxis) {
  const auto [type, axis] = GetParam();
  for (const int64_t k : {0, 1, 3, 9}) check_top_k(type, {9, 20, 11}, axis, k);
}

INSTANTIATE_TEST_SUITE_P(Axes, TopKAlong,
                         ::testing::Combine(::testing::ValuesIn(kTopKTypes),
                                            ::testing::Values(0, 1, 2)));

TEST(TopKTest, LongRows) {
  for (const DataType type : {DataType::kFLOAT, DataType::kINT64})
    for (const int64_t k : {1, 2, 100, 700}) check_top_k(type, {3, 700}, 1, k);
  check_top_k(DataType::kHALF, {2, 5000}, 1, 300);
}

TEST(TopKTest, MoreThanABlockSelects) {
  for (const DataType type : {DataType::kFLOAT, DataType::kHALF, DataType::kINT64}) {
    check_top_k(type, {2, 3000}, 1, 2500);
    check_top_k(type, {3000}, 0, 3000);
  }
}

TEST(TopKTest, HugeRow) {
  check_top_k(DataType::kFLOAT, {1, 70000}, 1, 50);
}

TEST(TopKTest, NoElements) {
  check_top_k(DataType::kFLOAT, {0, 5}, 1, 2);
  check_top_k(DataType::kFLOAT, {4, 0}, 1, 0);
}

}  // namespace
}  // namespace tenon
