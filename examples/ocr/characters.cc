#include "characters.h"

#include <fstream>
#include <iterator>
#include <sstream>
#include <stdexcept>
#include <string_view>

namespace {

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

constexpr uint64_t kMetadata = 14, kKey = 1, kValue = 2;  // of onnx.proto

std::string metadata(std::string_view model, std::string_view wanted) {
  uint64_t number = 0;
  std::string_view content;
  for (Fields fields(model); fields.next(number, content);) {
    if (number != kMetadata) continue;
    std::string key, value;
    std::string_view text;
    for (Fields entry(content); entry.next(number, text);)
      (number == kKey ? key : value) = std::string(text);
    if (key == wanted) return value;
  }
  return "";
}

}  // namespace

std::vector<std::string> read_characters(const std::string& model_path) {
  std::ifstream file(model_path, std::ios::binary);
  if (!file) throw std::runtime_error(model_path + ": cannot be read");
  const std::string bytes{std::istreambuf_iterator<char>(file), {}};
  std::istringstream lines(metadata(bytes, "character"));
  std::vector<std::string> characters;
  for (std::string line; std::getline(lines, line);) characters.push_back(line);
  if (characters.empty())
    throw std::runtime_error(model_path + ": has no characters in its metadata");
  characters.push_back(" ");
  return characters;
}
