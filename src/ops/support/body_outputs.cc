#include "ops/support/body_outputs.h"

#include <algorithm>

#include "base/error.h"
#include "ops/support/read_integer.h"

namespace tenon {

Dim BodyExtent::dim(Inference& c, int output, int axis) const {
  if (code == kDataDependent) return c.data_dependent_extent(output, axis);
  if (code >= 0) return c.pool().constant(code);
  if (const int input = element_input(); input >= 0) {
    require(c.has_input(input), "output {} takes its extent {} from input {}, which is missing",
            output, axis, input);
    const Content& number = c.known_content(input, "a length");
    require(number.size() == 1, "a length has {} elements; expected one", number.size());
    return c.pool().max(number[0], c.pool().constant(0));
  }
  const int64_t place = -2 - code;
  const auto input = static_cast<int>(std::min<int64_t>(place / Shape::kMaxRank, INT32_MAX));
  const auto at = static_cast<size_t>(place % Shape::kMaxRank);
  require(c.has_input(input) && at < c.dims(input).size(),
          "output {} takes its extent {} from input {}, which has none", output, axis, input);
  return c.dims(input)[at];
}

int BodyExtent::element_input() const {
  return code < kFirstElement + INT32_MAX ? static_cast<int>(code - kFirstElement) : -1;
}

int64_t BodyExtent::extent(std::span<const Tensor* const> inputs) const {
  if (code >= 0) return code;
  if (code == kDataDependent) return 0;
  const auto at = [&](int64_t i) -> const Tensor& {
    require(i < static_cast<int64_t>(inputs.size()) && inputs[static_cast<size_t>(i)] != nullptr,
            "an output takes an extent from input {}, which is missing", i);
    return *inputs[static_cast<size_t>(i)];
  };
  if (const int input = element_input(); input >= 0)
    return std::max<int64_t>(0, read_integer(view_of(at(input))));
  const int64_t place = -2 - code, axis = place % Shape::kMaxRank;
  const Shape& shape = at(place / Shape::kMaxRank).shape();
  require(axis < shape.rank(), "an output takes an extent from axis {} of shape {}", axis, shape);
  return shape[static_cast<int>(axis)];
}

BodyOutput body_output(const Network& body, size_t i,
                       const std::map<const Value*, BodySource>& sources) {
  const Value& v = *body.outputs().at(i);
  BodyOutput output{v.type, {}};
  for (Dim d : v.dims) {
    BodyExtent extent;
    if (d->is_integer_constant()) {
      extent = BodyExtent::of(d->value.integer);
    } else if (d->op == ExprOp::kSymbol) {
      const Symbol& s = body.symbols()[static_cast<size_t>(d->payload)];
      const auto it = s.kind == Symbol::Kind::kExtent ? sources.find(s.value) : sources.end();
      if (it != sources.end()) {
        const bool behind = it->second.sliced >= 0 && s.index >= it->second.sliced;
        extent = BodyExtent::of_input(it->second.layer_input, s.index + (behind ? 1 : 0));
      }
    }
    output.extents.push_back(extent);
  }
  return output;
}

BodyOutput common(const BodyOutput& a, const BodyOutput& b) {
  require(a.type == b.type, "one body makes {}, the other {}", name_of(a.type), name_of(b.type));
  require(a.extents.size() == b.extents.size(),
          "one body makes {} dimensions, the other {}: a tensor has one rank", a.extents.size(),
          b.extents.size());
  BodyOutput both = a;
  for (size_t i = 0; i < both.extents.size(); ++i)
    if (!(both.extents[i] == b.extents[i])) both.extents[i] = {};
  return both;
}

void BodyOutputs::add(const BodyOutput& output) {
  types.push_back(static_cast<int64_t>(output.type));
  ranks.push_back(static_cast<int64_t>(output.extents.size()));
  for (const BodyExtent& e : output.extents) extents.push_back(e.code);
}

BodyOutput BodyOutputs::at(size_t i) const {
  size_t first = 0;
  for (size_t k = 0; k < i; ++k) first += static_cast<size_t>(ranks.at(k));
  BodyOutput output{static_cast<DataType>(types.at(i)), {}};
  for (int64_t axis = 0; axis < ranks.at(i); ++axis)
    output.extents.push_back({extents.at(first + static_cast<size_t>(axis))});
  return output;
}

void BodyOutputs::visit(FieldVisitor& v, const char* types_name, const char* ranks_name,
                        const char* extents_name) {
  v(types_name, types);
  v(ranks_name, ranks);
  v(extents_name, extents);
}

bool BodyOutputs::reads(int input) const {
  return std::any_of(extents.begin(), extents.end(),
                     [&](int64_t code) { return BodyExtent{code}.element_input() == input; });
}

void BodyOutputs::infer(Inference& c) const {
  int64_t axes = 0;
  for (int64_t rank : ranks) {
    require(rank >= 0 && rank <= Shape::kMaxRank, "an output has {} dimensions", rank);
    axes += rank;
  }
  require(ranks.size() == types.size() && axes == static_cast<int64_t>(extents.size()),
          "the description of the outputs is damaged");
  for (size_t i = 0; i < count(); ++i) {
    const BodyOutput output = at(i);
    name_of(output.type);  // throws for an unknown one
    Dims dims;
    for (size_t axis = 0; axis < output.extents.size(); ++axis)
      dims.push_back(output.extents[axis].dim(c, static_cast<int>(i), static_cast<int>(axis)));
    c.set_output(static_cast<int>(i), output.type, std::move(dims));
  }
}

}  // namespace tenon
