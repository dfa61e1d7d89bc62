#include "base/fields.h"

#include <fmt/ranges.h>

#include "base/error.h"
#include "base/text.h"

namespace tenon {

std::string text_of(const FieldValue& value) {
  return std::visit(
      [](const auto& v) {
        using T = std::decay_t<decltype(v)>;
        if constexpr (std::is_same_v<T, std::string>)
          return fmt::format("\"{}\"", short_line(v));
        else
          return fmt::format("{}", v);
      },
      value);
}

namespace detail {

// Fields are saved in declaration order, so the next one must be the one asked for.
void FieldSetter::visit(const char* name, FieldValue& value) {
  require(next_ < fields_.size(), "attribute {} is missing", name);
  const auto& [found, stored] = fields_[next_++];
  require(found == name, "expected attribute {}, found {}", name, found);
  require(stored.index() == value.index(), "attribute {} has another type than expected", name);
  value = stored;
}

void FieldSetter::finish() const {
  require(next_ == fields_.size(), "unknown attribute {}",
          next_ < fields_.size() ? fields_[next_].first : "");
}

}  // namespace detail
}  // namespace tenon
