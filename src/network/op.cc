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

const Content& Inference::known_content(int i, const char* what) {
  const Content* known = readable_content(i);
  if (known == nullptr)
    fail(ErrorCode::kUNSUPPORTED_STATE,
         "{} (input {}) must be integers of a number that is known when the network is built, at "
         "most {}, or be known before the network runs: make it a constant or a shape computation",
         what, i, kMaxReadableElements);
  return *known;
}

TensorView ReferenceCall::allocate(int i, const Shape& shape) const {
  const TensorView& output = outputs[static_cast<size_t>(i)];
  require(allocate_output != nullptr, "output {} has extents that only running tells", i);
  require(shape.rank() == output.shape.rank(), "output {} has {} dimensions; expected {}", i,
          shape.rank(), output.shape.rank());
  for (int axis = 0; axis < shape.rank(); ++axis)
    require(output.shape[axis] < 0 || output.shape[axis] == shape[axis],
            "output {} is {}; expected {}", i, shape, output.shape);
  return {(*allocate_output)(i, shape), output.type, shape};
}

double Op::operations(std::span<const Shape>, std::span<const Shape> outputs) const {
  return traits().work == Work::kPerElement ? static_cast<double>(outputs[0].volume()) : 0;
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

std::vector<std::string_view> op_names() {
  std::vector<std::string_view> names;
  for (const auto& [name, make] : registry()) names.push_back(name);
  return names;
}

namespace detail {
bool register_op(std::string_view name, std::unique_ptr<Op> (*make)()) {
  return registry().emplace(name, make).second;
}
}  // namespace detail

}  // namespace tenon
