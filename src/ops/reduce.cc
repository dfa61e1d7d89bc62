#include "ops/reduce.h"

#include <limits>

#include "ops/support/implicit_batch.h"
#include "ops/support/infer.h"
#include "ops/support/operations.h"
#include "ops/support/reference.h"

namespace tenon {

using nvinfer1::ReduceOperation;

TENON_REGISTER_OP(Reduce);

void Reduce::visit(FieldVisitor& v) {
  v("operation", operation);
  v("axes", axes);
  v("keep_dimensions", keep_dimensions);
}

namespace {

bool is_reduced(uint32_t axes, int axis) {
  return (axes >> axis & 1u) != 0;
}

// Where element i of a tensor goes: the element of the result, all reduced extents being 1.
int64_t target_of(int64_t i, const Shape& shape, const Shape& target_steps) {
  int64_t to = 0;
  for (int k = shape.rank() - 1; k >= 0; i /= shape[k], --k) to += i % shape[k] * target_steps[k];
  return to;
}

// Steps through the result for steps through the input: 0 along reduced axes.
Shape target_steps(const Shape& shape, uint32_t axes) {
  Shape kept = shape;
  for (int k = 0; k < kept.rank(); ++k)
    if (is_reduced(axes, k)) kept[k] = 1;
  Shape steps = kept.strides();
  for (int k = 0; k < kept.rank(); ++k)
    if (is_reduced(axes, k)) steps[k] = 0;
  return steps;
}

Dim combine(ExprPool& pool, ReduceOperation operation, Dim a, Dim b) {
  switch (operation) {
    case ReduceOperation::kSUM:
      return pool.add(a, b);
    case ReduceOperation::kPROD:
      return pool.mul(a, b);
    case ReduceOperation::kMAX:
      return pool.max(a, b);
    case ReduceOperation::kMIN:
      return pool.min(a, b);
    default:
      fail(ErrorCode::kUNSUPPORTED_STATE, "not for shapes");
  }
}

// Sums and products of integers wrap.
template <class T> T combine(ReduceOperation operation, T a, T b) {
  using Wrapping = std::conditional_t<std::is_integral_v<T>, uint64_t, T>;
  const auto x = static_cast<Wrapping>(a), y = static_cast<Wrapping>(b);
  switch (operation) {
    case ReduceOperation::kPROD:
      return static_cast<T>(x * y);
    case ReduceOperation::kMAX:
      return b > a || b != b ? b : a;
    case ReduceOperation::kMIN:
      return b < a || b != b ? b : a;
    default:
      return static_cast<T>(x + y);
  }
}

template <class T, class Wide> Wide neutral(ReduceOperation operation) {
  using Limits = std::numeric_limits<std::conditional_t<is_real<T>, double, T>>;
  const auto highest = Limits::has_infinity ? Limits::infinity() : Limits::max();
  const auto lowest = Limits::has_infinity ? -Limits::infinity() : Limits::lowest();
  switch (operation) {
    case ReduceOperation::kPROD:
      return 1;
    case ReduceOperation::kMAX:
      return static_cast<Wide>(lowest);
    case ReduceOperation::kMIN:
      return static_cast<Wide>(highest);
    default:
      return 0;
  }
}

// Each result is computed by one thread, over its elements in order.
template <class T>
void reduce(const Reduce& op, const TensorView& in, const TensorView& out, std::byte* scratch) {
  using Wide = std::conditional_t<is_real<T> || std::is_same_v<T, double>, double, int64_t>;
  const Shape from = in.shape.strides();
  Shape kept, kept_steps, inner, inner_steps;
  for (int k = 0; k < in.shape.rank(); ++k) {
    (is_reduced(op.axes, k) ? inner : kept).push_back(in.shape[k]);
    (is_reduced(op.axes, k) ? inner_steps : kept_steps).push_back(from[k]);
  }
  require(out.shape.volume() == kept.volume(), "expected {} results, found {}", kept.volume(),
          out.shape);
  if (kept.volume() == 0) return;
  const int64_t count = inner.volume();
  const std::span offsets(reinterpret_cast<int64_t*>(scratch), static_cast<size_t>(count));
  for (int64_t i = 0; i < count; ++i)
    offsets[static_cast<size_t>(i)] = target_of(i, inner, inner_steps);
  parallel_for(kept.volume(), std::max<int64_t>(1, 8192 / std::max<int64_t>(1, count)),
               [&](int64_t begin, int64_t end) {
                 for (int64_t i = begin; i < end; ++i) {
                   const T* base = in.as<T>() + target_of(i, kept, kept_steps);
                   Wide total = neutral<T, Wide>(op.operation);
                   for (int64_t offset : offsets)
                     total =
                         combine<Wide>(op.operation, total, static_cast<Wide>(load(base[offset])));
                   if (op.operation == ReduceOperation::kAVG) {
                     if constexpr (std::is_floating_point_v<Wide>)
                       total /= static_cast<double>(count);
                     else
                       total = count == 0 ? 0 : total / count;
                   }
                   out.as<T>()[i] = store<T>(total);
                 }
               });
}

}  // namespace

void Reduce::infer(Inference& c) const {
  require_inputs(c, 1, 1);
  require(c.type(0) != DataType::kBOOL, "expected a numeric input, found bool");
  set_output_and_content(c, c.type(0), reduced(c), {0}, [&](const Shape& out) {
    const Shape shape = *c.constant_shape(0), steps = target_steps(shape, axes);
    Content content(static_cast<size_t>(out.volume()), nullptr);
    for (int64_t i = 0; i < shape.volume(); ++i) {
      Dim& to = content[static_cast<size_t>(target_of(i, shape, steps))];
      const Dim x = (*c.content(0))[static_cast<size_t>(i)];
      to = to == nullptr ? x : combine(c.pool(), operation, to, x);
    }
    const bool empty = std::find(content.begin(), content.end(), nullptr) != content.end();
    if (empty) fail(ErrorCode::kUNSUPPORTED_STATE, "a reduction of nothing");
    if (operation == ReduceOperation::kAVG) fail(ErrorCode::kUNSUPPORTED_STATE, "not for shapes");
    return content;
  });
}

Dims Reduce::reduced(Inference& c) const {
  require(operation >= ReduceOperation::kSUM && operation <= ReduceOperation::kAVG,
          "expected sum, prod, max, min or avg (0 to 4), found {}",
          static_cast<int32_t>(operation));
  require(axes >> c.rank(0) == 0,
          "expected axes within the rank of the input, {}, found mask {:#x}", c.rank(0), axes);
  Dims dims;
  for (int k = 0; k < c.rank(0); ++k) {
    if (!is_reduced(axes, k))
      dims.push_back(c.dims(0)[static_cast<size_t>(k)]);
    else if (keep_dimensions)
      dims.push_back(c.pool().constant(1));
  }
  return dims;
}

size_t Reduce::scratch_bytes(const ReferenceCall& call) const {
  const Shape& shape = call.inputs[0].shape;
  size_t count = 1;
  for (int k = 0; k < shape.rank(); ++k)
    if (is_reduced(axes, k)) count *= static_cast<size_t>(shape[k]);
  return call.outputs[0].shape.volume() == 0 ? 0 : count * sizeof(int64_t);
}

void Reduce::run(const ReferenceCall& call, std::byte* scratch) const {
  with_type(call.inputs[0].type, [&](auto zero) {
    reduce<decltype(zero)>(*this, call.inputs[0], call.outputs[0], scratch);
  });
}

void Reduce::run_float64(const ReferenceCall& call, std::byte* scratch) const {
  reduce<double>(*this, call.inputs[0], call.outputs[0], scratch);
}

Magnitude Reduce::magnitude(const Node&, DataType type) const {
  const bool adds_up = operation == ReduceOperation::kSUM || operation == ReduceOperation::kPROD;
  return type == DataType::kHALF && adds_up ? Magnitude::kLarge : Magnitude::kOfInputs;
}

void Reduce::insert_batch_axis(int32_t) {
  axes = behind_batch(axes);
}

double Reduce::operations(std::span<const Shape> inputs, std::span<const Shape>) const {
  return count_of(inputs[0]);
}

}  // namespace tenon
