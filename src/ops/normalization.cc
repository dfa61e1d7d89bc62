#include "ops/normalization.h"

#include <array>
#include <cmath>

#include "ops/support/infer.h"
#include "ops/support/operations.h"
#include "ops/support/reference.h"

namespace tenon {

TENON_REGISTER_OP(Normalization);

void Normalization::visit(FieldVisitor& v) {
  v("axes", axes);
  v("groups", groups);
  v("epsilon", epsilon);
  v("compute_precision", compute_precision);
  v("is_v2", is_v2);
  v("subtracts_mean", subtracts_mean);
  v("gives_statistics", gives_statistics);
  v("adds", adds);
  copy.visit(v, "copy");
}

namespace {

// Offsets in input, scale and bias.
using Offsets = std::array<int64_t, 3>;

// Neighbouring axes that all three tensors walk through evenly, as one.
struct MergedAxis {
  int64_t extent;
  bool reduced;
  Offsets step;
};

class Walk {
 public:
  Walk(const Shape& shape, uint32_t axes, const Shape& scale, const Shape& bias) {
    const Shape steps[] = {shape.strides(), broadcast_strides(scale, shape),
                           broadcast_strides(bias, shape)};
    std::vector<MergedAxis> merged;
    for (int axis = 0; axis < shape.rank(); ++axis) {
      if (shape[axis] == 1) continue;
      const Offsets step{steps[0][axis], steps[1][axis], steps[2][axis]};
      add(merged, {shape[axis], (axes >> axis & 1) != 0, step});
    }
    if (merged.empty()) merged.push_back({1, true, {0, 0, 0}});
    run_ = merged.back();
    merged.pop_back();
    for (const MergedAxis& a : merged) (a.reduced ? reduced_ : kept_).push_back(a);
  }

  const MergedAxis& run() const { return run_; }
  int64_t kept() const { return volume(kept_); }
  int64_t reduced() const { return volume(reduced_); }
  Offsets kept(int64_t i) const { return offsets(kept_, i); }
  Offsets reduced(int64_t i) const { return offsets(reduced_, i); }

 private:
  static void add(std::vector<MergedAxis>& merged, const MergedAxis& a) {
    if (!merged.empty() && merged.back().reduced == a.reduced) {
      MergedAxis& before = merged.back();
      bool even = true;
      for (size_t k = 0; k < 3; ++k) even &= before.step[k] == a.step[k] * a.extent;
      if (even) {
        before.extent *= a.extent;
        before.step = a.step;
        return;
      }
    }
    merged.push_back(a);
  }

  static int64_t volume(const std::vector<MergedAxis>& axes) {
    int64_t v = 1;
    for (const MergedAxis& a : axes) v *= a.extent;
    return v;
  }

  static Offsets offsets(const std::vector<MergedAxis>& axes, int64_t i) {
    Offsets sum{0, 0, 0};
    for (size_t axis = axes.size(); axis-- > 0; i /= axes[axis].extent)
      for (size_t k = 0; k < 3; ++k) sum[k] += i % axes[axis].extent * axes[axis].step[k];
    return sum;
  }

  MergedAxis run_{};
  std::vector<MergedAxis> kept_, reduced_;
};

// The sum of f(x[i]): in lanes that compilers make vectors of, and in double now and then, so that
// long rows lose nothing.
template <class F> double sum_of(const float* x, int64_t count, const F& f) {
  constexpr int64_t kLanes = 16, kBlock = 1024;
  double total = 0;
  for (int64_t begin = 0; begin < count; begin += kBlock) {
    const int64_t end = std::min(count, begin + kBlock);
    float lanes[kLanes] = {};
    int64_t i = begin;
    for (; i + kLanes <= end; i += kLanes)
      for (int64_t k = 0; k < kLanes; ++k) lanes[k] += f(x[i + k]);
    for (; i < end; ++i) total += double{f(x[i])};
    for (float lane : lanes) total += double{lane};
  }
  return total;
}

struct Call {
  const Walk& walk;
  const NormalizationRule& rule;
  const float *x, *scale, *bias;
  const NormalizationResult& result;

  float inverse(double variance) const {
    return static_cast<float>(1 / std::sqrt(variance + double{rule.epsilon}));
  }
  void keep(int64_t i, float mean, float inverse_deviation) const {
    if (result.mean != nullptr) result.mean[i] = mean;
    if (result.inverse_deviation != nullptr) result.inverse_deviation[i] = inverse_deviation;
  }
};

// The elements that share a mean end in runs of neighbours.
void normalize_row(const Call& c, int64_t row) {
  const Walk& w = c.walk;
  const Offsets base = w.kept(row);
  const int64_t runs = w.reduced(), length = w.run().extent;
  const double count = static_cast<double>(runs) * static_cast<double>(length);
  const auto total = [&](const auto& f) {
    double sum = 0;
    for (int64_t r = 0; r < runs; ++r) sum += sum_of(c.x + base[0] + w.reduced(r)[0], length, f);
    return sum;
  };
  const float mean =
      c.rule.subtracts_mean ? static_cast<float>(total([](float v) { return v; }) / count) : 0;
  const float inverse =
      c.inverse(total([mean](float v) { return (v - mean) * (v - mean); }) / count);
  c.keep(row, mean, inverse);
  const int64_t scale_step = w.run().step[1], bias_step = w.run().step[2];
  for (int64_t r = 0; r < runs; ++r) {
    const Offsets at = w.reduced(r);
    const float* x = c.x + base[0] + at[0];
    float* y = c.result.y + base[0] + at[0];
    const float *scale = c.scale + base[1] + at[1], *bias = c.bias + base[2] + at[2];
    if (scale_step == 0 && bias_step == 0) {
      const float factor = inverse * *scale, term = *bias;
      for (int64_t i = 0; i < length; ++i) y[i] = (x[i] - mean) * factor + term;
    } else if (scale_step == 1 && bias_step == 1) {
      for (int64_t i = 0; i < length; ++i) y[i] = (x[i] - mean) * inverse * scale[i] + bias[i];
    } else {
      for (int64_t i = 0; i < length; ++i)
        y[i] = (x[i] - mean) * inverse * scale[i * scale_step] + bias[i * bias_step];
    }
  }
}

// Neighbours have means of their own: many are computed side by side.
void normalize_columns(const Call& c, int64_t row, int64_t first, int64_t end) {
  const Walk& w = c.walk;
  const Offsets base = w.kept(row);
  const int64_t runs = w.reduced(), count = end - first;
  const auto length = static_cast<size_t>(count);
  std::vector<float> mean(length), inverse(length);
  std::vector<double> sum(length);
  const float* x = c.x + base[0] + first;
  if (c.rule.subtracts_mean) {
    for (int64_t r = 0; r < runs; ++r) {
      const float* from = x + w.reduced(r)[0];
      for (size_t i = 0; i < length; ++i) sum[i] += double{from[i]};
    }
    for (size_t i = 0; i < length; ++i)
      mean[i] = static_cast<float>(sum[i] / static_cast<double>(runs));
  }
  std::fill(sum.begin(), sum.end(), 0.0);
  for (int64_t r = 0; r < runs; ++r) {
    const float* from = x + w.reduced(r)[0];
    for (size_t i = 0; i < length; ++i)
      sum[i] += double{from[i] - mean[i]} * double{from[i] - mean[i]};
  }
  for (size_t i = 0; i < length; ++i) {
    inverse[i] = c.inverse(sum[i] / static_cast<double>(runs));
    c.keep(row * w.run().extent + first + static_cast<int64_t>(i), mean[i], inverse[i]);
  }
  const int64_t scale_step = w.run().step[1], bias_step = w.run().step[2];
  for (int64_t r = 0; r < runs; ++r) {
    const Offsets at = w.reduced(r);
    const float* from = x + at[0];
    float* y = c.result.y + base[0] + at[0] + first;
    const float* scale = c.scale + base[1] + at[1] + first * scale_step;
    const float* bias = c.bias + base[2] + at[2] + first * bias_step;
    for (int64_t i = 0; i < count; ++i) {
      const auto k = static_cast<size_t>(i);
      y[i] = (from[i] - mean[k]) * inverse[k] * scale[i * scale_step] + bias[i * bias_step];
    }
  }
}

// (N, C, …) as (N, groups, C / groups, …).
Shape grouped(const Shape& shape, int64_t groups) {
  const int64_t channels = shape[1];
  const int64_t per_group = channels == 1 ? 1 : std::max<int64_t>(1, channels / groups);
  Shape out{shape[0], channels / per_group, per_group};
  for (int axis = 2; axis < shape.rank(); ++axis) out.push_back(shape[axis]);
  return out;
}

void check_groups(const Shape& shape, const NormalizationRule& rule) {
  require(shape.rank() >= 2 && shape.rank() < Shape::kMaxRank,
          "expected data of 2 to {} dimensions (N, C, …) to split into groups, found {}",
          Shape::kMaxRank - 1, shape);
  require(rule.groups > 0 && shape[1] % rule.groups == 0,
          "{} channels cannot be split into {} groups", shape[1], rule.groups);
}

}  // namespace

void normalize(const NormalizationRule& rule, const float* x, const Shape& shape,
               const NormalizationParameter& scale, const NormalizationParameter& bias,
               const NormalizationResult& result) {
  if (rule.groups != 1) {
    check_groups(shape, rule);
    NormalizationRule plain = rule;
    plain.groups = 1;
    plain.axes = (rule.axes >> 2 << 3) | 4u;
    // The channels of one group are an axis of their own.
    const auto split = [&](const NormalizationParameter& p) {
      return p.data == nullptr ? p : NormalizationParameter{p.data, grouped(p.shape, rule.groups)};
    };
    Shape parts{shape[0], rule.groups, shape[1] / rule.groups};
    for (int axis = 2; axis < shape.rank(); ++axis) parts.push_back(shape[axis]);
    return normalize(plain, x, parts, split(scale), split(bias), result);
  }
  if (shape.volume() == 0) return;
  constexpr float kOne = 1, kZero = 0;
  const Shape single = Shape::filled(shape.rank(), 1);
  const Walk walk(shape, rule.axes, scale.data != nullptr ? scale.shape : single,
                  bias.data != nullptr ? bias.shape : single);
  const Call call{walk,
                  rule,
                  x,
                  scale.data != nullptr ? scale.data : &kOne,
                  bias.data != nullptr ? bias.data : &kZero,
                  result};
  constexpr int64_t kElementsPerTask = 16384, kColumns = 256;
  const int64_t rows = walk.kept(), length = walk.run().extent;
  if (walk.run().reduced) {
    const int64_t grain = std::max<int64_t>(1, kElementsPerTask / (walk.reduced() * length));
    parallel_for(rows, grain, [&](int64_t begin, int64_t end) {
      for (int64_t row = begin; row < end; ++row) normalize_row(call, row);
    });
    return;
  }
  const int64_t blocks = (length + kColumns - 1) / kColumns;
  const int64_t grain =
      std::max<int64_t>(1, kElementsPerTask / (walk.reduced() * std::min(length, kColumns)));
  parallel_for(rows * blocks, grain, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const int64_t first = i % blocks * kColumns;
      normalize_columns(call, i / blocks, first, std::min(length, first + kColumns));
    }
  });
}

namespace {

NormalizationRule rule_of(const Normalization& op) {
  return {op.axes, op.groups, op.epsilon, op.subtracts_mean};
}

void check_parameter(const Normalization& op, const Inference& c, int i, const char* what) {
  if (!c.has_input(i)) return;
  require_float(c, i, what);
  require(c.rank(i) == c.rank(0), "expected {} (input {}) of {} dimensions, found {}", what, i,
          c.rank(0), text_of(c.dims(i)));
  for (size_t axis = 0; axis < c.dims(i).size(); ++axis) {
    const Dim from = c.dims(i)[axis], to = c.dims(0)[axis];
    if (!from->is_constant() || from->value.integer == 1) continue;
    const bool per_group = op.groups != 1 && axis == 1 && from->value.integer == op.groups;
    require(!to->is_constant() || from == to || per_group,
            "{} (input {}) of shape {} does not broadcast to {}", what, i, text_of(c.dims(i)),
            text_of(c.dims(0)));
  }
}

}  // namespace

void Normalization::infer(Inference& c) const {
  require_inputs(c, 1, adds ? 4 : 3);
  require_float(c, 0, "the data");
  const Dims& dims = c.dims(0);
  require(!gives_statistics || (!adds && !copy.used),
          "statistics beside an addend or bytes are not supported");
  require(
      !adds || (c.has_input(kAddend) && c.type(kAddend) == c.type(0) && c.dims(kAddend) == dims),
      "expected an addend of the data's type and shape {}", text_of(dims));
  require(axes >> c.rank(0) == 0, "the axes {:#x} name one that data of shape {} does not have",
          axes, text_of(dims));
  require(groups == 1 || !gives_statistics, "statistics of groups are not supported yet");
  require(epsilon >= 0 && std::isfinite(epsilon), "expected an epsilon of at least 0, found {}",
          epsilon);
  if (groups != 1) {
    require(groups > 0 && dims.size() >= 2, "data of shape {} cannot be split into {} groups",
            text_of(dims), groups);
    require((axes & 1) == 0, "groups are not normalised over axis 0");
    require(!dims[1]->is_constant() || dims[1]->value.integer % groups == 0,
            "{} channels cannot be split into {} groups", text_of(dims[1]), groups);
  }
  check_parameter(*this, c, 1, "the scale");
  check_parameter(*this, c, 2, "the bias");
  c.set_output(0, c.type(0), dims);
  if (copy.used) {
    copy.check();
    c.set_output(1, copy.to, dims);
  }
  if (!gives_statistics) return;
  Dims statistics = dims;
  for (size_t i = 0; i < dims.size(); ++i)
    if ((axes >> i & 1) != 0) statistics[i] = c.pool().constant(1);
  c.set_output(1, DataType::kFLOAT, statistics);
  c.set_output(2, DataType::kFLOAT, statistics);
}

void Normalization::reference(const ReferenceCall& call) const {
  const TensorView &in = call.inputs[0], &out = call.outputs[0];
  require_output(out, in.shape);
  const auto view = [&](size_t i) {
    return i < call.inputs.size() ? call.inputs[i] : TensorView{};
  };
  const Floats data(in), scale(view(1)), bias(view(2)), addend(adds ? view(kAddend) : TensorView{});
  const float* x = data.data();
  std::vector<float> sums;
  if (adds) {
    sums.assign(x, x + in.shape.volume());
    for (size_t i = 0; i < sums.size(); ++i) sums[i] += addend.data()[i];
    x = sums.data();
  }
  NormalizationResult result;
  std::vector<float> rounded;  // what is stored in 16 bits is computed in 32
  if (out.type == DataType::kFLOAT) {
    result.y = out.as<float>();
  } else {
    rounded.resize(static_cast<size_t>(in.shape.volume()));
    result.y = rounded.data();
  }
  if (gives_statistics) {
    result.mean = call.outputs[1].as<float>();
    result.inverse_deviation = call.outputs[2].as<float>();
  }
  normalize(rule_of(*this), x, in.shape, {scale.data(), view(1).shape},
            {bias.data(), view(2).shape}, result);
  with_float(out.type, [&](auto zero) {
    using T = decltype(zero);
    for (size_t i = 0; i < rounded.size(); ++i) out.as<T>()[i] = store<T>(rounded[i]);
  });
  if (copy.used) copy.quantize(out, call.outputs[1]);
}

double Normalization::operations(std::span<const Shape>, std::span<const Shape> outputs) const {
  constexpr double kEach = 7;  // mean, difference, square and its sum, quotient, scale, bias
  return kEach * count_of(outputs[0]);
}

}  // namespace tenon
