// Runs the bodies of a loop, and puts together what they make.
#include <algorithm>

#include "base/host_copy.h"
#include "base/tensor_pool.h"
#include "ops/loop.h"
#include "ops/support/read_integer.h"
#include "ops/support/reference.h"

namespace tenon {
namespace {

// Blocks before, along and after an axis.
struct Blocks {
  size_t outer, along, inner;  // inner in bytes
};
Blocks blocks_of(const Shape& shape, int64_t axis, DataType type) {
  const auto at = static_cast<int>(axis);
  return {static_cast<size_t>(shape.volume(0, at)), static_cast<size_t>(shape[at]),
          bytes_of(type, shape.volume(at + 1, shape.rank()))};
}

// Writes the slices along an axis of `all`, and zeros into places that are left.
void collect(TensorMemory& memory, std::span<const Tensor> pieces, int64_t axis, bool reverse,
             Tensor& all) {
  const auto [outer, length, inner] = blocks_of(all.shape(), axis, all.type());
  auto* const to = all.mutable_data<std::byte>();
  if (pieces.size() < length) memory.clear(to, all.bytes());
  for (size_t k = 0; k < pieces.size(); ++k) {
    const Tensor& piece = pieces[k];
    require(piece.type() == all.type(), "the body made a slice of type {}; expected {}",
            name_of(piece.type()), name_of(all.type()));
    require(piece.shape() == pieces[0].shape(),
            "the body made {} in one iteration and {} in another: slices must have one shape",
            pieces[0].shape(), piece.shape());
    const size_t place = reverse ? length - 1 - k : k;
    memory.copy_rows(to + place * inner, length * inner, piece.data(), inner, inner, outer);
  }
}

// The value of a body's first output, which is one bool.
bool condition_of(TensorMemory& memory, std::span<const Tensor> made, size_t count) {
  require(made.size() == count && made[0].type() == DataType::kBOOL && made[0].count() == 1,
          "the body made {} outputs; expected a condition and {} more", made.size(), count - 1);
  return read_bool(memory, made[0]);
}

using Inputs = std::span<const Tensor* const>;

class LoopRunner final : public ControlFlow::Runner {
 public:
  LoopRunner(const Loop& loop, TensorMemory& memory)
      : loop_(loop), memory_(memory), trip_(memory), go_(memory) {
    scanned_.assign(loop.scan_axes.size(), TensorPool(memory));
    for (size_t i = 0; i < loop.collect_axes.size(); ++i)
      collected_.push_back({loop.outputs.at(states() + i), {}, TensorPool(memory)});
  }

  std::span<const Tensor> run(Inputs inputs, RunBody run_body) override {
    const Inputs known = read(inputs);
    const int64_t trips = trip_count(known);
    bool go = known[1] == nullptr || *known[1]->data<uint8_t>() != 0;
    start(inputs);
    for (int64_t trip = 0; trip < trips && go; ++trip) {
      set_arguments(inputs, trip, go);
      if (loop_.condition_first && !condition_of(memory_, run_body(1, arguments_), 1)) break;
      const auto made = run_body(0, arguments_);
      go = condition_of(memory_, made, 1 + states() + collected_.size());
      const auto pieces = made.subspan(1 + states());
      std::copy_n(made.begin() + 1, states(), results_.begin());
      for (size_t i = 0; i < collected_.size(); ++i) collected_[i].pieces.push_back(pieces[i]);
    }
    for (size_t i = 0; i < collected_.size(); ++i) {
      Collected& c = collected_[i];
      Tensor all = c.pool.make(c.output.type, collected_shape(i, known));
      collect(memory_, c.pieces, loop_.collect_axes[i], loop_.collect_reverse[i] != 0, all);
      results_[states() + i] = std::move(all);
    }
    return results_;
  }

 private:
  size_t states() const { return static_cast<size_t>(loop_.state_count); }
  size_t first_scan() const { return Loop::kFirstState + states(); }

  // The inputs, on the host those whose elements decide something.
  Inputs read(Inputs inputs) {
    known_.assign(inputs.begin(), inputs.end());
    copies_.resize(inputs.size());
    for (size_t i = 0; i < inputs.size(); ++i)
      if (inputs[i] != nullptr && loop_.reads(static_cast<int>(i)))
        known_[i] = &copies_[i].read(memory_, *inputs[i]);
    return known_;
  }

  // Until the loop ends, the results are the current states.
  void start(Inputs inputs) {
    results_.assign(states() + collected_.size(), Tensor());
    for (size_t i = 0; i < states(); ++i) results_[i] = *inputs[Loop::kFirstState + i];
    for (Collected& c : collected_) c.pieces.clear();
  }

  // Iterations at most.
  int64_t trip_count(Inputs inputs) const {
    const bool counted = inputs[0] != nullptr;
    int64_t trips = counted ? read_integer(view_of(*inputs[0])) : INT64_MAX;
    for (size_t i = 0; i < scanned_.size(); ++i) {
      const auto axis = static_cast<int>(loop_.scan_axes[i]);
      const int64_t extent = inputs[first_scan() + i]->shape()[axis];
      require(!counted || extent >= trips,
              "scanned tensor {} has {} slices; the loop has {} iterations", i, extent, trips);
      require(counted || loop_.condition_first || i == 0 || extent == trips,
              "scanned tensors have extents {} and {}", trips, extent);
      trips = std::min(trips, extent);
    }
    return trips;
  }

  void set_arguments(Inputs inputs, int64_t trip, bool go) {
    arguments_.clear();
    arguments_.push_back(trip_.make(DataType::kINT64, Shape()));
    memory_.write(arguments_.back().mutable_data<std::byte>(), &trip, sizeof trip);
    arguments_.push_back(go_.make(DataType::kBOOL, Shape()));
    memory_.write(arguments_.back().mutable_data<std::byte>(), &go, sizeof go);
    arguments_.insert(arguments_.end(), results_.begin(),
                      results_.begin() + static_cast<std::ptrdiff_t>(states()));
    for (size_t i = 0; i < scanned_.size(); ++i)
      arguments_.push_back(slice(i, *inputs[first_scan() + i], trip));
    for (const Tensor* t : inputs.subspan(first_scan() + scanned_.size())) arguments_.push_back(*t);
  }

  Tensor slice(size_t scan, const Tensor& t, int64_t trip) {
    const int64_t axis = loop_.scan_axes[scan];
    const auto [outer, extent, inner] = blocks_of(t.shape(), axis, t.type());
    const auto at = static_cast<size_t>(trip);
    const size_t position = loop_.scan_reverse[scan] != 0 ? extent - 1 - at : at;
    Shape shape = t.shape();
    shape.erase(static_cast<int>(axis));
    Tensor slice = scanned_[scan].make(t.type(), shape);
    memory_.copy_rows(slice.mutable_data<std::byte>(), inner,
                      t.data<std::byte>() + position * inner, extent * inner, inner, outer);
    return slice;
  }

  // The shape of an output from its slices; where there are none, what is known without.
  Shape collected_shape(size_t which, Inputs inputs) const {
    const auto& [output, pieces, pool] = collected_[which];
    const auto axis = static_cast<int>(loop_.collect_axes[which]);
    const auto count = static_cast<int64_t>(pieces.size());
    int64_t length = count;
    if (const int64_t input = loop_.collect_length(which); input >= 0) {
      length = BodyExtent::of_element(static_cast<int>(input)).extent(inputs);
      require(count <= length, "the loop made {} iterations; the length of an output is {}", count,
              length);
    }
    const auto rank = static_cast<int>(output.extents.size());
    if (!pieces.empty())
      require(pieces[0].shape().rank() == rank - 1,
              "the body made a slice of {} dimensions; expected {}", pieces[0].shape().rank(),
              rank - 1);
    Shape shape;
    for (int i = 0; i < rank; ++i)
      shape.push_back(i == axis        ? length
                      : pieces.empty() ? output.extents[static_cast<size_t>(i)].extent(inputs)
                                       : pieces[0].shape()[i - (i > axis ? 1 : 0)]);
    return shape;
  }

  // An output that is put together from a slice of each iteration.
  struct Collected {
    BodyOutput output;
    std::vector<Tensor> pieces;
    TensorPool pool;
  };
  const Loop& loop_;
  TensorMemory& memory_;
  TensorPool trip_, go_;
  std::vector<TensorPool> scanned_;
  std::vector<Collected> collected_;
  std::vector<Tensor> arguments_, results_;
  std::vector<HostCopy> copies_;
  std::vector<const Tensor*> known_;
};

}  // namespace

std::unique_ptr<ControlFlow::Runner> Loop::make_runner(TensorMemory& memory) const {
  return std::make_unique<LoopRunner>(*this, memory);
}

}  // namespace tenon
