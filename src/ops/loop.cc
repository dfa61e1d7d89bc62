#include "ops/loop.h"

#include <algorithm>
#include <cstring>

#include "ops/infer.h"
#include "ops/reference.h"

namespace tenon {

TENON_REGISTER_OP(Loop);

void Loop::visit(FieldVisitor& v) {
  v("state_count", state_count);
  v("scan_axes", scan_axes);
  v("scan_reverse", scan_reverse);
  v("collect_axes", collect_axes);
  v("collect_reverse", collect_reverse);
  v("collect_lengths", collect_lengths);
  v("condition_first", condition_first);
  outputs.visit(v);
}

int Loop::layer_input(size_t body_input) const {
  const size_t first_scan = kFirstState + static_cast<size_t>(state_count);
  const bool made = body_input < kFirstState
                    || (body_input >= first_scan && body_input < first_scan + scan_axes.size());
  return made ? -1 : static_cast<int>(body_input);
}

void Loop::infer(Inference& c) const {
  require(state_count >= 0 && scan_reverse.size() == scan_axes.size()
              && collect_reverse.size() == collect_axes.size()
              && (collect_lengths.empty() || collect_lengths.size() == collect_axes.size())
              && outputs.count() == static_cast<size_t>(state_count) + collect_axes.size(),
          "a loop of {} states, {} scanned and {} collected tensors has {} outputs", state_count,
          scan_axes.size(), collect_axes.size(), outputs.count());
  const size_t first_scan = kFirstState + static_cast<size_t>(state_count);
  require(static_cast<size_t>(c.input_count()) >= first_scan + scan_axes.size(),
          "expected at least {} inputs, found {}", first_scan + scan_axes.size(), c.input_count());
  if (c.has_input(0)) {
    require_index(c, 0, "the number of iterations");
    require_count(c, 0, "the number of iterations", 1);
  }
  if (c.has_input(1)) {
    require(c.type(1) == DataType::kBOOL, "expected a condition of type bool, found {}",
            name_of(c.type(1)));
    require_count(c, 1, "the condition", 1);
  }
  for (int i = static_cast<int>(kFirstState); i < c.input_count(); ++i)
    require(c.has_input(i), "input {} is missing", i);
  for (size_t i = 0; i < scan_axes.size(); ++i)
    require(scan_axes[i] >= 0 && scan_axes[i] < c.rank(static_cast<int>(first_scan + i)),
            "scanned tensor {} has no axis {}", i, scan_axes[i]);
  for (size_t i = 0; i < collect_axes.size(); ++i) {
    const auto rank = outputs.ranks[static_cast<size_t>(state_count) + i];
    require(collect_axes[i] >= 0 && collect_axes[i] < rank, "collected tensor {} has no axis {}", i,
            collect_axes[i]);
    const int64_t length = length_input(i);
    if (length < 0) continue;
    require(length < c.input_count(),
            "collected tensor {} takes its length from input {}, which is missing", i, length);
    require_index(c, static_cast<int>(length), "a length");
    require_count(c, static_cast<int>(length), "a length", 1);
  }
  outputs.infer(c);
}

void Loop::reference(const ReferenceCall&) const {
  fail(ErrorCode::kINTERNAL_ERROR, "a loop runs through its body");
}

namespace {

template <class T> Tensor scalar(DataType type, T value) {
  return Tensor::of<T>(type, Shape(), std::span<const T>(&value, 1));
}

// Blocks before, along and after an axis.
struct Blocks {
  int64_t outer, inner;  // inner in bytes
};
Blocks blocks_of(const Shape& shape, int64_t axis, DataType type) {
  const auto at = static_cast<int>(axis);
  return {shape.volume(0, at),
          static_cast<int64_t>(bytes_of(type, shape.volume(at + 1, shape.rank())))};
}

Tensor slice_of(const Tensor& t, int64_t axis, int64_t position) {
  Shape shape;
  for (int i = 0; i < t.shape().rank(); ++i)
    if (i != axis) shape.push_back(t.shape()[i]);
  Tensor slice(t.type(), shape);
  const auto [outer, inner] = blocks_of(t.shape(), axis, t.type());
  const int64_t extent = t.shape()[static_cast<int>(axis)];
  for (int64_t o = 0; o < outer; ++o)
    copy_bytes(slice.mutable_data<std::byte>() + o * inner,
               t.data<std::byte>() + (o * extent + position) * inner, static_cast<size_t>(inner));
  return slice;
}

// The pieces along an axis of `shape`, zeros in places that are left.
Tensor collected(const std::vector<Tensor>& pieces, DataType type, const Shape& shape, int64_t axis,
                 bool reverse) {
  Tensor all(type, shape);
  const auto [outer, inner] = blocks_of(shape, axis, type);
  const int64_t length = shape[static_cast<int>(axis)];
  const auto count = static_cast<int64_t>(pieces.size());
  if (count < length) std::memset(all.mutable_data<std::byte>(), 0, all.bytes());
  for (int64_t k = 0; k < count; ++k) {
    const Tensor& piece = pieces[static_cast<size_t>(k)];
    require(piece.type() == type, "the body made a piece of type {}; expected {}",
            name_of(piece.type()), name_of(type));
    require(piece.shape() == pieces[0].shape(),
            "the body made {} in one iteration and {} in another: pieces must have one shape",
            pieces[0].shape(), piece.shape());
    const int64_t place = reverse ? length - 1 - k : k;
    for (int64_t o = 0; o < outer; ++o)
      copy_bytes(all.mutable_data<std::byte>() + (o * length + place) * inner,
                 piece.data<std::byte>() + o * inner, static_cast<size_t>(inner));
  }
  return all;
}

// Whether a body's first output is one bool: its value.
bool condition_of(const std::vector<Tensor>& made, size_t count) {
  require(made.size() == count && made[0].type() == DataType::kBOOL && made[0].count() == 1,
          "the body made {} outputs; expected a condition and {} more", made.size(), count - 1);
  return *made[0].data<bool>();
}

}  // namespace

// Iterations at most.
int64_t Loop::trip_count(std::span<const Tensor* const> inputs) const {
  const size_t first_scan = kFirstState + static_cast<size_t>(state_count);
  const bool counted = inputs[0] != nullptr;
  int64_t trips = counted ? inputs[0]->integers().at(0) : INT64_MAX;
  for (size_t i = 0; i < scan_axes.size(); ++i) {
    const int64_t extent = inputs[first_scan + i]->shape()[static_cast<int>(scan_axes[i])];
    require(!counted || extent >= trips,
            "scanned tensor {} has {} slices; the loop has {} iterations", i, extent, trips);
    require(counted || condition_first || i == 0 || extent == trips,
            "scanned tensors have extents {} and {}", trips, extent);
    trips = std::min(trips, extent);
  }
  return trips;
}

int64_t Loop::scan_position(size_t scan, const Tensor& scanned, int64_t trip) const {
  const int64_t extent = scanned.shape()[static_cast<int>(scan_axes[scan])];
  return scan_reverse[scan] != 0 ? extent - 1 - trip : trip;
}

// The shape of an output from its pieces; where there are none, what is known without.
Shape Loop::collected_shape(size_t which, const std::vector<Tensor>& pieces,
                            std::span<const Tensor* const> inputs) const {
  const BodyOutput output = outputs.at(static_cast<size_t>(state_count) + which);
  const auto axis = static_cast<int>(collect_axes[which]);
  const auto count = static_cast<int64_t>(pieces.size());
  int64_t length = count;
  if (const int64_t input = length_input(which); input >= 0) {
    length = BodyExtent::of_element(static_cast<int>(input)).extent(inputs);
    require(count <= length, "the loop made {} iterations; the length of an output is {}", count,
            length);
  }
  const auto rank = static_cast<int>(output.extents.size());
  if (!pieces.empty())
    require(pieces[0].shape().rank() == rank - 1,
            "the body made a piece of {} dimensions; expected {}", pieces[0].shape().rank(),
            rank - 1);
  Shape shape;
  for (int i = 0; i < rank; ++i)
    shape.push_back(i == axis        ? length
                    : pieces.empty() ? output.extents[static_cast<size_t>(i)].extent(inputs)
                                     : pieces[0].shape()[i - (i > axis ? 1 : 0)]);
  return shape;
}

std::vector<Tensor> Loop::run(std::span<const Tensor* const> inputs,
                              const RunBody& run_body) const {
  const auto states = static_cast<size_t>(state_count);
  const size_t first_scan = kFirstState + states, first_rest = first_scan + scan_axes.size();
  const int64_t trips = trip_count(inputs);
  bool go = inputs[1] == nullptr || *inputs[1]->data<bool>();
  std::vector<Tensor> current;
  for (size_t i = 0; i < states; ++i) current.push_back(*inputs[kFirstState + i]);
  std::vector<std::vector<Tensor>> pieces(collect_axes.size());
  for (int64_t trip = 0; trip < trips && go; ++trip) {
    std::vector<Tensor> arguments{scalar<int64_t>(DataType::kINT64, trip),
                                  scalar<bool>(DataType::kBOOL, go)};
    arguments.insert(arguments.end(), current.begin(), current.end());
    for (size_t i = 0; i < scan_axes.size(); ++i)
      arguments.push_back(slice_of(*inputs[first_scan + i], scan_axes[i],
                                   scan_position(i, *inputs[first_scan + i], trip)));
    for (const Tensor* t : inputs.subspan(first_rest)) arguments.push_back(*t);
    if (condition_first && !condition_of(run_body(1, arguments), 1)) break;
    std::vector<Tensor> made = run_body(0, std::move(arguments));
    go = condition_of(made, 1 + states + pieces.size());
    std::move(made.begin() + 1, made.begin() + 1 + state_count, current.begin());
    for (size_t i = 0; i < pieces.size(); ++i) pieces[i].push_back(std::move(made[1 + states + i]));
  }
  std::vector<Tensor> results = std::move(current);
  for (size_t i = 0; i < pieces.size(); ++i)
    results.push_back(collected(pieces[i], outputs.at(states + i).type,
                                collected_shape(i, pieces[i], inputs), collect_axes[i],
                                collect_reverse[i] != 0));
  return results;
}

}  // namespace tenon
