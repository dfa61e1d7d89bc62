#include "onnx_model/tensors.h"

#include <onnx_schema.pb.h>

#include <cstring>
#include <limits>

#include "base/error.h"

namespace tenon {
namespace {

using Type = onnx::TensorProto;

struct TypeRow {
  int32_t onnx;
  const char* name;
  int bits;  // of an element as stored
  std::optional<DataType> type;
  bool exact;
};

constexpr TypeRow kTypes[] = {
    {Type::FLOAT, "float32", 32, DataType::kFLOAT, true},
    {Type::UINT8, "uint8", 8, DataType::kUINT8, true},
    {Type::INT8, "int8", 8, DataType::kINT8, true},
    {Type::UINT16, "uint16", 16, DataType::kINT32, false},
    {Type::INT16, "int16", 16, DataType::kINT32, false},
    {Type::INT32, "int32", 32, DataType::kINT32, true},
    {Type::INT64, "int64", 64, DataType::kINT64, true},
    {Type::STRING, "string", 0, std::nullopt, false},
    {Type::BOOL, "bool", 8, DataType::kBOOL, true},
    {Type::FLOAT16, "float16", 16, DataType::kHALF, true},
    {Type::DOUBLE, "float64", 64, DataType::kFLOAT, false},
    {Type::UINT32, "uint32", 32, DataType::kINT64, false},
    {Type::UINT64, "uint64", 64, DataType::kINT64, false},
    {Type::COMPLEX64, "complex64", 64, std::nullopt, false},
    {Type::COMPLEX128, "complex128", 128, std::nullopt, false},
    {Type::BFLOAT16, "bfloat16", 16, DataType::kBF16, true},
    {Type::FLOAT8E4M3FN, "float8e4m3fn", 8, DataType::kFP8, true},
    {Type::FLOAT8E4M3FNUZ, "float8e4m3fnuz", 8, std::nullopt, false},
    {Type::FLOAT8E5M2, "float8e5m2", 8, std::nullopt, false},
    {Type::FLOAT8E5M2FNUZ, "float8e5m2fnuz", 8, std::nullopt, false},
    {Type::UINT4, "uint4", 4, std::nullopt, false},
    {Type::INT4, "int4", 4, DataType::kINT4, true},
    {Type::FLOAT4E2M1, "float4e2m1", 4, DataType::kFP4, true},
    {Type::FLOAT8E8M0, "float8e8m0", 8, DataType::kE8M0, true},
    {Type::UINT2, "uint2", 2, std::nullopt, false},
    {Type::INT2, "int2", 2, std::nullopt, false},
    {Type::FLOAT6E2M3, "float6e2m3", 6, std::nullopt, false},
    {Type::FLOAT6E3M2, "float6e3m2", 6, std::nullopt, false},
};

const TypeRow* row_of(int32_t onnx_type) {
  for (const TypeRow& row : kTypes)
    if (row.onnx == onnx_type) return &row;
  return nullptr;
}

Shape shape_of(const onnx::TensorProto& proto) {
  for (int64_t extent : proto.dims()) require(extent >= 0, "a dimension is {}", extent);
  return Shape(
      std::span<const int64_t>(proto.dims().data(), static_cast<size_t>(proto.dims_size())));
}

size_t stored_bytes(const TypeRow& row, int64_t count) {
  require(count <= (int64_t{1} << 56), "it has {} elements, more than any memory holds", count);
  return static_cast<size_t>((count * row.bits + 7) / 8);
}

// Elements of a typed field as the bytes that raw_data would hold.
template <class Element, class Field>
std::shared_ptr<std::byte> packed(const Field& field, size_t bytes, const char* name) {
  const size_t count = bytes / sizeof(Element);
  require(static_cast<size_t>(field.size()) == count, "{} holds {} entries; expected {}", name,
          field.size(), count);
  auto memory = allocate_aligned(bytes);
  auto* to = reinterpret_cast<Element*>(memory.get());
  for (size_t i = 0; i < count; ++i) to[i] = static_cast<Element>(field.Get(static_cast<int>(i)));
  return memory;
}

std::shared_ptr<std::byte> bytes_of_fields(const onnx::TensorProto& p, const TypeRow& row,
                                           size_t bytes) {
  switch (row.onnx) {
    case Type::FLOAT:
      return packed<float>(p.float_data(), bytes, "float_data");
    case Type::DOUBLE:
      return packed<double>(p.double_data(), bytes, "double_data");
    case Type::INT64:
      return packed<int64_t>(p.int64_data(), bytes, "int64_data");
    case Type::UINT64:
      return packed<uint64_t>(p.uint64_data(), bytes, "uint64_data");
    case Type::UINT32:
      return packed<uint32_t>(p.uint64_data(), bytes, "uint64_data");
    case Type::INT32:
      return packed<int32_t>(p.int32_data(), bytes, "int32_data");
    default:
      return row.bits == 16 ? packed<uint16_t>(p.int32_data(), bytes, "int32_data")
                            : packed<uint8_t>(p.int32_data(), bytes, "int32_data");
  }
}

template <class To, class From>
Tensor widened(DataType type, const Shape& shape, std::span<const std::byte> bytes) {
  Tensor t(type, shape);
  To* to = t.mutable_data<To>();
  for (int64_t i = 0; i < t.count(); ++i) {
    From value;
    std::memcpy(&value, bytes.data() + static_cast<size_t>(i) * sizeof(From), sizeof(From));
    if constexpr (std::is_same_v<From, uint64_t>)
      require(value <= static_cast<uint64_t>(INT64_MAX),
              "element {} is {}, which does not fit int64, the widest integer here", i, value);
    to[i] = static_cast<To>(value);
  }
  return t;
}

Tensor converted(const TypeRow& row, const Shape& shape, std::span<const std::byte> bytes) {
  switch (row.onnx) {
    case Type::DOUBLE:
      return widened<float, double>(DataType::kFLOAT, shape, bytes);
    case Type::UINT16:
      return widened<int32_t, uint16_t>(DataType::kINT32, shape, bytes);
    case Type::INT16:
      return widened<int32_t, int16_t>(DataType::kINT32, shape, bytes);
    case Type::UINT32:
      return widened<int64_t, uint32_t>(DataType::kINT64, shape, bytes);
    case Type::UINT64:
      return widened<int64_t, uint64_t>(DataType::kINT64, shape, bytes);
    default:
      fail(ErrorCode::kINTERNAL_ERROR, "no conversion from {}", row.name);
  }
}

// Bytes other than 0 and 1 would be undefined behaviour in a C++ bool.
Tensor booleans(const Shape& shape, std::span<const std::byte> bytes) {
  Tensor t(DataType::kBOOL, shape);
  for (size_t i = 0; i < bytes.size(); ++i) t.mutable_data<bool>()[i] = bytes[i] != std::byte{0};
  return t;
}

Tensor tensor_over(const TypeRow& row, const Shape& shape, std::shared_ptr<const void> owner,
                   std::span<const std::byte> bytes) {
  if (!row.exact) return converted(row, shape, bytes);
  if (row.onnx == Type::BOOL) return booleans(shape, bytes);
  const auto address = reinterpret_cast<uintptr_t>(bytes.data());
  const size_t alignment = static_cast<size_t>(std::max(row.bits / 8, 1));
  if (bytes.data() != nullptr && address % alignment == 0)
    return Tensor(*row.type, shape, std::move(owner), bytes.data());
  Tensor copy(*row.type, shape);
  if (!bytes.empty()) std::memcpy(copy.mutable_data<std::byte>(), bytes.data(), bytes.size());
  return copy;
}

const TypeRow& known_row(const onnx::TensorProto& proto) {
  const TypeRow* row = row_of(proto.data_type());
  require(row != nullptr, "its data type is {}, which ONNX does not define", proto.data_type());
  require(row->type.has_value(), "data type {} is not supported yet", row->name);
  return *row;
}

Tensor checked_tensor(onnx::TensorProto& proto, TensorSource& source,
                      std::optional<std::span<const std::byte>> replacement, const TypeRow& row) {
  require(!proto.has_segment(), "segmented tensors are not supported yet");
  const Shape shape = shape_of(proto);
  const size_t bytes = stored_bytes(row, shape.volume());
  if (!row.exact)
    source.log.verbose("tensor '{}' is stored as {} and becomes {}", proto.name(), row.name,
                       name_of(*row.type));
  if (replacement) {
    require(replacement->size() == bytes, "{} bytes were given; type {} and shape {} need {}",
            replacement->size(), row.name, shape, bytes);
    auto copy = allocate_aligned(bytes);
    if (bytes > 0) std::memcpy(copy.get(), replacement->data(), bytes);
    return tensor_over(row, shape, copy, {copy.get(), bytes});
  }
  if (proto.data_location() == onnx::TensorProto::EXTERNAL) {
    ExternalBytes external = read_external(proto, source, bytes);
    return tensor_over(row, shape, std::move(external.owner), external.bytes);
  }
  if (proto.has_raw_data()) {
    const std::shared_ptr<std::string> raw(proto.release_raw_data());
    require(raw->size() == bytes, "raw_data has {} bytes; type {} and shape {} need {}",
            raw->size(), row.name, shape, bytes);
    return tensor_over(row, shape, raw, std::as_bytes(std::span(*raw)));
  }
  auto memory = bytes_of_fields(proto, row, bytes);
  return tensor_over(row, shape, memory, {memory.get(), bytes});
}

}  // namespace

std::optional<DataType> data_type_of(int32_t onnx_type) {
  const TypeRow* row = row_of(onnx_type);
  return row == nullptr ? std::nullopt : row->type;
}

bool is_exact(int32_t onnx_type) {
  const TypeRow* row = row_of(onnx_type);
  return row != nullptr && row->exact;
}

std::string onnx_type_name(int32_t onnx_type) {
  const TypeRow* row = row_of(onnx_type);
  return row == nullptr ? fmt::format("type {}", onnx_type) : row->name;
}

Tensor make_tensor(onnx::TensorProto& proto, TensorSource& source,
                   std::optional<std::span<const std::byte>> replacement,
                   std::optional<Tensor>* float64) {
  return with_context(fmt::format("tensor '{}'", proto.name()), [&] {
    const TypeRow& row = known_row(proto);
    if (row.onnx != Type::DOUBLE || float64 == nullptr)
      return checked_tensor(proto, source, replacement, row);
    TypeRow bits = row;
    bits.type = DataType::kINT64;
    bits.exact = true;
    const Tensor& kept = float64->emplace(checked_tensor(proto, source, replacement, bits));
    return converted(row, kept.shape(), {kept.data<std::byte>(), kept.bytes()});
  });
}

}  // namespace tenon
