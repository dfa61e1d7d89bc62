#include "ops/support/infer.h"

#include <algorithm>
#include <numeric>

#include "ops/support/reference.h"

namespace tenon {
namespace {
constexpr int64_t kLargestContent = 4096;
}

void require_inputs(const Inference& c, int required, int max_inputs) {
  require(c.input_count() <= max_inputs, "expected at most {} inputs, found {}", max_inputs,
          c.input_count());
  for (int i = 0; i < required; ++i)
    require(c.has_input(i), "expected at least {} inputs, but input {} is missing", required, i);
}

void require_float(const Inference& c, int i, const char* what) {
  const DataType t = c.type(i);
  require(t == DataType::kFLOAT || t == DataType::kHALF || t == DataType::kBF16,
          "expected {} (input {}) of type float32, float16 or bfloat16, found {}", what, i,
          name_of(t));
}

void require_index(const Inference& c, int i, const char* what) {
  const DataType t = c.type(i);
  require(t == DataType::kINT32 || t == DataType::kINT64,
          "expected {} (input {}) of type int32 or int64, found {}", what, i, name_of(t));
}

void require_type_of_data(const Inference& c, int i, const char* what) {
  require(c.type(i) == c.type(0), "expected {} (input {}) of the type of the data, {}, found {}",
          what, i, name_of(c.type(0)), name_of(c.type(i)));
}

void require_count(const Inference& c, int i, const char* what, int64_t count) {
  const auto shape = c.constant_shape(i);
  if (!shape) return;
  require(shape->volume() == count, "expected {} elements in {} (input {}), found {} ({})", count,
          what, i, shape->volume(), *shape);
}

bool has_one_element(const Dims& dims) {
  return std::all_of(dims.begin(), dims.end(),
                     [](Dim d) { return d->is_integer_constant() && d->value.integer == 1; });
}

Dim broadcast(ExprPool& pool, Dim a, Dim b) {
  const auto is_one = [](Dim d) { return d->is_integer_constant() && d->value.integer == 1; };
  if (a == b || is_one(b)) return a;
  if (is_one(a)) return b;
  if (a->is_constant() && b->is_constant())
    fail(ErrorCode::kINVALID_ARGUMENT, "extents {} and {} do not broadcast", a->value.integer,
         b->value.integer);
  if (a->is_constant()) return a;
  if (b->is_constant()) return b;
  // They are equal or one is 1: known when shapes are set. A maximum would not do, as 0 and 1 give
  // 0.
  const auto stems_from = [](Dim whole, Dim part) {
    return whole->op == ExprOp::kSelect && (whole->b == part || whole->c == part);
  };
  if (stems_from(a, b)) return a;
  if (stems_from(b, a)) return b;
  return pool.make(ExprOp::kSelect, pool.make(ExprOp::kEqual, a, pool.constant(1)), b, a);
}

Dims broadcast(ExprPool& pool, const Dims& a, const Dims& b) {
  require(a.size() == b.size(), "expected inputs of equal rank, found {} and {}", text_of(a),
          text_of(b));
  Dims out;
  for (size_t i = 0; i < a.size(); ++i)
    out.push_back(with_context(fmt::format("shapes {} and {}, axis {}", text_of(a), text_of(b), i),
                               [&] { return broadcast(pool, a[i], b[i]); }));
  return out;
}

std::string text_of(const Dims& dims) {
  if (dims.empty()) return "scalar";
  std::string text;
  for (Dim d : dims) text += (text.empty() ? "" : "x") + text_of(d);
  return text;
}

std::optional<Shape> content_shape(DataType type, const Dims& dims) {
  if (type != DataType::kINT32 && type != DataType::kINT64 && type != DataType::kBOOL
      && type != DataType::kFLOAT)
    return std::nullopt;
  Shape shape;
  for (Dim d : dims) {
    if (!d->is_integer_constant()) return std::nullopt;
    shape.push_back(d->value.integer);
  }
  if (shape.volume() > kLargestContent) return std::nullopt;
  return shape;
}

void set_output_and_content(Inference& c, DataType type, Dims dims,
                            std::initializer_list<int> inputs,
                            const std::function<Content(const Shape&)>& elements) {
  const auto shape = content_shape(type, dims);
  c.set_output(0, type, std::move(dims));
  if (!shape) return;
  for (int i : inputs)
    if (c.has_input(i) && c.content(i) == nullptr) return;
  std::optional<Content> content;
  try {
    content = elements(*shape);
  } catch (const Error&) {
    return;
  }
  c.set_content(0, std::move(*content));
}

Content broadcast_content(const Inference& c, const Shape& out,
                          const std::function<Dim(Dim, Dim)>& element) {
  const Shape strides[] = {broadcast_strides(*c.constant_shape(0), out),
                           broadcast_strides(*c.constant_shape(1), out)};
  Content content(static_cast<size_t>(out.volume()));
  const Content &a = *c.content(0), &b = *c.content(1);
  // Too few elements for for_rows() to use several threads, which the pool could not take.
  for_rows(out, strides, [&](const Row& row) {
    for (int64_t i = 0; i < row.length; ++i)
      content[static_cast<size_t>(row.begin + i)] =
          element(a[static_cast<size_t>(row.offset[0] + i * row.step[0])],
                  b[static_cast<size_t>(row.offset[1] + i * row.step[1])]);
  });
  return content;
}

std::optional<Tensor> constant_integers(const Inference& c, int i) {
  const Content* content = c.content(i);
  const auto shape = c.constant_shape(i);
  if (content == nullptr || !shape) return std::nullopt;
  std::vector<int64_t> values;
  for (Dim d : *content) {
    if (!d->is_integer_constant()) return std::nullopt;
    values.push_back(d->value.integer);
  }
  return Tensor::of<int64_t>(DataType::kINT64, *shape, values);
}

Tensor numbered(const Shape& shape, int64_t first) {
  Tensor t(DataType::kINT64, shape);
  std::iota(t.mutable_data<int64_t>(), t.mutable_data<int64_t>() + t.count(), first);
  return t;
}

}  // namespace tenon
