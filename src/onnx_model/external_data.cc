// Tensors in files beside the model. A model must not be able to read files elsewhere.
#include <onnx_schema.pb.h>

#include <charconv>
#include <filesystem>

#include "base/error.h"
#include "base/file.h"
#include "onnx_model/tensors.h"

namespace tenon {
namespace {

namespace fs = std::filesystem;

struct Location {
  std::string path;
  uint64_t offset = 0;
  std::optional<uint64_t> length;
};

uint64_t number_of(const std::string& key, const std::string& text) {
  uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  require(error == std::errc() && end == text.data() + text.size() && !text.empty(),
          "external data: {} is '{}'; expected a number of bytes", key, text);
  return value;
}

Location location_of(const onnx::TensorProto& proto, const Log& log) {
  Location where;
  for (const auto& entry : proto.external_data()) {
    if (entry.key() == "location")
      where.path = entry.value();
    else if (entry.key() == "offset")
      where.offset = number_of("offset", entry.value());
    else if (entry.key() == "length")
      where.length = number_of("length", entry.value());
    else if (entry.key() != "checksum")
      log.warning("tensor '{}': external data key '{}' is ignored", proto.name(), entry.key());
  }
  require(!where.path.empty(), "external data without a location");
  return where;
}

fs::path contained_path(const std::string& location, const std::string& model_path) {
  const fs::path relative(location);
  require(relative.is_relative() && location.find('\\') == std::string::npos
              && location.find('\0') == std::string::npos
              && location.find(':') == std::string::npos,
          "external data location '{}' is not a relative path", location);
  for (const fs::path& part : relative)
    require(part != "..", "external data location '{}' leaves the model's folder", location);
  std::error_code error;
  fs::path folder = fs::path(model_path).parent_path();
  folder = fs::canonical(folder.empty() ? fs::path(".") : folder, error);
  require(!error, "the model's folder '{}' cannot be read: {}", folder.string(), error.message());
  const fs::path target = fs::canonical(folder / relative, error);
  require(!error, "external data file '{}' is missing in '{}': {}", location, folder.string(),
          error.message());
  const auto [in_folder, in_target] =
      std::mismatch(folder.begin(), folder.end(), target.begin(), target.end());
  require(in_folder == folder.end() && in_target != target.end(),
          "external data file '{}' is a link that leaves the model's folder; put the file itself "
          "beside the model",
          location);
  // A second name may lie outside the folder: an archive can hold a hard link to any file.
  const auto names = fs::hard_link_count(target, error);
  require(
      error || names <= 1 || !fs::is_regular_file(target, error),
      "external data file '{}' has {} names (hard links), so that it may be a file from outside "
      "the model's folder; copy it there",
      location, names);
  return target;
}

auto opened(const std::string& path) {
  try {
    return MappedFile::open(path);
  } catch (const Error& e) {
    throw Error(e.code(), ErrorClass::kExternalData, e.what());
  }
}

}  // namespace

ExternalBytes read_external(const onnx::TensorProto& proto, TensorSource& source, size_t size) {
  return in_class(ErrorClass::kExternalData, [&]() -> ExternalBytes {
    require(
        !source.model_path.empty(),
        "its data is in another file, but where the model is stored is not known: parse the model "
        "from a file, or pass its path");
    const Location where = location_of(proto, source.log);
    const std::string path = contained_path(where.path, source.model_path).string();
    auto& file = source.files[path];
    if (file == nullptr) file = opened(path);
    const auto bytes = file->bytes();
    require(!where.length || *where.length == size,
            "external data has length {}; its type and shape need {} bytes",
            where.length.value_or(0), size);
    require(where.offset <= bytes.size() && size <= bytes.size() - where.offset,
            "external data at offset {} needs {} bytes, but '{}' has {}", where.offset, size,
            where.path, bytes.size());
    return {file, bytes.subspan(where.offset, size)};
  });
}

}  // namespace tenon
