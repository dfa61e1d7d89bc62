// What the file of an ONNX model says about itself, for the examples.
#ifndef EXAMPLES_COMMON_ONNX_METADATA_H
#define EXAMPLES_COMMON_ONNX_METADATA_H

#include <cstdint>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace examples {
namespace detail {

// Protocol Buffers' encoding, as far as it is needed to find two fields: a key (field number and
// kind), then a number, some bytes, or a length and as many bytes.
class Fields {
 public:
  explicit Fields(std::string_view bytes) : rest_(bytes) {}

  /// The next field that holds bytes; false at the end.
  bool next(uint64_t& number, std::string_view& content) {
    while (!rest_.empty()) {
      const uint64_t key = varint();
      switch (key & 7) {
        case 0:
          varint();
          break;
        case 1:
          take(8);
          break;
        case 2:
          number = key >> 3;
          content = take(varint());
          return true;
        case 5:
          take(4);
          break;
        default:
          throw std::runtime_error("this is not an ONNX file");
      }
    }
    return false;
  }

 private:
  uint64_t varint() {
    uint64_t value = 0;
    for (int shift = 0; shift < 64; shift += 7) {
      const auto byte = static_cast<uint8_t>(take(1)[0]);
      value |= static_cast<uint64_t>(byte & 0x7f) << shift;
      if (byte < 0x80) break;
    }
    return value;
  }
  std::string_view take(uint64_t size) {
    if (size > rest_.size()) throw std::runtime_error("the ONNX file is cut short");
    const std::string_view taken = rest_.substr(0, size);
    rest_.remove_prefix(size);
    return taken;
  }

  std::string_view rest_;
};

}  // namespace detail

/// The value that the model at `path` has for `wanted` in its metadata_props; empty if it has none.
/// Throws std::runtime_error when the file cannot be read or is no ONNX model.
inline std::string onnx_metadata(const std::string& path, std::string_view wanted) {
  constexpr uint64_t kMetadata = 14, kKey = 1;  // of onnx.proto
  std::ifstream file(path, std::ios::binary);
  if (!file) throw std::runtime_error(path + ": cannot be read");
  const std::string model{std::istreambuf_iterator<char>(file), {}};
  uint64_t number = 0;
  std::string_view content;
  for (detail::Fields fields(model); fields.next(number, content);) {
    if (number != kMetadata) continue;
    std::string key, value;
    std::string_view text;
    for (detail::Fields entry(content); entry.next(number, text);)
      (number == kKey ? key : value) = std::string(text);
    if (key == wanted) return value;
  }
  return "";
}

/// The names of a detector's classes, as Ultralytics writes them into its exports:
/// {0: 'person', 1: 'bicycle'}. Empty if the model does not say.
inline std::vector<std::string> class_names(const std::string& path) {
  const std::string text = onnx_metadata(path, "names");
  std::vector<std::string> names;
  for (size_t at = text.find(": "); at != std::string::npos; at = text.find(": ", at)) {
    const char quote = text[at + 2];
    const size_t end = text.find(quote, at + 3);
    if (end == std::string::npos) break;
    names.push_back(text.substr(at + 3, end - at - 3));
    at = end;
  }
  return names;
}

}  // namespace examples

#endif  // EXAMPLES_COMMON_ONNX_METADATA_H
