#include "ops/loop.h"

#include <algorithm>

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

// The shape when there was no iteration: extents that only a body tells are 0.
Shape empty_shape(const BodyOutput& output, int64_t axis, std::span<const Tensor* const> inputs) {
  Shape shape;
  for (const BodyExtent& e : output.extents)
    shape.push_back(e.is_of_input() ? inputs[static_cast<size_t>(e.input())]->shape()[e.axis()]
                                    : std::max<int64_t>(e.code, 0));
  shape[static_cast<int>(axis)] = 0;
  return shape;
}

Tensor collected(const std::vector<Tensor>& pieces, const BodyOutput& output, int64_t axis,
                 bool reverse, std::span<const Tensor* const> inputs) {
  Shape shape;
  const auto count = static_cast<int64_t>(pieces.size());
  if (pieces.empty()) {
    shape = empty_shape(output, axis, inputs);
  } else {
    const Shape& piece = pieces[0].shape();
    for (int i = 0; i <= piece.rank(); ++i)
      shape.push_back(i == axis ? count : piece[i - (i > axis ? 1 : 0)]);
  }
  Tensor all(output.type, shape);
  const auto [outer, inner] = blocks_of(shape, axis, output.type);
  for (int64_t k = 0; k < count; ++k) {
    const Tensor& piece = pieces[static_cast<size_t>(reverse ? count - 1 - k : k)];
    require(piece.shape() == pieces[0].shape(),
            "the body made {} in one iteration and {} in another: pieces must have one shape",
            pieces[0].shape(), piece.shape());
    for (int64_t o = 0; o < outer; ++o)
      copy_bytes(all.mutable_data<std::byte>() + (o * count + k) * inner,
                 piece.data<std::byte>() + o * inner, static_cast<size_t>(inner));
  }
  return all;
}

}  // namespace

std::vector<Tensor> Loop::run(std::span<const Tensor* const> inputs,
                              const RunBody& run_body) const {
  const auto states = static_cast<size_t>(state_count);
  const size_t first_scan = kFirstState + states, first_rest = first_scan + scan_axes.size();
  int64_t trips = inputs[0] != nullptr ? inputs[0]->integers().at(0) : INT64_MAX;
  bool go = inputs[1] == nullptr || *inputs[1]->data<bool>();
  for (size_t i = 0; i < scan_axes.size(); ++i) {
    const int64_t extent = inputs[first_scan + i]->shape()[static_cast<int>(scan_axes[i])];
    require(i == 0 || extent == trips, "scanned tensors have extents {} and {}", trips, extent);
    trips = i == 0 ? std::min(trips, extent) : trips;
  }
  std::vector<Tensor> current;
  for (size_t i = 0; i < states; ++i) current.push_back(*inputs[kFirstState + i]);
  std::vector<std::vector<Tensor>> pieces(collect_axes.size());
  for (int64_t trip = 0; trip < trips && go; ++trip) {
    std::vector<Tensor> arguments{scalar<int64_t>(DataType::kINT64, trip),
                                  scalar<bool>(DataType::kBOOL, go)};
    arguments.insert(arguments.end(), current.begin(), current.end());
    for (size_t i = 0; i < scan_axes.size(); ++i)
      arguments.push_back(slice_of(*inputs[first_scan + i], scan_axes[i],
                                   scan_reverse[i] != 0 ? trips - 1 - trip : trip));
    for (const Tensor* t : inputs.subspan(first_rest)) arguments.push_back(*t);
    std::vector<Tensor> made = run_body(0, std::move(arguments));
    require(made.size() == 1 + states + pieces.size() && made[0].type() == DataType::kBOOL
                && made[0].count() == 1,
            "the body made {} outputs; expected a condition and {} more", made.size(),
            states + pieces.size());
    go = *made[0].data<bool>();
    if (condition_first && !go) break;
    std::move(made.begin() + 1, made.begin() + 1 + state_count, current.begin());
    for (size_t i = 0; i < pieces.size(); ++i) pieces[i].push_back(std::move(made[1 + states + i]));
  }
  std::vector<Tensor> results = std::move(current);
  for (size_t i = 0; i < pieces.size(); ++i)
    results.push_back(collected(pieces[i], outputs.at(states + i), collect_axes[i],
                                collect_reverse[i] != 0, inputs));
  return results;
}

}  // namespace tenon
