#include "base/dtype.h"

#include <array>

#include "base/error.h"

namespace tenon {
namespace {

struct Row {
  DataType type;
  int bits;
  std::string_view name;
};

constexpr std::array<Row, 12> kTypes{{
    {DataType::kFLOAT, 32, "float32"},
    {DataType::kHALF, 16, "float16"},
    {DataType::kINT8, 8, "int8"},
    {DataType::kINT32, 32, "int32"},
    {DataType::kBOOL, 8, "bool"},
    {DataType::kUINT8, 8, "uint8"},
    {DataType::kFP8, 8, "float8_e4m3fn"},
    {DataType::kBF16, 16, "bfloat16"},
    {DataType::kINT64, 64, "int64"},
    {DataType::kINT4, 4, "int4"},
    {DataType::kFP4, 4, "float4_e2m1fn"},
    {DataType::kE8M0, 8, "float8_e8m0fnu"},
}};

const Row& row(DataType type) {
  for (const Row& r : kTypes)
    if (r.type == type) return r;
  fail(ErrorCode::kINVALID_ARGUMENT, "unknown data type {}", static_cast<int>(type));
}

}  // namespace

std::string_view name_of(DataType type) {
  return row(type).name;
}

int bits_of(DataType type) {
  return row(type).bits;
}

size_t bytes_of(DataType type, int64_t count) {
  return (static_cast<size_t>(count) * static_cast<size_t>(bits_of(type)) + 7) / 8;
}

}  // namespace tenon
