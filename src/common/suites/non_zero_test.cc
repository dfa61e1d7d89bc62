// Indices of what is not zero, of chunks and tails, for every type.
#include "ops/non_zero.h"

#include "backend/testing.h"

namespace tenon {
namespace {

TEST(NonZeroTest, EveryTypeAndRank) {
  for (const DataType type : {DataType::kFLOAT, DataType::kHALF, DataType::kBF16, DataType::kINT32,
                              DataType::kINT64, DataType::kINT8, DataType::kUINT8, DataType::kBOOL})
    for (const Shape& shape : {Shape{}, Shape{0, 3}, Shape{5}, Shape{3, 1, 7}, Shape{9, 70, 31}})
      for (const DataType index : {DataType::kINT32, DataType::kINT64}) {
        SCOPED_TRACE(fmt::format("{} {} {}", name_of(type), shape, name_of(index)));
        Tensor x(type, shape);
        std::memset(x.mutable_data<void>(), 0, x.bytes());
        const int64_t bytes = bits_of(type) / 8;
        std::mt19937 random(3);
        for (int64_t i = 0; i < x.count(); ++i)
          if (random() % 3 == 0) x.mutable_data<uint8_t>()[i * bytes] = 1;
        NonZero op;
        op.index_type = index;
        expect_as_reference(op, {{x, false, Layout::kLinear}});
      }
}

TEST(NonZeroTest, NoneAndAll) {
  for (const bool value : {false, true}) {
    std::vector<uint8_t> bytes(5000, value);
    expect_as_reference(NonZero(), {integers(DataType::kUINT8, {5000}, bytes)});
  }
}

TEST(NonZeroTest, ZerosOfBothSigns) {
  const std::vector<float> values{-0.f, 0.f, NAN, -1.f};
  expect_as_reference(NonZero(),
                      {{Tensor::of<float>(DataType::kFLOAT, {4}, values), false, Layout::kLinear}});
}

}  // namespace
}  // namespace tenon
