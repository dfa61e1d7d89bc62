#include "ops/shuffle.h"

#include <algorithm>
#include <numeric>

#include "ops/support/infer.h"
#include "ops/support/reference.h"

namespace tenon {

TENON_REGISTER_OP(Shuffle);

void Shuffle::visit(FieldVisitor& v) {
  v("first_transpose", first_transpose);
  v("has_reshape", has_reshape);
  v("reshape", reshape);
  v("zero_is_placeholder", zero_is_placeholder);
  v("second_transpose", second_transpose);
}

bool Shuffle::only_reshapes() const {
  const auto is_in_order = [](const std::vector<int32_t>& permutation) {
    return std::is_sorted(permutation.begin(), permutation.end());
  };
  return is_in_order(first_transpose) && is_in_order(second_transpose);
}

namespace {

// The permutation for a tensor of that rank: TensorRT's hold 8 entries, of which the first count.
std::vector<int32_t> permutation(const std::vector<int32_t>& given, int rank, const char* which) {
  std::vector<int32_t> p(static_cast<size_t>(rank));
  std::iota(p.begin(), p.end(), 0);
  if (given.empty()) return p;
  require(given.size() >= p.size(), "the {} transpose has {} entries, expected {}", which,
          given.size(), rank);
  std::copy_n(given.begin(), rank, p.begin());
  std::vector<bool> seen(p.size());
  for (int32_t axis : p) {
    require(axis >= 0 && axis < rank && !seen[static_cast<size_t>(axis)],
            "the {} transpose, ({}), is not a permutation of the axes 0 to {}", which,
            fmt::join(p, ", "), rank - 1);
    seen[static_cast<size_t>(axis)] = true;
  }
  return p;
}

// A product taken apart, so that two products can be divided exactly where their factors agree.
struct Product {
  int64_t number = 1;
  std::vector<Dim> symbols;

  void multiply(Dim d) {
    if (d->is_integer_constant()) {
      require(!__builtin_mul_overflow(number, d->value.integer, &number),
              "the number of elements does not fit 64 bits");
    } else if (d->op == ExprOp::kMul) {
      multiply(d->a);
      multiply(d->b);
    } else {
      symbols.push_back(d);
    }
  }
  Dim expression(ExprPool& pool) const {
    Dim d = pool.constant(1);
    for (Dim s : symbols) d = pool.mul(d, s);
    return pool.mul(d, pool.constant(number));
  }
};

Dim quotient(ExprPool& pool, Product a, Product b) {
  for (auto it = b.symbols.begin(); it != b.symbols.end();) {
    const auto same = std::find(a.symbols.begin(), a.symbols.end(), *it);
    if (same == a.symbols.end()) {
      ++it;
      continue;
    }
    a.symbols.erase(same);
    it = b.symbols.erase(it);
  }
  const int64_t common = std::gcd(a.number, b.number);
  if (common > 1) {
    a.number /= common;
    b.number /= common;
  }
  return pool.floor_div(a.expression(pool), b.expression(pool));
}

// Fills in the placeholders of a wanted shape: 0 copies an extent, -1 is computed.
Dims reshaped(Inference& c, const Dims& from, const Dims& wanted, bool zero_is_placeholder) {
  Dims to = wanted;
  Product volume, known;
  for (Dim d : from) volume.multiply(d);
  int unknown = -1;
  for (size_t axis = 0; axis < to.size(); ++axis) {
    const bool constant = to[axis]->is_integer_constant();
    const int64_t extent = constant ? to[axis]->value.integer : 1;
    require(extent >= -1, "expected reshape dimensions of at least -1, found {}", extent);
    if (constant && extent == 0 && zero_is_placeholder) {
      require(axis < from.size(),
              "reshape dimension {} is 0, which copies the extent of an axis, but the input, {}, "
              "has only {}",
              axis, text_of(from), from.size());
      to[axis] = from[axis];
    }
    if (extent == -1) {
      require(unknown < 0, "expected at most one -1 among the reshape dimensions, found {}",
              text_of(wanted));
      unknown = static_cast<int>(axis);
    } else {
      known.multiply(to[axis]);
    }
  }
  const bool all_known = volume.symbols.empty() && known.symbols.empty();
  const bool fits = unknown < 0 ? volume.number == known.number
                                : known.number != 0 && volume.number % known.number == 0;
  require(!all_known || fits, "cannot reshape {} ({} elements) to {}", text_of(from), volume.number,
          text_of(wanted));
  if (unknown >= 0) {
    require(known.number != 0, "the -1 in reshape dimensions {} cannot be computed: another is 0",
            text_of(wanted));
    to[static_cast<size_t>(unknown)] = quotient(c.pool(), std::move(volume), std::move(known));
  }
  return to;
}

Dims wanted_dims(const Shuffle& op, Inference& c) {
  if (!c.has_input(1)) {
    Dims wanted;
    for (int64_t extent : op.reshape) wanted.push_back(c.pool().constant(extent));
    return wanted;
  }
  require_index(c, 1, "the reshape dimensions");
  require(c.rank(1) == 1, "expected a one-dimensional tensor of reshape dimensions, found {}",
          text_of(c.dims(1)));
  return c.known_content(1, "the reshape dimensions");
}

Transpose transpose_of(const Shape& from, const std::vector<int32_t>& p) {
  const Shape strides = from.strides();
  Transpose t{from, strides, std::is_sorted(p.begin(), p.end())};
  for (int axis = 0; axis < from.rank(); ++axis) {
    t.shape[axis] = from[p[static_cast<size_t>(axis)]];
    t.strides[axis] = strides[p[static_cast<size_t>(axis)]];
  }
  return t;
}

}  // namespace

void Shuffle::infer(Inference& c) const {
  require_inputs(c, 1, 2);
  Dims dims;
  for (int32_t axis : permutation(first_transpose, c.rank(0), "first"))
    dims.push_back(c.dims(0)[static_cast<size_t>(axis)]);
  if (has_reshape || c.has_input(1))
    dims = reshaped(c, dims, wanted_dims(*this, c), zero_is_placeholder);
  Dims out;
  for (int32_t axis : permutation(second_transpose, static_cast<int>(dims.size()), "second"))
    out.push_back(dims[static_cast<size_t>(axis)]);
  set_output_and_content(c, c.type(0), std::move(out), {0}, [&](const Shape& shape) {
    const Tensor from = numbered(*c.constant_shape(0));
    Tensor to(DataType::kINT64, shape);
    const TensorView inputs[] = {view_of(from)}, outputs[] = {view_of(to)};
    reference({inputs, outputs});
    Content content;
    for (int64_t i : to.integers()) content.push_back((*c.content(0))[static_cast<size_t>(i)]);
    return content;
  });
}

ShuffleSteps steps_of(const Shuffle& op, const Shape& in, const Shape& out) {
  const auto second = permutation(op.second_transpose, out.rank(), "second");
  Shape middle = out;  // what lies between the two transposes
  for (int axis = 0; axis < out.rank(); ++axis)
    middle[second[static_cast<size_t>(axis)]] = out[axis];
  return {transpose_of(in, permutation(op.first_transpose, in.rank(), "first")),
          transpose_of(middle, second)};
}

void Shuffle::reference(const ReferenceCall& call) const {
  const TensorView &in = call.inputs[0], &out = call.outputs[0];
  require(in.shape.volume() == out.shape.volume(), "cannot reshape {} ({} elements) to {}",
          in.shape, in.shape.volume(), out.shape);
  const auto [first, second] = steps_of(*this, in.shape, out.shape);
  const size_t bytes = bytes_of(in.type, in.shape.volume());
  if (first.is_identity && second.is_identity) return copy_bytes(out.data, in.data, bytes);
  const auto transpose = [&](const Transpose& t, const void* from, void* to) {
    copy_indexed(element_bytes(in.type), t.shape, offset_tables(t.shape, t.strides), from, to);
  };
  if (first.is_identity) return transpose(second, in.data, out.data);
  if (second.is_identity) return transpose(first, in.data, out.data);
  const auto memory = allocate_aligned(bytes);
  transpose(first, in.data, memory.get());
  transpose(second, memory.get(), out.data);
}

void Shuffle::insert_batch_axis(int32_t) {
  for (std::vector<int32_t>* permutation : {&first_transpose, &second_transpose}) {
    if (permutation->empty()) continue;
    for (int32_t& axis : *permutation) ++axis;
    permutation->insert(permutation->begin(), 0);
  }
  if (!has_reshape) return;
  const bool empty = std::count(reshape.begin(), reshape.end(), 0) > 0;
  require(zero_is_placeholder || !empty,
          "a reshape to an empty tensor is not supported yet with an implicit batch");
  zero_is_placeholder = true;
  reshape.insert(0, 0);  // as many items as there are
}

}  // namespace tenon
