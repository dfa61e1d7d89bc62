#include "ops/unique.h"

#include <cstring>
#include <numeric>

#include "ops/infer.h"
#include "ops/order.h"

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

// Groups of equal slices, in the order of the output; within a group the first comes first.
std::vector<std::vector<int64_t>> groups_of(const Slices& s, const TensorView& in, bool sorted) {
  const auto keys = keys_of(s, in);
  const int64_t length = s.outer * s.inner;
  const auto begin_of = [&](int64_t slice) { return keys.data() + slice * length; };
  const auto compare = [&](int64_t a, int64_t b) {
    for (int64_t i = 0; i < length; ++i)
      if (begin_of(a)[i] != begin_of(b)[i]) return begin_of(a)[i] < begin_of(b)[i] ? -1 : 1;
    return 0;
  };
  std::vector<int64_t> order(static_cast<size_t>(s.count));
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(),
                   [&](int64_t a, int64_t b) { return compare(a, b) < 0; });
  std::vector<std::vector<int64_t>> groups;
  for (int64_t slice : order) {
    if (groups.empty() || compare(groups.back().front(), slice) != 0) groups.emplace_back();
    groups.back().push_back(slice);
  }
  if (!sorted)
    std::sort(groups.begin(), groups.end(),
              [](const auto& a, const auto& b) { return a.front() < b.front(); });
  return groups;
}

}  // namespace

void Unique::infer(Inference& c) const {
  require_inputs(c, 1, 1);
  Dim most = c.pool().constant(1);
  for (Dim d : c.dims(0)) most = c.pool().mul(most, d);
  Dims dims{nullptr};
  int place = 0;
  if (has_axis) {
    place = normalized_axis(axis, c.rank(0));
    dims = c.dims(0);
    most = dims[static_cast<size_t>(place)];
  }
  dims[static_cast<size_t>(place)] = c.late_extent(0, place, most);
  c.set_output(0, c.type(0), std::move(dims));
  c.set_output(1, DataType::kINT64, {c.late_extent(1, 0, most)});
  c.set_output(2, DataType::kINT64, {most});
  c.set_output(3, DataType::kINT64, {c.late_extent(3, 0, most)});
}

void Unique::reference(const ReferenceCall& call) const {
  const TensorView& in = call.inputs[0];
  const Slices slices(*this, in.shape);
  const auto groups = groups_of(slices, in, sorted);
  const auto count = static_cast<int64_t>(groups.size());
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
    const auto& group = groups[static_cast<size_t>(i)];
    first[i] = group.front();
    counts[i] = static_cast<int64_t>(group.size());
    for (int64_t slice : group) inverse[slice] = i;
    for (int64_t o = 0; o < slices.outer && bytes > 0; ++o)
      std::memcpy(values + (o * count + i) * bytes,
                  in.as<std::byte>() + (o * slices.count + group.front()) * bytes,
                  static_cast<size_t>(bytes));
  }
}

}  // namespace tenon
