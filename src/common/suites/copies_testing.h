// What tests of copies share.
#pragma once

#include "backend/testing.h"

namespace tenon {

constexpr DataType kCopiedTypes[] = {DataType::kUINT8, DataType::kHALF, DataType::kFLOAT,
                                     DataType::kINT64};

/// Elements that all differ as far as the type allows, counted from `first`.
inline TestInput counted(DataType type, const Shape& shape, Layout layout = Layout::kLinear,
                         int64_t first = 0) {
  Tensor t(type, shape);
  const int64_t bytes = bits_of(type) / 8;
  for (int64_t i = 0; i < t.count(); ++i) {
    const int64_t value = first + i;
    std::memcpy(t.mutable_data<std::byte>() + i * bytes, &value, static_cast<size_t>(bytes));
  }
  return {t, false, layout};
}

/// A constant list.
inline TestInput list(const std::vector<int32_t>& values) {
  TestInput in = integers(DataType::kINT32, {static_cast<int64_t>(values.size())}, values);
  in.is_constant = true;
  return in;
}

}  // namespace tenon
