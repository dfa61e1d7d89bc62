#include "datatype.h"

#include <algorithm>
#include <iterator>

namespace tenon::server {
namespace {

using nvinfer1::DataType;

struct Row {
  DataType type;
  std::string_view name;
};
constexpr Row kRows[] = {{DataType::kFLOAT, "FP32"},  {DataType::kHALF, "FP16"},
                         {DataType::kBF16, "BF16"},   {DataType::kINT8, "INT8"},
                         {DataType::kUINT8, "UINT8"}, {DataType::kINT32, "INT32"},
                         {DataType::kINT64, "INT64"}, {DataType::kBOOL, "BOOL"}};

}  // namespace

std::string_view datatype_name(DataType type) {
  const auto row = std::ranges::find(kRows, type, &Row::type);
  return row == std::end(kRows) ? std::string_view() : row->name;
}

std::optional<DataType> datatype_of(std::string_view name) {
  const auto row = std::ranges::find(kRows, name, &Row::name);
  if (row == std::end(kRows)) return std::nullopt;
  return row->type;
}

}  // namespace tenon::server
