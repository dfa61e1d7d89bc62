#include "tenon/serve/tensor_file.h"

#include <tenon/printable.h>
#include <tenon/replace_file.h>

#include <bit>
#include <cstring>
#include <stdexcept>

#include "guard.h"
#include "read_file.h"

namespace tenon::serve {
namespace {

static_assert(std::endian::native == std::endian::little);

constexpr uint32_t kMagic = 0xFCCFE2E2, kOtherTypes = 256;
constexpr size_t kMaxRank = nvinfer1::Dims::MAX_DIMS;
// In the order of their numbers in files.
constexpr DataType kNumbered[] = {DataType::kFLOAT, DataType::kHALF, DataType::kINT32,
                                  DataType::kUINT8};

// 0 for types of less than a byte, and for what is no type.
size_t size_of(DataType type) {
  return type == DataType::kE8M0 ? 1 : session::element_size(type);
}

uint32_t number_of(DataType type) {
  for (uint32_t i = 0; i < std::size(kNumbered); ++i)
    if (kNumbered[i] == type) return i;
  return kOtherTypes + static_cast<uint32_t>(type);
}

DataType type_of_number(uint32_t number) {
  if (number < std::size(kNumbered)) return kNumbered[number];
  const auto type = static_cast<DataType>(static_cast<int32_t>(number - kOtherTypes));
  if (number < kOtherTypes || size_of(type) == 0)
    throw Error{"there is no type " + std::to_string(number)};
  return type;
}

template <class T> void append(std::vector<std::byte>& to, const T* data, size_t count) {
  const auto* const bytes = reinterpret_cast<const std::byte*>(data);
  to.insert(to.end(), bytes, bytes + count * sizeof(T));
}

// Reads 32-bit words from the front of the bytes.
struct Words {
  std::span<const std::byte> rest;

  uint32_t take(const char* what) {
    uint32_t word = 0;
    if (rest.size() < sizeof word) throw Error{std::string("it ends within ") + what};
    std::memcpy(&word, rest.data(), sizeof word);
    rest = rest.subspan(sizeof word);
    return word;
  }
};

}  // namespace

Result<void> save_to_file(Tensor& tensor, const std::string& path) noexcept {
  return session::guard([&] {
    const auto named = [&](const std::string& what) {
      return Error{printable(path) + ": " + what};
    };
    if (tensor.element_size() == 0)
      throw named("a tensor of " + session::type_name(tensor.type()) + " has no file format");
    std::vector<std::byte> file;
    file.reserve(4 * (3 + tensor.shape().size()) + tensor.bytes());
    const uint32_t head[] = {kMagic, static_cast<uint32_t>(tensor.ndims()),
                             number_of(tensor.type())};
    append(file, head, std::size(head));
    for (const int64_t extent : tensor.shape()) {
      if (extent > INT32_MAX)
        throw named("an extent of shape " + tensor.shape_string() + " does not fit 32 bits");
      const auto narrow = static_cast<int32_t>(extent);
      append(file, &narrow, 1);
    }
    append(file, static_cast<const std::byte*>(session::value_of(tensor.cpu())), tensor.bytes());
    try {
      replace_file(path, file.data(), file.size());
    } catch (const std::runtime_error& error) {
      throw Error{error.what()};
    }
  });
}

Result<Tensor> tensor_of_bytes(std::span<const std::byte> file) noexcept {
  return session::guard([&] {
    Words words{file};
    if (words.take("the head") != kMagic) throw Error{"it is no tensor"};
    const uint32_t rank = words.take("the head");
    const DataType type = type_of_number(words.take("the head"));
    if (rank > kMaxRank)
      throw Error{std::to_string(rank) + " dimensions, and " + std::to_string(kMaxRank)
                  + " are possible"};
    Shape shape;
    uint64_t bytes = size_of(type);
    for (uint32_t i = 0; i < rank; ++i) {
      const auto extent = static_cast<int32_t>(words.take("the shape"));
      if (extent < 0) throw Error{"a negative extent"};
      shape.push_back(extent);
      if (__builtin_mul_overflow(bytes, static_cast<uint64_t>(extent), &bytes))
        throw Error{"shape " + session::shape_text(shape) + " has too many elements"};
    }
    if (bytes != words.rest.size())
      throw Error{"a tensor of shape " + session::shape_text(shape) + " takes "
                  + std::to_string(bytes) + " bytes, and " + std::to_string(words.rest.size())
                  + " are there"};
    Tensor tensor(shape, type);
    session::value_of(tensor.copy_from_cpu(0, words.rest.data(), tensor.numel()));
    return tensor;
  });
}

Result<Tensor> load_from_file(const std::string& path) noexcept {
  return session::guard([&] {
    const auto bytes = session::read_file(path);
    auto tensor = tensor_of_bytes(bytes);
    if (!tensor) throw Error{printable(path) + ": " + tensor.error()};
    return *std::move(tensor);
  });
}

}  // namespace tenon::serve
