#include "plugin_layers/plugin_fields.h"

#include <cstring>

#include "base/error.h"

namespace tenon {
namespace {

using nvinfer1::PluginField;
using nvinfer1::PluginFieldType;

// Elements of an unknown type are taken as bytes.
size_t bytes_of_field(PluginFieldType type, int32_t length) {
  const auto count = static_cast<size_t>(length);
  switch (type) {
    case PluginFieldType::kFLOAT64:
    case PluginFieldType::kINT64:
      return 8 * count;
    case PluginFieldType::kFLOAT32:
    case PluginFieldType::kINT32:
      return 4 * count;
    case PluginFieldType::kFLOAT16:
    case PluginFieldType::kBF16:
    case PluginFieldType::kINT16:
      return 2 * count;
    case PluginFieldType::kINT8:
    case PluginFieldType::kCHAR:
    case PluginFieldType::kFP8:
    case PluginFieldType::kUNKNOWN:
      return count;
    case PluginFieldType::kINT4:
    case PluginFieldType::kFP4:
      return (count + 1) / 2;
    case PluginFieldType::kDIMS:
      return sizeof(nvinfer1::Dims) * count;
  }
  fail(ErrorCode::kINVALID_ARGUMENT, "{} is not a plugin field type", static_cast<int32_t>(type));
}

template <class T> void put(std::string& bytes, T value) {
  bytes.append(reinterpret_cast<const char*>(&value), sizeof(T));
}

class Reader {
 public:
  explicit Reader(std::string_view bytes) : rest_(bytes) {}
  std::string_view take(size_t count) {
    require(count <= rest_.size(), "the stored plugin fields are damaged: they end too early");
    const std::string_view part = rest_.substr(0, count);
    rest_.remove_prefix(count);
    return part;
  }
  int32_t take_int() {
    int32_t value = 0;
    std::memcpy(&value, take(sizeof(value)).data(), sizeof(value));
    require(value >= 0, "the stored plugin fields are damaged: {} is not a count", value);
    return value;
  }
  size_t left() const { return rest_.size(); }

 private:
  std::string_view rest_;
};

}  // namespace

std::string flatten_fields(const nvinfer1::PluginFieldCollection* fields) {
  std::string bytes;
  const int32_t count = fields == nullptr ? 0 : fields->nbFields;
  require(count >= 0 && (count == 0 || fields->fields != nullptr),
          "the fields to serialize are {} in number, at a null pointer", count);
  put(bytes, count);
  for (int32_t i = 0; i < count; ++i) {
    const PluginField& field = fields->fields[i];
    require(field.name != nullptr, "field {} to serialize has no name", i);
    require(field.length >= 0 && (field.length == 0 || field.data != nullptr),
            "field \"{}\" to serialize has length {} and {} data", field.name, field.length,
            field.data == nullptr ? "no" : "some");
    const size_t size = bytes_of_field(field.type, field.length);
    const std::string_view name = field.name;
    put(bytes, static_cast<int32_t>(name.size()));
    bytes += name;
    put(bytes, static_cast<int32_t>(field.type));
    put(bytes, field.length);
    if (size > 0) bytes.append(static_cast<const char*>(field.data), size);
  }
  return bytes;
}

StoredFields::StoredFields(std::string_view bytes) {
  Reader reader(bytes);
  const int32_t count = reader.take_int();
  require(static_cast<size_t>(count) <= reader.left(),
          "the stored plugin fields are damaged: {} fields in {} bytes", count, reader.left());
  names_.reserve(count);  // the fields point into it
  for (int32_t i = 0; i < count; ++i) {
    names_.emplace_back(reader.take(reader.take_int()));
    const auto type = static_cast<PluginFieldType>(reader.take_int());
    const int32_t length = reader.take_int();
    const std::string_view data = reader.take(bytes_of_field(type, length));
    auto& copy = data_.emplace_back(data.size() / sizeof(std::max_align_t) + 1);
    if (!data.empty()) std::memcpy(copy.data(), data.data(), data.size());
    fields_.emplace_back(names_.back().c_str(), copy.data(), type, length);
  }
  require(reader.left() == 0, "the stored plugin fields are damaged: {} bytes are left over",
          reader.left());
  collection_ = {count, fields_.data()};
}

}  // namespace tenon
