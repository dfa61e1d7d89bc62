// What tests of copies share.
#pragma once

#include "target/testing.h"

namespace tenon {

constexpr DataType kCopiedTypes[] = {DataType::kUINT8, DataType::kHALF, DataType::kFLOAT,
                                     DataType::kINT64};

/// Elements that all differ as far as the type allows.
inline TestInput counted(DataType type, const Shape& shape, Layout layout = Layout::kLinear) {
  Tensor t(type, shape);
  const int64_t bytes = bits_of(type) / 8;
  for (int64_t i = 0; i < t.count(); ++i)
    std::memcpy(t.mutable_data<std::byte>() + i * bytes, &i, static_cast<size_t>(bytes));
  return {t, false, layout};
}

/// A constant list.
inline TestInput list(const std::vector<int32_t>& values) {
  TestInput in = integers(DataType::kINT32, {static_cast<int64_t>(values.size())}, values);
  in.is_constant = true;
  return in;
}

/// The candidate's result has the reference's bits.
inline void expect_copied(const Op& op, std::vector<TestInput> inputs, const char* candidate) {
  LayerTest test(op, std::move(inputs));
  ASSERT_EQ(test.offer(candidate), "");
  expect_identical(test.run(), test.reference());
}

}  // namespace tenon
