// Changes of shape, and shape arithmetic as layers.
#include <algorithm>

#include "import/layers.h"
#include "ops/concatenation.h"
#include "ops/gather.h"
#include "ops/shape_of.h"
#include "ops/shuffle.h"
#include "ops/slice.h"

namespace tenon {
namespace {

using Operation = nvinfer1::ElementWiseOperation;

// Expressions deeper than this come from no sane model.
constexpr int kDeepestExpression = 1000;

std::optional<Shape> constants(const Dims& dims) {
  Shape shape;
  for (Dim d : dims) {
    if (!d->is_integer_constant()) return std::nullopt;
    shape.push_back(d->value.integer);
  }
  return shape;
}

// The reshape attribute that gives `extents`, if one can: extents at their old position are copied
// with 0, and one other unknown is left to be computed with -1.
std::optional<Shape> as_attribute(const Dims& from, const Dims& extents) {
  Shape shape;
  bool computed = false;
  for (size_t i = 0; i < extents.size(); ++i) {
    if (extents[i]->is_integer_constant()) {
      if (extents[i]->value.integer == 0) return std::nullopt;
      shape.push_back(extents[i]->value.integer);
    } else if (i < from.size() && from[i] == extents[i]) {
      shape.push_back(0);
    } else if (!computed) {
      shape.push_back(-1);
      computed = true;
    } else {
      return std::nullopt;
    }
  }
  return shape;
}

// The extent that results when `have` is broadcast with `want`, and the step along it: 0 repeats
// the only element.
std::pair<Dim, Dim> stretched(ExprPool& pool, Dim have, Dim want) {
  const auto is = [](Dim d, int64_t v) {
    return d->is_integer_constant() && d->value.integer == v;
  };
  const Dim one = pool.constant(1);
  if (is(want, 1) || want == have) return {have, one};
  if (is(have, 1)) return {want, pool.constant(0)};
  if (have->is_constant()) {
    require(!want->is_constant(), "cannot expand extent {} to {}", text_of(have), text_of(want));
    return {have, one};
  }
  const Dim step = pool.min(one, pool.sub(have, one));
  return {want->is_constant() ? want : pool.max(have, want), step};
}

}  // namespace

Value& Layers::reshape(Value& x, const Dims& extents) {
  if (extents == x.dims) return x;
  const auto fixed = constants(extents);
  if (fixed && x.constant && x.producer != nullptr) {
    require(fixed->volume() == x.constant->count(), "cannot reshape {} elements to {}",
            x.constant->count(), *fixed);
    Value& reshaped = constant(x.constant->reshaped(*fixed), x.name);
    if (is_float64(x)) set_model_type(reshaped, model_type(x));
    return reshaped;
  }
  auto op = std::make_unique<Shuffle>();
  op->has_reshape = true;
  op->zero_is_placeholder = false;
  if (fixed) {
    op->reshape = *fixed;
    return add(std::move(op), {&x});
  }
  if (const auto attribute = as_attribute(x.dims, extents)) {
    op->reshape = *attribute;
    op->zero_is_placeholder = true;
    return add(std::move(op), {&x});
  }
  know(x);
  return add(std::move(op), {&x, &shape_tensor(extents)});
}

Value& Layers::rearrange(Value& x, const std::vector<int>& source) {
  Dims extents;
  for (int axis : source)
    require(axis < rank(x), "tensor '{}' has {} dimensions; expected at least {}", x.name, rank(x),
            axis + 1);
  for (int axis : source)
    extents.push_back(axis < 0 ? number(1) : x.dims[static_cast<size_t>(axis)]);
  return reshape(x, extents);
}

Value& Layers::with_rank(Value& x, int wanted) {
  const int missing = wanted - rank(x);
  require(missing >= 0, "tensor '{}' has {} dimensions; expected at most {}", x.name, rank(x),
          wanted);
  if (missing == 0) return x;
  Dims extents(static_cast<size_t>(missing), number(1));
  extents.insert(extents.end(), x.dims.begin(), x.dims.end());
  return reshape(x, extents);
}

Value& Layers::slice(Value& x, const Dims& start, const Dims& size, const Dims& stride,
                     nvinfer1::SampleMode mode, Value* fill) {
  auto op = std::make_unique<Slice>();
  op->mode = mode;
  std::vector<Value*> inputs{&x, nullptr, nullptr, nullptr, fill};
  know(x);
  const auto set = [&](const Dims& extents, Shape& attribute, size_t input) {
    if (const auto fixed = constants(extents))
      attribute = *fixed;
    else
      inputs[input] = &shape_tensor(extents);
  };
  set(start, op->start, 1);
  set(size, op->size, 2);
  set(stride, op->stride, 3);
  while (inputs.back() == nullptr) inputs.pop_back();
  return add(std::move(op), std::move(inputs));
}

Value& Layers::expand(Value& x, const Dims& extents) {
  Value& aligned = with_rank(x, std::max(rank(x), static_cast<int>(extents.size())));
  Dims target(aligned.dims.size() - extents.size(), number(1));
  target.insert(target.end(), extents.begin(), extents.end());
  Dims start, stride;
  for (size_t i = 0; i < target.size(); ++i) {
    const auto [extent, step] = stretched(pool(), aligned.dims[i], target[i]);
    start.push_back(number(0));
    target[i] = extent;
    stride.push_back(step);
  }
  if (target == aligned.dims) return aligned;
  return slice(aligned, start, target, stride);
}

void Layers::know(Value& x) {
  for (size_t i = 0; i < x.dims.size(); ++i)
    if (!x.dims[i]->is_constant()) sources_.try_emplace(x.dims[i], &x, static_cast<int>(i), true);
}

void Layers::know_elements(Value& x) {
  if (!x.content || x.type == DataType::kFLOAT) return;
  for (size_t i = 0; i < x.content->size(); ++i)
    if (!(*x.content)[i]->is_constant())
      sources_.try_emplace((*x.content)[i], &x, static_cast<int>(i), false);
}

Value& Layers::shape_tensor(const Dims& extents) {
  if (const auto fixed = constants(extents)) return integers({fixed->begin(), fixed->end()});
  std::vector<Value*> parts;
  std::vector<int64_t> run;  // constants in a row share one tensor
  const auto flush = [&] {
    if (!run.empty()) parts.push_back(&integers(run));
    run.clear();
  };
  for (Dim d : extents) {
    if (d->is_integer_constant()) {
      run.push_back(d->value.integer);
    } else {
      flush();
      parts.push_back(&element(d));
    }
  }
  flush();
  if (parts.size() == 1) return *parts[0];
  return add(std::make_unique<Concatenation>(), std::move(parts));
}

Value& Layers::element_of(Value& list, int64_t index) {
  Value& flat = rank(list) == 1 ? list : reshape(list, {number(1)});
  Value& one = add(std::make_unique<Gather>(), {&flat, &integers({index})});
  return cast(one, DataType::kINT64);
}

Value& Layers::element(Dim d, int depth) {
  require(depth < kDeepestExpression, "the shape arithmetic is nested deeper than {} levels",
          kDeepestExpression);
  if (const auto it = elements_.find(d); it != elements_.end()) return *it->second;
  Value* made = nullptr;
  if (d->is_integer_constant()) {
    made = &integers({d->value.integer});
  } else if (const auto it = sources_.find(d); it != sources_.end()) {
    const Source source = it->second;
    Value* list = source.value;
    if (source.extent) {
      Value*& shape = shapes_[source.value];
      if (shape == nullptr) shape = &add(std::make_unique<ShapeOf>(), {source.value});
      list = shape;
    }
    made = &element_of(*list, source.index);
  } else if (d->op == ExprOp::kSymbol) {
    const Symbol& symbol = network_.symbols().at(static_cast<size_t>(d->payload));
    Value& list = symbol.kind == Symbol::Kind::kExtent
                      ? add(std::make_unique<ShapeOf>(), {symbol.value})
                      : *symbol.value;
    made = &element_of(list, symbol.index);
  } else {
    made = &composed_element(*d, depth + 1);
  }
  elements_[d] = made;
  return *made;
}

Value& Layers::composed_element(const Expr& e, int depth) {
  require(!e.is_float,
          "sizes that are computed with real numbers at run time are not supported yet");
  const auto a = [&]() -> Value& { return element(e.a, depth); };
  const auto b = [&]() -> Value& { return element(e.b, depth); };
  switch (e.op) {
    case ExprOp::kAdd:
      return binary(Operation::kSUM, a(), b());
    case ExprOp::kSub:
      return binary(Operation::kSUB, a(), b());
    case ExprOp::kMul:
      return binary(Operation::kPROD, a(), b());
    case ExprOp::kFloorDiv:
      return binary(Operation::kFLOOR_DIV, a(), b());
    case ExprOp::kTruncDiv:
      return binary(Operation::kDIV, a(), b());
    case ExprOp::kMin:
      return binary(Operation::kMIN, a(), b());
    case ExprOp::kMax:
      return binary(Operation::kMAX, a(), b());
    case ExprOp::kNeg:
      return binary(Operation::kPROD, a(), -1.0);
    case ExprOp::kCeilDiv: {
      Value& negated = binary(Operation::kPROD, a(), -1.0);
      return binary(Operation::kPROD, binary(Operation::kFLOOR_DIV, negated, b()), -1.0);
    }
    case ExprOp::kFloorMod: {
      Value& quotient = binary(Operation::kFLOOR_DIV, a(), b());
      return binary(Operation::kSUB, a(), binary(Operation::kPROD, quotient, b()));
    }
    case ExprOp::kLess:
      return cast(binary(Operation::kLESS, a(), b()), DataType::kINT64);
    case ExprOp::kEqual:
      return cast(binary(Operation::kEQUAL, a(), b()), DataType::kINT64);
    case ExprOp::kSelect: {
      Value& is_false = binary(Operation::kEQUAL, a(), 0.0);
      return select(is_false, element(e.c, depth), b());
    }
    default:
      fail(ErrorCode::kUNSUPPORTED_STATE, "shape arithmetic of kind {} is not supported yet",
           static_cast<int>(e.op));
  }
}

}  // namespace tenon
