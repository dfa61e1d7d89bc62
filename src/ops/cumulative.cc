#include "ops/cumulative.h"

#include "ops/support/infer.h"
#include "ops/support/reference.h"

namespace tenon {

TENON_REGISTER_OP(Cumulative);

void Cumulative::visit(FieldVisitor& v) {
  v("operation", operation);
  v("exclusive", exclusive);
  v("reverse", reverse);
}

namespace {

// Rows side by side run together, as they lie in memory.
template <class T>
void run(const Cumulative& op, const TensorView& in, int axis, const TensorView& out) {
  using Sum = std::conditional_t<std::is_same_v<T, double>, double,
                                 std::conditional_t<is_real<T>, float, uint64_t>>;
  constexpr int64_t kBlock = 256;
  const int64_t length = in.shape[axis], inner = in.shape.volume(axis + 1, in.shape.rank());
  const int64_t blocks = (inner + kBlock - 1) / kBlock;
  const int64_t work = std::max<int64_t>(1, length * std::min(inner, kBlock));
  const bool product = op.operation == CumulativeKind::kProduct;
  parallel_for(in.shape.volume(0, axis) * blocks, std::max<int64_t>(1, 16384 / work),
               [&](int64_t begin, int64_t end) {
                 Sum sums[kBlock];
                 for (int64_t task = begin; task < end; ++task) {
                   const int64_t first = task % blocks * kBlock;
                   const int64_t width = std::min(kBlock, inner - first);
                   const int64_t base = task / blocks * length * inner + first;
                   std::fill_n(sums, width, static_cast<Sum>(product ? 1 : 0));
                   for (int64_t i = 0; i < length; ++i) {
                     const int64_t at = base + (op.reverse ? length - 1 - i : i) * inner;
                     for (int64_t k = 0; k < width; ++k) {
                       const auto x = static_cast<Sum>(load(in.as<T>()[at + k]));
                       const Sum before = sums[k];
                       sums[k] = product ? before * x : before + x;
                       out.as<T>()[at + k] = store<T>(op.exclusive ? before : sums[k]);
                     }
                   }
                 }
               });
}

}  // namespace

void Cumulative::infer(Inference& c) const {
  require_inputs(c, 2, 2);
  require(operation == CumulativeKind::kSum || operation == CumulativeKind::kProduct,
          "expected sum or product (0 or 1), found {}", static_cast<int32_t>(operation));
  require(c.type(0) != DataType::kBOOL && bits_of(c.type(0)) >= 8,
          "expected numbers of 8 bits or more, found {}", name_of(c.type(0)));
  require_index(c, 1, "the axis");
  require_count(c, 1, "the axis", 1);
  if (const auto axis = constant_integers(c, 1)) normalized_axis(axis->integers().at(0), c.rank(0));
  c.set_output(0, c.type(0), c.dims(0));
}

namespace {

int axis_of(const ReferenceCall& call) {
  require_output(call.outputs[0], call.inputs[0].shape);
  const auto given = read_integers(call.inputs[1]);
  require(given.size() == 1, "expected one axis (input 1), found {}", given.size());
  return normalized_axis(given[0], call.inputs[0].shape.rank());
}

}  // namespace

void Cumulative::reference(const ReferenceCall& call) const {
  const TensorView &in = call.inputs[0], &out = call.outputs[0];
  const int axis = axis_of(call);
  if (in.shape.volume() == 0) return;
  with_type(in.type, [&](auto zero) { run<decltype(zero)>(*this, in, axis, out); });
}

void Cumulative::run_float64(const ReferenceCall& call) const {
  const int axis = axis_of(call);
  if (call.inputs[0].shape.volume() != 0) run<double>(*this, call.inputs[0], axis, call.outputs[0]);
}

}  // namespace tenon
