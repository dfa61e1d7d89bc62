// How much a model may make the importer compute.
#include <atomic>
#include <charconv>
#include <cstdlib>
#include <string_view>

#include "base/error.h"
#include "import/import.h"

namespace tenon {
namespace {

constexpr size_t kDefault = size_t{1} << 31;
constexpr size_t kMebibyte = size_t{1} << 20;

std::atomic<size_t> chosen = 0;

}  // namespace

size_t computed_bytes_limit() {
  if (const size_t limit = chosen; limit > 0) return limit;
  const char* text = std::getenv("TENON_IMPORT_LIMIT");
  if (text == nullptr) return kDefault;
  const std::string_view digits(text);
  size_t mebibytes = 0;
  const auto [end, error] =
      std::from_chars(digits.data(), digits.data() + digits.size(), mebibytes);
  require(error == std::errc() && end == digits.data() + digits.size() && mebibytes > 0
              && mebibytes <= SIZE_MAX / kMebibyte,
          "the environment variable TENON_IMPORT_LIMIT is '{}'; expected a number of MiB", digits);
  return mebibytes * kMebibyte;
}

void set_computed_bytes_limit(size_t bytes) {
  chosen = bytes;
}

}  // namespace tenon
