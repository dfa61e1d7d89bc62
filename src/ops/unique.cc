#include "ops/unique.h"

#include <cstring>
#include <numeric>

#include "ops/support/infer.h"
#include "ops/support/order.h"

namespace tenon {

TENON_REGISTER_OP(Unique);

void Unique::visit(FieldVisitor& v) {
  v("has_axis", has_axis);
  v("axis", axis);
  v("sorted", sorted);
}

namespace {

// Slices along an axis: `count` of them, of `outer` times `inner` elements.
struct Slices {
  int64_t outer = 1, count, inner = 1;

  Slices(const Unique& op, const Shape& shape) : count(shape.volume()) {
    if (!op.has_axis) return;
    const int axis = normalized_axis(op.axis, shape.rank());
    outer = shape.volume(0, axis);
    count = shape[axis];
    inner = shape.volume(axis + 1, shape.rank());
  }
  int64_t offset(int64_t slice, int64_t o) const { return (o * count + slice) * inner; }
};

// The keys of each slice side by side, for comparing.
std::vector<int64_t> keys_of(const Slices& s, const TensorView& in) {
  std::vector<int64_t> keys(static_cast<size_t>(in.shape.volume()));
  with_type(in.type, [&](auto zero) {
    const auto* data = in.as<decltype(zero)>();
    parallel_for(s.count, std::max<int64_t>(1, 16384 / std::max<int64_t>(1, s.outer * s.inner)),
                 [&](int64_t begin, int64_t end) {
                   for (int64_t i = begin; i < end; ++i)
                     for (int64_t o = 0; o < s.outer; ++o)
                       for (int64_t k = 0; k < s.inner; ++k)
                         keys[static_cast<size_t>((i * s.outer + o) * s.inner + k)] =
                             order_key(data[s.offset(i, o) + k]);
                 });
  });
  return keys;
}

// Slices in rising order, equal ones in the order in which they lie.
std::vector<int64_t> ordered(const Slices& s, const std::vector<int64_t>& keys) {
  std::vector<int64_t> order(static_cast<size_t>(s.count));
  const int64_t length = s.outer * s.inner;
  if (length == 1) {
    std::vector<std::pair<int64_t, int64_t>> pairs(order.size());
    for (size_t i = 0; i < pairs.size(); ++i) pairs[i] = {keys[i], static_cast<int64_t>(i)};
    std::sort(pairs.begin(), pairs.end());
    for (size_t i = 0; i < pairs.size(); ++i) order[i] = pairs[i].second;
    return order;
  }
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](int64_t a, int64_t b) {
    const int64_t *x = keys.data() + a * length, *y = keys.data() + b * length;
    return std::lexicographical_compare(x, x + length, y, y + length);
  });
  return order;
}

// Equal slices: a range of the slices in order. The first of them is the first in the input.
struct Group {
  int64_t begin, end;
};

struct Groups {
  std::vector<int64_t> order;
  std::vector<Group> list;  // in the order of the output

  Groups(const Slices& s, const TensorView& in, bool sorted) {
    const auto keys = keys_of(s, in);
    order = ordered(s, keys);
    const int64_t length = s.outer * s.inner;
    const auto equal = [&](int64_t a, int64_t b) {
      const int64_t* x = keys.data() + a * length;
      return std::equal(x, x + length, keys.data() + b * length);
    };
    for (int64_t i = 0; i < s.count; ++i) {
      if (i == 0 || !equal(slice(i - 1), slice(i))) list.push_back({i, i});
      ++list.back().end;
    }
    if (!sorted)
      std::sort(list.begin(), list.end(),
                [&](Group a, Group b) { return slice(a.begin) < slice(b.begin); });
  }
  int64_t slice(int64_t place) const { return order[static_cast<size_t>(place)]; }
};

}  // namespace

void Unique::infer(Inference& c) const {
  require_inputs(c, 1, 1);
  Dim upper = c.pool().constant(1);
  for (Dim d : c.dims(0)) upper = c.pool().mul(upper, d);
  Dims dims{nullptr};
  int place = 0;
  if (has_axis) {
    place = normalized_axis(axis, c.rank(0));
    dims = c.dims(0);
    upper = dims[static_cast<size_t>(place)];
  }
  dims[static_cast<size_t>(place)] = c.data_dependent_extent(0, place, upper);
  c.set_output(0, c.type(0), std::move(dims));
  c.set_output(1, DataType::kINT64, {c.data_dependent_extent(1, 0, upper)});
  c.set_output(2, DataType::kINT64, {upper});
  c.set_output(3, DataType::kINT64, {c.data_dependent_extent(3, 0, upper)});
}

void Unique::reference(const ReferenceCall& call) const {
  const TensorView& in = call.inputs[0];
  const Slices slices(*this, in.shape);
  const Groups groups(slices, in, sorted);
  const auto count = static_cast<int64_t>(groups.list.size());
  Shape shape{count};
  if (has_axis) {
    shape = in.shape;
    shape[normalized_axis(axis, in.shape.rank())] = count;
  }
  auto* values = call.allocate(0, shape).as<std::byte>();
  auto* first = call.allocate(1, {count}).as<int64_t>();
  auto* inverse = call.outputs[2].as<int64_t>();
  auto* counts = call.allocate(3, {count}).as<int64_t>();
  const auto bytes = static_cast<int64_t>(element_bytes(in.type)) * slices.inner;
  for (int64_t i = 0; i < count; ++i) {
    const Group group = groups.list[static_cast<size_t>(i)];
    first[i] = groups.slice(group.begin);
    counts[i] = group.end - group.begin;
    for (int64_t k = group.begin; k < group.end; ++k) inverse[groups.slice(k)] = i;
    for (int64_t o = 0; o < slices.outer && bytes > 0; ++o)
      std::memcpy(values + (o * count + i) * bytes,
                  in.as<std::byte>() + (o * slices.count + first[i]) * bytes,
                  static_cast<size_t>(bytes));
  }
}

}  // namespace tenon
