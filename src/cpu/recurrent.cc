// LSTM, GRU and RNN over constant weights: the input product for many steps at once, then the
// recurrent product step by step.
#include "ops/recurrent.h"

#include <algorithm>
#include <cstring>

#include "base/error.h"
#include "base/parallel.h"
#include "cpu/kernels.h"
#include "cpu/recurrent_weights.h"
#include "cpu/simd/kernels.h"

namespace tenon::cpu {
namespace {

using nvinfer1::ElementWiseOperation;

/// Multiplications that are worth another thread, and in a step whose threads spin between steps.
constexpr int64_t kGrain = 1 << 16, kStepGrain = 1 << 15;

class RecurrentExecution final : public Execution {
 public:
  RecurrentExecution(const Recurrent& op, const Tensor& packed, bool has_peepholes,
                     std::span<const TensorSpec> inputs)
      : op_(op),
        sizes_(op, inputs[0].shape, inputs[1].shape, inputs[2].shape),
        simd_(simd_kernels()),
        gate_(whole_panels(sizes_.units)),
        row_(sizes_.gates * gate_) {
    const Packing packing(op, sizes_.inputs);
    for (int d = 0; d < sizes_.directions; ++d)
      parameters_.push_back(packing.at(packed.data<float>() + d * packing.total, has_peepholes));
    has_lengths_ = inputs.size() > Recurrent::kLengths && inputs[Recurrent::kLengths].present;
    if (has_lengths_)
      lengths_view_ = {nullptr, inputs[Recurrent::kLengths].type,
                       inputs[Recurrent::kLengths].shape};
    else
      lengths_ = sequence_lengths(nullptr, sizes_);
    const int64_t per_step = std::max<int64_t>(1, sizes_.directions * sizes_.batch * row_);
    // Gates stay in the L2 cache until the recurrent products use them.
    const int64_t steps = this_machine().second_level / int64_t{sizeof(float)} / per_step;
    chunk_ = std::clamp<int64_t>(steps, 1, std::max<int64_t>(1, sizes_.steps));
    phases_ = op.kind_of_cell == RecurrentKind::kGru && !op.linear_before_reset ? 2 : 1;
    if (sizes_.directions * sizes_.batch < thread_count()) parts_ = parts_of_step(per_step);
  }

  // Gates of a chunk of steps, then per direction and sequence: h before and after a step, c, and a
  // row of work.
  size_t scratch_bytes() const override {
    return static_cast<size_t>(gate_floats() + 4 * state_floats()) * sizeof(float);
  }

  void run(const RunArguments& arguments) override {
    if (sizes_.batch == 0) return;
    if (has_lengths_) {
      lengths_view_.data = const_cast<void*>(arguments.inputs[Recurrent::kLengths]);
      lengths_ = sequence_lengths(&lengths_view_, sizes_);
    }
    gates_ = static_cast<float*>(arguments.scratch);
    h_ = gates_ + gate_floats();
    c_ = h_ + 2 * state_floats();
    work_ = c_ + state_floats();
    x_ = static_cast<const float*>(arguments.inputs[0]);
    y_ = static_cast<float*>(arguments.outputs[0]);
    read_state(arguments, Recurrent::kFirstH, h_);
    read_state(arguments, Recurrent::kFirstC, c_);
    for (int64_t begin = 0; begin < sizes_.steps; begin += chunk_) {
      const int64_t end = std::min(begin + chunk_, sizes_.steps);
      multiply_inputs(begin, end);
      run_steps(begin, end);
    }
    write_state(h_before(sizes_.steps), static_cast<float*>(arguments.outputs[1]));
    if (arguments.outputs.size() > 2) write_state(c_, static_cast<float*>(arguments.outputs[2]));
  }

 private:
  /// Some of the units of all gates, or of the sequences.
  struct Units {
    int64_t first, count;
  };
  using Sequences = Units;
  /// Of some units of a sequence: before and after a step, of the cell, and room to work.
  struct State {
    const float* h;
    float *next, *c, *work;
  };

  int64_t gate_floats() const { return sizes_.directions * chunk_ * sizes_.batch * row_; }
  int64_t state_floats() const { return sizes_.directions * sizes_.batch * sizes_.units; }
  float* gates(int d, int64_t in_chunk, int64_t b) const {
    return gates_ + ((d * chunk_ + in_chunk) * sizes_.batch + b) * row_;
  }
  int64_t step_of(int d, int64_t i) const { return op_.is_reverse(d) ? sizes_.steps - 1 - i : i; }
  float* h_before(int64_t step) const { return h_ + step % 2 * state_floats(); }

  // Parts of the units that threads share in each step.
  int64_t parts_of_step(int64_t row_floats) const {
    const int64_t directions = std::max(1, sizes_.directions);
    const int64_t max_chunks = std::min<int64_t>(thread_count(), kMaxChunks) / directions;
    return std::clamp<int64_t>(row_floats * sizes_.units / (directions * kStepGrain), 1,
                               std::max<int64_t>(1, std::min(max_chunks, gate_ / kProductPanel)));
  }
  Units units_of(int64_t part) const {
    const int64_t panels = gate_ / kProductPanel;
    const int64_t begin = panels * part / parts_, end = panels * (part + 1) / parts_;
    return {begin * kProductPanel,
            std::min(end * kProductPanel, sizes_.units) - begin * kProductPanel};
  }

  void read_state(const RunArguments& arguments, size_t i, float* state) const {
    const auto* from = static_cast<const float*>(arguments.input(i));
    const int64_t units = sizes_.units;
    for (int d = 0; d < sizes_.directions; ++d)
      for (int64_t b = 0; b < sizes_.batch; ++b) {
        float* to = state + (d * sizes_.batch + b) * units;
        // A sequence without steps ends with zeros, whatever its first state.
        if (from != nullptr && lengths_[static_cast<size_t>(b)] > 0)
          std::copy_n(from + sizes_.state(d, b), units, to);
        else
          std::fill_n(to, units, 0.f);
      }
  }
  void write_state(const float* state, float* to) const {
    for (int d = 0; d < sizes_.directions; ++d)
      for (int64_t b = 0; b < sizes_.batch; ++b)
        std::copy_n(state + (d * sizes_.batch + b) * sizes_.units, sizes_.units,
                    to + sizes_.state(d, b));
  }

  // gates = bias + x W for the chunk; rows are steps and sequences of each direction.
  void multiply_inputs(int64_t begin, int64_t end) const {
    const int64_t per_direction = (end - begin) * sizes_.batch;
    const int64_t work = std::max<int64_t>(1, row_ * sizes_.inputs);
    // A block of rows reads every panel once: rows in one piece of memory go together.
    const int64_t together = sizes_.batch_first ? 1 : sizes_.batch;
    parallel_for(sizes_.directions * per_direction / together,
                 std::max<int64_t>(1, kGrain / (work * together)), [&](int64_t from, int64_t to) {
                   for (int64_t i = from; i < to;) i += multiply_rows(begin, end, i, to);
                 });
  }

  // As many groups of rows from number i on as lie evenly in memory; returns how many.
  int64_t multiply_rows(int64_t begin, int64_t end, int64_t i, int64_t to) const {
    const int64_t steps = end - begin;
    const int64_t groups = sizes_.batch_first ? steps * sizes_.batch : steps;
    const int d = static_cast<int>(i / groups);
    const int64_t in_direction = i % groups;
    const int64_t b = sizes_.batch_first ? in_direction / steps : 0;
    const int64_t in_chunk = sizes_.batch_first ? in_direction % steps : in_direction;
    const int64_t count = std::min(to - i, steps - in_chunk);
    const Parameters& p = parameters_[static_cast<size_t>(d)];
    const int64_t rows = sizes_.batch_first ? 1 : sizes_.batch;
    for (int64_t k = 0; k < count; ++k)
      for (int64_t r = 0; r < rows; ++r) std::copy_n(p.bias, row_, gates(d, in_chunk + k, b + r));
    const bool forward = !op_.is_reverse(d);
    if (forward && !sizes_.batch_first) {
      simd_.add_product(x_ + sizes_.x(begin + in_chunk, 0), sizes_.inputs, count * rows, p.w,
                        sizes_.inputs, gates(d, in_chunk, 0), row_, row_);
    } else if (rows == 1) {  // steps of one sequence, perhaps backwards
      const float* first = x_ + sizes_.x(step_of(d, begin + in_chunk), b);
      simd_.add_product(first, forward ? sizes_.inputs : -sizes_.inputs, count, p.w, sizes_.inputs,
                        gates(d, in_chunk, b), sizes_.batch * row_, row_);
    } else {
      for (int64_t k = 0; k < count; ++k)
        simd_.add_product(x_ + sizes_.x(step_of(d, begin + in_chunk + k), 0), sizes_.inputs, rows,
                          p.w, sizes_.inputs, gates(d, in_chunk + k, 0), row_, row_);
    }
    return count;
  }

  // Directions, and groups of sequences, run side by side; a few share their steps.
  void run_steps(int64_t begin, int64_t end) const {
    if (parts_ > 1) {
      parallel_rounds((end - begin) * phases_, sizes_.directions * parts_,
                      [&](int64_t round, int64_t chunk) {
                        const auto d = static_cast<int>(chunk / parts_);
                        const int64_t k = round / phases_;
                        run_phase(round % phases_, d, begin + k, gates(d, k, 0), {0, sizes_.batch},
                                  units_of(chunk % parts_));
                      });
      return;
    }
    const int64_t work = std::max<int64_t>(1, row_ * sizes_.units * (end - begin));
    parallel_for(sizes_.directions * sizes_.batch, std::max<int64_t>(1, kGrain / work),
                 [&](int64_t from, int64_t to) {
                   for (int64_t i = from; i < to;) {
                     const auto d = static_cast<int>(i / sizes_.batch);
                     const int64_t b = i % sizes_.batch;
                     const Sequences rows = {b, std::min(to - i, sizes_.batch - b)};
                     for (int64_t k = begin; k < end; ++k)
                       for (int64_t phase = 0; phase < phases_; ++phase)
                         run_phase(phase, d, k, gates(d, k - begin, b), rows, {0, sizes_.units});
                     i += rows.count;
                   }
                 });
  }

  // A step for some sequences and units of a direction. Where what the reset gate leaves of the
  // whole state is multiplied, that is a phase of its own.
  void run_phase(int64_t phase, int d, int64_t i, float* gates, const Sequences& rows,
                 const Units& units) const {
    const Parameters& p = parameters_[static_cast<size_t>(d)];
    const int64_t at = (d * sizes_.batch + rows.first) * sizes_.units, t = step_of(d, i);
    const float* h = h_before(i) + at;
    float *next = h_before(i + 1) + at, *c = c_ + at, *work = work_ + at;
    if (phase == 0) {
      const GateGroups groups = groups_of(op_);
      multiply(h, rows.count, p.r_first, groups.first, gates, row_, units);
      if (groups.second > 0) reset(d, p, h, gates, work, rows.count, units);
    }
    if (phase < phases_ - 1) return;
    if (phase > 0) multiply(work, rows.count, p.r_second, 1, gates + 2 * gate_, row_, units);
    for (int64_t r = 0; r < rows.count; ++r) {
      const int64_t b = rows.first + r, first = r * sizes_.units + units.first;
      float* y = y_ + sizes_.y(t, d, b) + units.first;
      if (t >= lengths_[static_cast<size_t>(b)]) {
        std::copy_n(h + first, units.count, next + first);
        std::fill_n(y, units.count, 0.f);
        continue;
      }
      update_state(d, p, gates + r * row_ + units.first,
                   {h + first, next + first, c + first, work + first}, units);
      std::copy_n(next + first, units.count, y);
    }
  }

  // Adds the products of states with so many gates.
  void multiply(const float* state, int64_t rows, const float* panels, int64_t gates, float* to,
                int64_t to_step, const Units& units) const {
    const int64_t depth = sizes_.units;
    if (units.count == depth) {
      simd_.add_product(state, depth, rows, panels, depth, to, to_step,
                        (gates - 1) * gate_ + units.count);
      return;
    }
    for (int64_t g = 0; g < gates; ++g) {
      const int64_t column = g * gate_ + units.first;
      simd_.add_product(state, depth, rows, panels + column * depth, depth, to + column, to_step,
                        units.count);
    }
  }

  void activate(int d, int which, float* values, int64_t n, bool clips = true) const {
    const auto k = static_cast<size_t>(d * op_.activations_per_direction() + which);
    if (clips && op_.clip > 0)
      simd_.activation[static_cast<int>(nvinfer1::ActivationType::kCLIP)](values, nullptr, values,
                                                                          n, -op_.clip, op_.clip);
    simd_.activation[op_.activations[k]](values, nullptr, values, n, op_.alpha[k], op_.beta[k]);
  }
  // out = a * b, of which `out` may be one.
  void scale(const float* a, const float* b, float* out, int64_t n) const {
    simd_.element_wise[static_cast<int>(ElementWiseOperation::kPROD)](a, b, out, n, 0, 0);
  }
  void add(const float* a, const float* b, float* out, int64_t n) const {
    simd_.element_wise[static_cast<int>(ElementWiseOperation::kSUM)](a, b, out, n, 0, 0);
  }

  // Of a GRU: activates its first gates, and resets the state, or adds its product, reset.
  void reset(int d, const Parameters& p, const float* h, float* gates, float* work, int64_t rows,
             const Units& units) const {
    const int64_t n = units.count;
    for (int64_t r = 0; r < rows; ++r)
      for (int64_t g = 0; g < 2; ++g) activate(d, 0, gates + r * row_ + g * gate_ + units.first, n);
    if (op_.linear_before_reset) {
      for (int64_t r = 0; r < rows; ++r)
        std::copy_n(p.state_bias + units.first, n, work + r * sizes_.units + units.first);
      multiply(h, rows, p.r_second, 1, work, sizes_.units, units);
    }
    for (int64_t r = 0; r < rows; ++r) {
      float* row = gates + r * row_ + units.first;
      const int64_t at = r * sizes_.units + units.first;
      scale(op_.linear_before_reset ? work + at : h + at, row + gate_, work + at, n);
      if (op_.linear_before_reset) add(row + 2 * gate_, work + at, row + 2 * gate_, n);
    }
  }

  // From the sums of the gates to the new state.
  void update_state(int d, const Parameters& p, float* gates, const State& state,
                    const Units& units) const {
    if (op_.kind_of_cell == RecurrentKind::kPlain) {
      activate(d, 0, gates, units.count);
      std::copy_n(gates, units.count, state.next);
    } else if (op_.kind_of_cell == RecurrentKind::kGru) {
      gru_state(d, gates, state, units.count);
    } else {
      lstm_state(d, p, gates, state, units);
    }
  }

  // The candidate, and as much of what the state is beyond it as the update gate says.
  void gru_state(int d, float* gates, const State& state, int64_t n) const {
    const float* update = gates;
    float* candidate = gates + 2 * gate_;
    activate(d, 1, candidate, n);
    for (int64_t u = 0; u < n; ++u)
      state.next[u] = (1 - update[u]) * candidate[u] + update[u] * state.h[u];
  }

  void lstm_state(int d, const Parameters& p, float* gates, const State& state,
                  const Units& units) const {
    const int64_t n = units.count;
    float *in = gates, *out = in + gate_, *forget = out + gate_, *cell = forget + gate_;
    float *c = state.c, *work = state.work;
    const auto add_peephole = [&](int which, float* gate) {
      if (p.peepholes == nullptr) return;
      scale(p.peepholes + which * sizes_.units + units.first, c, work, n);
      add(gate, work, gate, n);
    };
    add_peephole(0, in);
    add_peephole(2, forget);
    activate(d, 0, in, n);
    activate(d, 0, forget, n);
    activate(d, 1, cell, n);
    if (op_.input_forget)
      for (int64_t u = 0; u < n; ++u) forget[u] = 1 - in[u];
    scale(forget, c, c, n);
    scale(in, cell, cell, n);
    add(c, cell, c, n);
    add_peephole(1, out);
    activate(d, 0, out, n);
    std::copy_n(c, n, work);
    activate(d, 2, work, n, false);
    scale(out, work, state.next, n);
  }

  const Recurrent& op_;
  RecurrentSizes sizes_;
  const SimdKernels& simd_;
  int64_t gate_;       // floats of a gate: whole panels
  int64_t row_;        // and of all gates
  int64_t chunk_;      // steps whose gates are computed at once
  int64_t phases_;     // of a step, of which each needs all of the last
  int64_t parts_ = 1;  // of the units, that threads share
  std::vector<Parameters> parameters_;
  bool has_lengths_;
  TensorView lengths_view_;
  // Of the run that is under way.
  std::vector<int64_t> lengths_;
  const float* x_ = nullptr;
  float *y_ = nullptr, *gates_ = nullptr, *h_ = nullptr, *c_ = nullptr, *work_ = nullptr;
};

class RecurrentKernel final : public Kernel {
 public:
  RecurrentKernel(const KernelRequest& request, std::vector<Tensor> weights)
      : op_(static_cast<const Recurrent&>(request.op)) {
    packed = std::move(weights);
    const Packing packing(op_, request.inputs[Recurrent::kW].shape.back());
    require(packed.size() == 1 && packed[0].type() == DataType::kFLOAT
                && packed[0].shape() == packing.shape(op_),
            "the packed weights of a recurrent layer do not fit it");
    constexpr size_t kPeepholes = Recurrent::kPeepholes;
    has_peepholes_ = request.inputs.size() > kPeepholes && request.inputs[kPeepholes].present;
    for (size_t i = 0; i < request.inputs.size(); ++i)
      input_is_packed.push_back(i == Recurrent::kW || i == Recurrent::kR || i == Recurrent::kB
                                || i == Recurrent::kPeepholes);
    input_layouts.assign(request.inputs.size(), Layout::kLinear);
    output_layouts.assign(request.outputs.size(), Layout::kLinear);
  }
  std::unique_ptr<Execution> prepare(std::span<const TensorSpec> inputs,
                                     std::span<const TensorSpec>) const override {
    return std::make_unique<RecurrentExecution>(op_, packed[0], has_peepholes_, inputs);
  }

 private:
  Recurrent op_;
  bool has_peepholes_ = false;
};

std::string refusal(const KernelRequest& request) {
  for (size_t i = 0; i < request.inputs.size(); ++i)
    if (i != Recurrent::kLengths && request.inputs[i].present
        && request.inputs[i].type != DataType::kFLOAT)
      return "only float32 is supported";
  const auto& forms = simd_kernels().activation;
  for (int32_t a : static_cast<const Recurrent&>(request.op).activations)
    if (a == kAffine || a < 0 || a >= static_cast<int32_t>(std::size(forms)) || forms[a] == nullptr)
      return "there is no fast form of an activation";
  return "";
}

}  // namespace

Offer offer_recurrent(const KernelRequest& request) {
  if (std::string reason = refusal(request); !reason.empty()) return reason;
  for (const size_t i : {Recurrent::kW, Recurrent::kR, Recurrent::kB, Recurrent::kPeepholes})
    if (i < request.inputs.size() && request.inputs[i].present && request.constants[i] == nullptr)
      return "only constant weights are supported";
  std::vector<Tensor> weights{pack_recurrent(static_cast<const Recurrent&>(request.op), request)};
  return std::make_unique<RecurrentKernel>(request, std::move(weights));
}

Offer load_recurrent(const KernelRequest& request, const StoredKernel& stored) {
  if (std::string reason = refusal(request); !reason.empty()) return reason;
  return std::make_unique<RecurrentKernel>(request, stored.packed);
}

}  // namespace tenon::cpu
