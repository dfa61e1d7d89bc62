#include "ops/recurrent.h"

#include <cmath>
#include <cstring>

#include "ops/support/infer.h"
#include "ops/support/operations.h"
#include "ops/support/pointwise_program.h"
#include "ops/support/reference.h"

namespace tenon {

TENON_REGISTER_OP(Recurrent);

void Recurrent::visit(FieldVisitor& v) {
  v("kind", kind_of_cell);
  v("direction", direction);
  v("hidden_size", hidden_size);
  v("activations", activations);
  v("alpha", alpha);
  v("beta", beta);
  v("clip", clip);
  v("linear_before_reset", linear_before_reset);
  v("input_forget", input_forget);
  v("batch_first", batch_first);
}

int Recurrent::gates() const {
  return kind_of_cell == RecurrentKind::kLstm ? 4 : kind_of_cell == RecurrentKind::kGru ? 3 : 1;
}

int Recurrent::activations_per_direction() const {
  return kind_of_cell == RecurrentKind::kLstm ? 3 : kind_of_cell == RecurrentKind::kGru ? 2 : 1;
}

namespace {

constexpr int64_t kMaxUnits = int64_t{1} << 24;

void check_attributes(const Recurrent& op) {
  require(op.kind_of_cell >= RecurrentKind::kPlain && op.kind_of_cell <= RecurrentKind::kGru,
          "expected a kind of cell of 0 to 2, found {}", static_cast<int32_t>(op.kind_of_cell));
  require(op.direction >= RecurrentDirection::kForward
              && op.direction <= RecurrentDirection::kBidirectional,
          "expected a direction of 0 to 2, found {}", static_cast<int32_t>(op.direction));
  require(op.hidden_size > 0 && op.hidden_size <= kMaxUnits,
          "the hidden size is {}; expected 1 to {}", op.hidden_size, kMaxUnits);
  const auto count = static_cast<size_t>(op.activations_per_direction() * op.directions());
  require(op.activations.size() == count && op.alpha.size() == count && op.beta.size() == count,
          "expected {} activations with as many alphas and betas, found {}, {} and {}", count,
          op.activations.size(), op.alpha.size(), op.beta.size());
  for (int32_t a : op.activations)
    require(
        a == kAffine || (a >= 0 && a <= static_cast<int32_t>(nvinfer1::ActivationType::kGELU_TANH)),
        "expected an ActivationType (0 to 13) or {}, found {}", kAffine, a);
  require(op.clip >= 0, "the clip is {}; expected 0 (none) or more", op.clip);
}

// Throws where an extent that is known differs from what it must be.
void expect_dims(const Inference& c, int i, const char* what, const Dims& expected) {
  const Dims& found = c.dims(i);
  bool fits = found.size() == expected.size();
  for (size_t k = 0; fits && k < found.size(); ++k)
    fits = !found[k]->is_constant() || !expected[k]->is_constant() || found[k] == expected[k];
  require(fits, "expected {} (input {}) of shape {}, found {}", what, i, text_of(expected),
          text_of(found));
}

}  // namespace

void Recurrent::infer(Inference& c) const {
  require_inputs(c, 3, kInputCount);
  require_float(c, 0, "X");
  check_attributes(*this);
  require(c.rank(kX) == 3, "expected X of 3 dimensions, found {}", text_of(c.dims(kX)));
  const auto fixed = [&](int64_t v) { return c.pool().constant(v); };
  const size_t batch_axis = batch_first ? 0 : 1;
  const Dim steps = c.dims(kX)[1 - batch_axis], batch = c.dims(kX)[batch_axis];
  const Dim features = c.dims(kX)[2], units = fixed(hidden_size), many = fixed(directions());
  const Dim gate_units = fixed(gates() * hidden_size);
  const Dims state = batch_first ? Dims{batch, many, units} : Dims{many, batch, units};
  expect_dims(c, kW, "W", {many, gate_units, features});
  expect_dims(c, kR, "R", {many, gate_units, units});
  if (c.has_input(kB)) expect_dims(c, kB, "B", {many, fixed(2 * gates() * hidden_size)});
  if (c.has_input(kLengths)) {
    require_index(c, kLengths, "the lengths of the sequences");
    expect_dims(c, kLengths, "the lengths of the sequences", {batch});
  }
  if (c.has_input(kFirstH)) expect_dims(c, kFirstH, "the first H", state);
  const bool lstm = kind_of_cell == RecurrentKind::kLstm;
  require(lstm || (!c.has_input(kFirstC) && !c.has_input(kPeepholes)),
          "only an LSTM has a cell state and peepholes");
  if (c.has_input(kFirstC)) expect_dims(c, kFirstC, "the first C", state);
  if (c.has_input(kPeepholes)) expect_dims(c, kPeepholes, "P", {many, fixed(3 * hidden_size)});
  for (int i : {+kW, +kR, +kB, +kFirstH, +kFirstC, +kPeepholes})
    if (c.has_input(i)) require_type_of_data(c, i, "a parameter");
  c.set_output(0, c.type(0),
               batch_first ? Dims{batch, steps, many, units} : Dims{steps, many, batch, units});
  for (int i = 1; i < output_count(); ++i) c.set_output(i, c.type(0), state);
}

RecurrentSizes::RecurrentSizes(const Recurrent& op, const Shape& x, const Shape& w, const Shape& r)
    : units(op.hidden_size),
      gates(op.gates()),
      directions(op.directions()),
      batch_first(op.batch_first) {
  require(x.rank() == 3, "expected X of 3 dimensions, found {}", x);
  steps = x[batch_first ? 1 : 0];
  batch = x[batch_first ? 0 : 1];
  inputs = x[2];
  const Shape wanted_w{directions, gates * units, inputs},
      wanted_r{directions, gates * units, units};
  require(w == wanted_w && r == wanted_r, "expected W {} and R {}, found {} and {}", wanted_w,
          wanted_r, w, r);
}

std::vector<int64_t> sequence_lengths(const TensorView* lengths, const RecurrentSizes& sizes) {
  std::vector<int64_t> list(static_cast<size_t>(sizes.batch), sizes.steps);
  if (lengths == nullptr || lengths->data == nullptr) return list;
  const auto given = read_integers(*lengths);
  require(given.size() == list.size(), "{} lengths were given for {} sequences", given.size(),
          list.size());
  for (int64_t length : given)
    require(length >= 0 && length <= sizes.steps,
            "the length of a sequence is {}; expected 0 to {}", length, sizes.steps);
  return given;
}

namespace {

using Vector = std::vector<float>;

// One direction over one sequence, a unit at a time, as the formulas of the standard read.
class Cell {
 public:
  Cell(const Recurrent& op, const RecurrentSizes& sizes, int d, std::span<const Floats> in)
      : op_(op),
        units_(sizes.units),
        inputs_(sizes.inputs),
        direction_(d),
        rows_(sizes.gates * units_) {
    w_ = in[Recurrent::kW].data() + d * rows_ * inputs_;
    r_ = in[Recurrent::kR].data() + d * rows_ * units_;
    if (in[Recurrent::kB].data() != nullptr) b_ = in[Recurrent::kB].data() + d * 2 * rows_;
    if (in[Recurrent::kPeepholes].data() != nullptr)
      p_ = in[Recurrent::kPeepholes].data() + d * 3 * units_;
    h.resize(static_cast<size_t>(units_));
    c.resize(static_cast<size_t>(units_));
  }

  void step(const float* x) {
    const Vector before = h;
    if (op_.kind_of_cell == RecurrentKind::kPlain)
      for (int64_t u = 0; u < units_; ++u) at(h, u) = activate(0, gate(0, u, x, before));
    else if (op_.kind_of_cell == RecurrentKind::kLstm)
      lstm(x, before);
    else
      gru(x, before);
  }

  Vector h, c;

 private:
  static float& at(Vector& v, int64_t i) { return v[static_cast<size_t>(i)]; }

  static double dot(const float* a, const float* b, int64_t n) {
    double sum = 0;
    for (int64_t i = 0; i < n; ++i) sum += static_cast<double>(a[i]) * b[i];
    return sum;
  }
  double from_input(int64_t row, const float* x) const {
    return dot(w_ + row * inputs_, x, inputs_) + (b_ != nullptr ? b_[row] : 0);
  }
  double from_state(int64_t row, const Vector& state) const {
    return dot(r_ + row * units_, state.data(), units_) + (b_ != nullptr ? b_[rows_ + row] : 0);
  }
  double gate(int64_t g, int64_t u, const float* x, const Vector& state) const {
    return from_input(g * units_ + u, x) + from_state(g * units_ + u, state);
  }
  double peephole(int64_t g, int64_t u, float cell) const {
    return p_ != nullptr ? static_cast<double>(p_[g * units_ + u]) * cell : 0;
  }

  // Function `which` of f, g, h, after clipping.
  float activate(int which, double value) const {
    const auto x = static_cast<float>(value);
    return unclipped(which, op_.clip > 0 ? std::min(std::max(x, -op_.clip), op_.clip) : x);
  }
  float unclipped(int which, float x) const {
    const auto i = static_cast<size_t>(direction_ * op_.activations_per_direction() + which);
    if (op_.activations[i] == kAffine) return op_.alpha[i] * x + op_.beta[i];
    return evaluate(
        {PointwiseStep::Family::kActivation, op_.activations[i], 0, -1, op_.alpha[i], op_.beta[i]},
        x, 0);
  }

  void lstm(const float* x, const Vector& before) {
    for (int64_t u = 0; u < units_; ++u) {
      float& cell = at(c, u);
      const float in = activate(0, gate(0, u, x, before) + peephole(0, u, cell));
      const float forget =
          op_.input_forget ? 1 - in : activate(0, gate(2, u, x, before) + peephole(2, u, cell));
      cell = forget * cell + in * activate(1, gate(3, u, x, before));
      const float out = activate(0, gate(1, u, x, before) + peephole(1, u, cell));
      at(h, u) = out * unclipped(2, cell);
    }
  }

  void gru(const float* x, const Vector& before) {
    Vector reset(before.size()), scaled(before.size());
    for (int64_t u = 0; u < units_; ++u) {
      at(reset, u) = activate(0, gate(1, u, x, before));
      at(scaled, u) = at(reset, u) * before[static_cast<size_t>(u)];
    }
    for (int64_t u = 0; u < units_; ++u) {
      const int64_t row = 2 * units_ + u;
      const double product = op_.linear_before_reset ? at(reset, u) * from_state(row, before)
                                                     : from_state(row, scaled);
      const float candidate = activate(1, from_input(row, x) + product);
      const float update = activate(0, gate(0, u, x, before));
      at(h, u) = (1 - update) * candidate + update * before[static_cast<size_t>(u)];
    }
  }

  const Recurrent& op_;
  int64_t units_, inputs_;
  int direction_;
  int64_t rows_;
  const float *w_, *r_, *b_ = nullptr, *p_ = nullptr;
};

template <class T> void write(const Vector& values, const TensorView& out, int64_t at) {
  for (size_t i = 0; i < values.size(); ++i)
    out.as<T>()[at + static_cast<int64_t>(i)] = store<T>(values[i]);
}

template <class T>
void run_sequence(const Recurrent& op, const RecurrentSizes& sizes, std::span<const Floats> in,
                  std::span<const TensorView> out, int d, int64_t b, int64_t length) {
  Cell cell(op, sizes, d, in);
  const int64_t first = sizes.state(d, b);
  const auto read = [&](int i, Vector& state) {
    const float* from = in[static_cast<size_t>(i)].data();
    if (from != nullptr) std::copy_n(from + first, state.size(), state.begin());
  };
  read(Recurrent::kFirstH, cell.h);
  read(Recurrent::kFirstC, cell.c);
  for (int64_t i = 0; i < length; ++i) {
    const int64_t step = op.is_reverse(d) ? length - 1 - i : i;
    cell.step(in[Recurrent::kX].data() + sizes.x(step, b));
    write<T>(cell.h, out[0], sizes.y(step, d, b));
  }
  const Vector zeros(cell.h.size());
  write<T>(length > 0 ? cell.h : zeros, out[1], first);
  if (out.size() > 2) write<T>(length > 0 ? cell.c : zeros, out[2], first);
  for (int64_t step = length; step < sizes.steps; ++step)
    write<T>(zeros, out[0], sizes.y(step, d, b));
}

}  // namespace

void Recurrent::reference(const ReferenceCall& call) const {
  const RecurrentSizes sizes(*this, call.inputs[kX].shape, call.inputs[kW].shape,
                             call.inputs[kR].shape);
  std::vector<Floats> in;
  for (size_t i = 0; i < kInputCount; ++i)
    in.emplace_back(i < call.inputs.size() && i != kLengths ? call.inputs[i] : TensorView());
  const auto lengths =
      sequence_lengths(call.inputs.size() > kLengths ? &call.inputs[kLengths] : nullptr, sizes);
  with_float(call.outputs[0].type, [&](auto zero) {
    parallel_for(sizes.directions * sizes.batch, 1, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const int64_t b = i % sizes.batch;
        run_sequence<decltype(zero)>(*this, sizes, in, call.outputs,
                                     static_cast<int>(i / sizes.batch), b,
                                     lengths[static_cast<size_t>(b)]);
      }
    });
  });
}

double Recurrent::operations(std::span<const Shape> inputs, std::span<const Shape>) const {
  const RecurrentSizes sizes(*this, inputs[kX], inputs[kW], inputs[kR]);
  return kMultiplyAdd * static_cast<double>(sizes.steps * sizes.batch * sizes.directions)
         * static_cast<double>(sizes.gates * sizes.units)
         * static_cast<double>(sizes.inputs + sizes.units);
}

}  // namespace tenon
