#include "network/op.h"

#include <map>

#include "base/error.h"

namespace tenon {
namespace {
std::map<std::string_view, std::unique_ptr<Op> (*)()>& registry() {
  static std::map<std::string_view, std::unique_ptr<Op> (*)()> ops;
  return ops;
}
}  // namespace

const Content& Inference::known_content(int i, const char* what) const {
  const Content* known = content(i);
  if (known == nullptr)
    fail(ErrorCode::kUNSUPPORTED_STATE,
         "{} (input {}) must be known on the host before the network runs: make it a constant, a "
         "shape computation, or an integer network input of rank 0 or 1",
         what, i);
  return *known;
}

std::optional<Shape> Inference::constant_shape(int i) const {
  Shape s;
  for (Dim d : dims(i)) {
    if (!d->is_integer_constant()) return std::nullopt;
    s.push_back(d->value.integer);
  }
  return s;
}

std::unique_ptr<Op> make_op(std::string_view name) {
  const auto it = registry().find(name);
  return it == registry().end() ? nullptr : it->second();
}

namespace detail {
bool register_op(std::string_view name, std::unique_ptr<Op> (*make)()) {
  return registry().emplace(name, make).second;
}
}  // namespace detail

}  // namespace tenon
