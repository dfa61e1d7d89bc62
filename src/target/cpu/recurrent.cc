// LSTM, GRU and RNN over constant weights: the input product for many steps at once, then the
// recurrent product step by step.
#include "ops/recurrent.h"

#include <algorithm>
#include <cstring>

#include "base/error.h"
#include "base/parallel.h"
#include "target/cpu/kernels.h"
#include "target/cpu/recurrent_weights.h"
#include "target/cpu/simd/kernels.h"

namespace tenon::cpu {
namespace {

/// Gates of so many floats are computed before the recurrent products use them.
constexpr int64_t kGateFloats = 1 << 18;
/// Multiplications that are worth another thread.
constexpr int64_t kGrain = 1 << 16;

class RecurrentExecution final : public Execution {
 public:
  RecurrentExecution(const Recurrent& op, const Tensor& packed, bool has_peepholes,
                     std::span<const TensorSpec> inputs)
      : op_(op),
        sizes_(op, inputs[0].shape, inputs[1].shape, inputs[2].shape),
        simd_(simd_kernels()),
        row_(sizes_.gates * sizes_.units) {
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
    chunk_ = std::clamp<int64_t>(kGateFloats / per_step, 1, std::max<int64_t>(1, sizes_.steps));
  }

  // Gates of a chunk of steps, then per direction and sequence: h, c, and a row of work.
  size_t scratch_bytes() const override {
    return static_cast<size_t>(gate_floats() + 3 * state_floats()) * sizeof(float);
  }

  void run(const RunArguments& arguments) override {
    if (sizes_.batch == 0) return;
    if (has_lengths_) {
      lengths_view_.data = const_cast<void*>(arguments.inputs[Recurrent::kLengths]);
      lengths_ = sequence_lengths(&lengths_view_, sizes_);
    }
    gates_ = static_cast<float*>(arguments.scratch);
    h_ = gates_ + gate_floats();
    c_ = h_ + state_floats();
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
    write_state(h_, static_cast<float*>(arguments.outputs[1]));
    if (arguments.outputs.size() > 2) write_state(c_, static_cast<float*>(arguments.outputs[2]));
  }

 private:
  int64_t gate_floats() const { return sizes_.directions * chunk_ * sizes_.batch * row_; }
  int64_t state_floats() const { return sizes_.directions * sizes_.batch * sizes_.units; }
  float* gates(int d, int64_t in_chunk, int64_t b) const {
    return gates_ + ((d * chunk_ + in_chunk) * sizes_.batch + b) * row_;
  }
  int64_t step_of(int d, int64_t i) const { return op_.is_reverse(d) ? sizes_.steps - 1 - i : i; }

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

  // Directions, and groups of sequences, run side by side; a single one shares its products.
  void run_steps(int64_t begin, int64_t end) const {
    const int64_t tasks = sizes_.directions * sizes_.batch;
    const int64_t work = std::max<int64_t>(1, row_ * sizes_.units * (end - begin));
    const bool alone = tasks < thread_count() && row_ * sizes_.units >= 2 * kGrain;
    const int64_t grain = alone ? tasks : std::max<int64_t>(1, kGrain / work);
    parallel_for(tasks, grain, [&](int64_t from, int64_t to) {
      for (int64_t i = from; i < to;) {
        const auto d = static_cast<int>(i / sizes_.batch);
        const int64_t b = i % sizes_.batch;
        const int64_t rows = std::min(to - i, sizes_.batch - b);
        for (int64_t k = begin; k < end; ++k) step(d, k, gates(d, k - begin, b), b, rows, alone);
        i += rows;
      }
    });
  }

  void step(int d, int64_t i, float* gates, int64_t b, int64_t rows, bool alone) const {
    const Parameters& p = parameters_[static_cast<size_t>(d)];
    const int64_t units = sizes_.units, t = step_of(d, i);
    const int64_t at = (d * sizes_.batch + b) * units;
    float *h = h_ + at, *c = c_ + at, *work = work_ + at;
    const GateGroups groups = groups_of(op_);
    multiply(h, rows, p.r_first, gates, row_, groups.first * units, alone);
    if (groups.second > 0) gru_product(d, p, h, gates, work, rows, alone);
    for (int64_t r = 0; r < rows; ++r) {
      float* y = y_ + sizes_.y(t, d, b + r);
      if (t >= lengths_[static_cast<size_t>(b + r)]) {
        std::fill_n(y, units, 0.f);
        continue;
      }
      finish(d, p, gates + r * row_, h + r * units, c + r * units, work + r * units);
      std::copy_n(h + r * units, units, y);
    }
  }

  void multiply(const float* state, int64_t rows, const float* panels, float* to, int64_t to_step,
                int64_t columns, bool alone) const {
    const int64_t units = sizes_.units, count = whole_panels(columns) / kProductPanel;
    if (!alone) {
      simd_.add_product(state, units, rows, panels, units, to, to_step, columns);
      return;
    }
    const int64_t per_panel = std::max<int64_t>(1, rows * units * kProductPanel);
    parallel_for(count, std::max<int64_t>(8, kGrain / per_panel), [&](int64_t from, int64_t end) {
      const int64_t j = from * kProductPanel;
      simd_.add_product(state, units, rows, panels + j * units, units, to + j, to_step,
                        std::min(columns, end * kProductPanel) - j);
    });
  }

  void activate(int d, int which, float* values, int64_t n, bool clips = true) const {
    const auto k = static_cast<size_t>(d * op_.activations_per_direction() + which);
    if (clips && op_.clip > 0)
      simd_.activation[static_cast<int>(nvinfer1::ActivationType::kCLIP)](values, nullptr, values,
                                                                          n, -op_.clip, op_.clip);
    simd_.activation[op_.activations[k]](values, nullptr, values, n, op_.alpha[k], op_.beta[k]);
  }

  // Activates z and r, and adds the state's product with the reset gate in it to the third gate.
  void gru_product(int d, const Parameters& p, const float* h, float* gates, float* work,
                   int64_t rows, bool alone) const {
    const int64_t units = sizes_.units;
    for (int64_t r = 0; r < rows; ++r) {
      activate(d, 0, gates + r * row_, 2 * units);
      const float* reset = gates + r * row_ + units;
      for (int64_t u = 0; u < units; ++u)
        work[r * units + u] =
            op_.linear_before_reset ? p.state_bias[u] : reset[u] * h[r * units + u];
    }
    if (!op_.linear_before_reset) {
      multiply(work, rows, p.r_second, gates + 2 * units, row_, units, alone);
      return;
    }
    multiply(h, rows, p.r_second, work, units, units, alone);
    for (int64_t r = 0; r < rows; ++r) {
      float* row = gates + r * row_;
      for (int64_t u = 0; u < units; ++u)
        row[2 * units + u] += row[units + u] * work[r * units + u];
    }
  }

  // From the sums of the gates to the new state.
  void finish(int d, const Parameters& p, float* gates, float* h, float* c, float* work) const {
    const int64_t units = sizes_.units;
    if (op_.kind_of_cell == RecurrentKind::kPlain) {
      activate(d, 0, gates, units);
      std::copy_n(gates, units, h);
    } else if (op_.kind_of_cell == RecurrentKind::kGru) {
      const float *update = gates, *candidate = gates + 2 * units;
      activate(d, 1, gates + 2 * units, units);
      for (int64_t u = 0; u < units; ++u) h[u] = (1 - update[u]) * candidate[u] + update[u] * h[u];
    } else {
      finish_lstm(d, p, gates, h, c, work);
    }
  }

  void finish_lstm(int d, const Parameters& p, float* gates, float* h, float* c,
                   float* work) const {
    const int64_t units = sizes_.units;
    float *in = gates, *out = gates + units, *forget = gates + 2 * units, *cell = gates + 3 * units;
    const auto add_peephole = [&](int which, float* gate) {
      if (p.peepholes == nullptr) return;
      for (int64_t u = 0; u < units; ++u) gate[u] += p.peepholes[which * units + u] * c[u];
    };
    add_peephole(0, in);
    add_peephole(2, forget);
    if (p.peepholes == nullptr) {
      activate(d, 0, in, 3 * units);  // all three lie side by side
    } else {
      activate(d, 0, in, units);
      activate(d, 0, forget, units);
    }
    activate(d, 1, cell, units);
    if (op_.input_forget)
      for (int64_t u = 0; u < units; ++u) forget[u] = 1 - in[u];
    for (int64_t u = 0; u < units; ++u) c[u] = forget[u] * c[u] + in[u] * cell[u];
    if (p.peepholes != nullptr) {
      add_peephole(1, out);
      activate(d, 0, out, units);
    }
    std::copy_n(c, units, work);
    activate(d, 2, work, units, false);
    for (int64_t u = 0; u < units; ++u) h[u] = out[u] * work[u];
  }

  const Recurrent& op_;
  RecurrentSizes sizes_;
  const SimdKernels& simd_;
  int64_t row_;    // floats of all gates
  int64_t chunk_;  // steps whose gates are computed at once
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
  RecurrentKernel(const Recurrent& op, const KernelRequest& request) : op_(op) {
    packed = request.stored != nullptr ? request.stored->packed
                                       : std::vector<Tensor>{pack_recurrent(op, request)};
    const Packing packing(op, request.inputs[Recurrent::kW].shape.back());
    require(packed.size() == 1 && packed[0].type() == DataType::kFLOAT
                && packed[0].count() == op.directions() * packing.total,
            "the packed weights of a recurrent layer do not fit it");
    has_peepholes_ = is_present(request, Recurrent::kPeepholes);
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
  static bool is_present(const KernelRequest& request, size_t i) {
    return i < request.inputs.size() && request.inputs[i].present;
  }

 private:
  Recurrent op_;
  bool has_peepholes_ = false;
};

}  // namespace

Offer offer_recurrent(const KernelRequest& request) {
  const auto& op = static_cast<const Recurrent&>(request.op);
  if (request.inputs.size() < 3) return "inputs are missing";
  for (size_t i = 0; i < request.inputs.size(); ++i) {
    const TensorSpec& in = request.inputs[i];
    if (!in.present || i == Recurrent::kLengths) continue;
    if (in.type != DataType::kFLOAT) return "only float32 is supported";
    const bool is_state = i == Recurrent::kX || i == Recurrent::kFirstH || i == Recurrent::kFirstC;
    if (!is_state && request.stored == nullptr && request.constants[i] == nullptr)
      return "only constant weights are supported";
  }
  for (int32_t a : op.activations)
    if (a == kAffine || simd_kernels().activation[a] == nullptr)
      return "there is no fast form of an activation";
  return std::make_unique<RecurrentKernel>(op, request);
}

}  // namespace tenon::cpu
