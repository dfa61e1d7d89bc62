#include "ops/matrix_multiply.h"

#include "network/network.h"
#include "ops/support/epilogue.h"
#include "ops/support/infer.h"
#include "ops/support/operations.h"
#include "ops/support/reference.h"

namespace tenon {

using nvinfer1::MatrixOperation;

TENON_REGISTER_OP(MatrixMultiply);

void MatrixMultiply::visit(FieldVisitor& v) {
  v("operation_a", operation_a);
  v("operation_b", operation_b);
  epilogue.visit(v, "epilogue_");
}

namespace {

// One operand: its leading axes and, of the matrix, the axis that is kept and the one summed over.
// A vector has no kept axis.
template <class Extents> struct Operand {
  Extents leading;
  bool is_vector;
  size_t kept, summed;
};

template <class Extents>
Operand<Extents> take_apart(const Extents& extents, size_t rank, MatrixOperation operation,
                            bool is_left) {
  const bool vector = operation == MatrixOperation::kVECTOR;
  const size_t matrix_rank = vector ? 1 : 2;
  require(rank >= matrix_rank, "expected a {} operand of rank {} or more, found rank {}",
          is_left ? "left" : "right", matrix_rank, rank);
  Operand<Extents> o{{}, vector, 0, rank - 1};
  for (size_t i = 0; i < rank - matrix_rank; ++i)
    o.leading.push_back(*(extents.begin() + static_cast<ptrdiff_t>(i)));
  if (vector) return o;
  const bool kept_last = is_left == (operation == MatrixOperation::kTRANSPOSE);
  o.kept = kept_last ? rank - 1 : rank - 2;
  o.summed = kept_last ? rank - 2 : rank - 1;
  return o;
}

bool is_known(MatrixOperation o) {
  return o >= MatrixOperation::kNONE && o <= MatrixOperation::kVECTOR;
}

}  // namespace

void MatrixMultiply::infer(Inference& c) const {
  require_inputs(c, 2, INT32_MAX);
  require(is_known(operation_a) && is_known(operation_b),
          "expected MatrixOperations (0 to 2), found {} and {}", static_cast<int32_t>(operation_a),
          static_cast<int32_t>(operation_b));
  const DataType type = c.type(0);
  if (type != DataType::kINT32 && type != DataType::kINT64) require_float(c, 0, "the left operand");
  require_type_of_data(c, 1, "the right operand");
  if (c.has_input(2)) require_type_of_data(c, 2, "the bias");
  check_epilogue_operands(c, epilogue, 3);
  const auto a = take_apart(c.dims(0), c.dims(0).size(), operation_a, true);
  const auto b = take_apart(c.dims(1), c.dims(1).size(), operation_b, false);
  const Dim ka = c.dims(0)[a.summed], kb = c.dims(1)[b.summed];
  require(!ka->is_constant() || !kb->is_constant() || ka == kb,
          "expected operands that agree in the axis summed over, found {} (of {}) and {} (of {})",
          text_of(ka), text_of(c.dims(0)), text_of(kb), text_of(c.dims(1)));
  Dims dims = broadcast(c.pool(), a.leading, b.leading);
  if (!a.is_vector) dims.push_back(c.dims(0)[a.kept]);
  if (!b.is_vector) dims.push_back(c.dims(1)[b.kept]);
  if (c.has_input(2)) {
    require(c.rank(2) <= static_cast<int>(dims.size()),
            "expected a bias of rank {} or less, found {}", dims.size(), text_of(c.dims(2)));
    Dims bias(dims.size() - c.dims(2).size(), c.pool().constant(1));
    bias.insert(bias.end(), c.dims(2).begin(), c.dims(2).end());
    const Dims both = broadcast(c.pool(), dims, bias);
    for (size_t i = 0; i < dims.size(); ++i)
      require(!dims[i]->is_constant() || both[i] == dims[i],
              "the bias, {}, does not broadcast to the result, {}", text_of(c.dims(2)),
              text_of(dims));
  }
  check_epilogue(c, epilogue, 3, dims);
  c.set_output(0, type, std::move(dims));
}

namespace {

// A batch of products: strided matrices of `a` and `b` under a dense result.
struct Batch {
  int64_t rows, columns, depth;
  int64_t a_row, a_depth, b_depth, b_column;  // steps within a matrix
  Shape extents, a_steps, b_steps;            // of the leading axes
};

// Steps of the leading axes through a whole operand, 0 where it is repeated.
Shape leading_steps(const Shape& leading, const Shape& extents, const Shape& steps) {
  Shape s = broadcast_strides(leading, extents);
  for (int i = 0; i < s.rank(); ++i) s[i] = s[i] == 0 ? 0 : steps[i];
  return s;
}

Batch make_batch(const MatrixMultiply& op, const ReferenceCall& call) {
  const Shape &sa = call.inputs[0].shape, &sb = call.inputs[1].shape, &out = call.outputs[0].shape;
  const auto a = take_apart(sa, static_cast<size_t>(sa.rank()), op.operation_a, true);
  const auto b = take_apart(sb, static_cast<size_t>(sb.rank()), op.operation_b, false);
  const auto at = [](const Shape& s, size_t axis) { return s[static_cast<int>(axis)]; };
  const Shape steps_a = sa.strides(), steps_b = sb.strides();
  Batch batch;
  batch.rows = a.is_vector ? 1 : at(sa, a.kept);
  batch.columns = b.is_vector ? 1 : at(sb, b.kept);
  batch.depth = at(sa, a.summed);
  batch.a_row = a.is_vector ? 0 : at(steps_a, a.kept);
  batch.a_depth = at(steps_a, a.summed);
  batch.b_depth = at(steps_b, b.summed);
  batch.b_column = b.is_vector ? 0 : at(steps_b, b.kept);
  require(batch.depth == at(sb, b.summed), "cannot multiply {} by {}: {} and {} differ", sa, sb,
          batch.depth, at(sb, b.summed));
  const auto leading = static_cast<size_t>(a.leading.rank());
  require(a.leading.rank() <= out.rank(), "cannot multiply {} by {} to {}", sa, sb, out);
  batch.extents = Shape(std::span(out.begin(), leading));
  batch.a_steps = leading_steps(a.leading, batch.extents, steps_a);
  batch.b_steps = leading_steps(b.leading, batch.extents, steps_b);
  Shape expected = batch.extents;
  if (!a.is_vector) expected.push_back(batch.rows);
  if (!b.is_vector) expected.push_back(batch.columns);
  require_output(call.outputs[0], expected);
  return batch;
}

template <class Sum, class Read>
void multiply_row(const Batch& p, const Read* a, const Read* b, std::vector<Sum>& sum) {
  std::fill(sum.begin(), sum.end(), Sum{0});
  for (int64_t k = 0; k < p.depth; ++k) {
    const Sum factor = static_cast<Sum>(a[k * p.a_depth]);
    for (int64_t n = 0; n < p.columns; ++n)
      sum[static_cast<size_t>(n)] += factor * static_cast<Sum>(b[k * p.b_depth + n * p.b_column]);
  }
}

// Each row is computed by one thread, in the same order whatever their number. Integers wrap.
template <class T, class Read>
void run(const Batch& p, const Read* a, const Read* b, const TensorView& out) {
  using Sum = std::conditional_t<is_real<T>, double, uint64_t>;
  const int64_t work = std::max<int64_t>(1, p.columns * std::max<int64_t>(1, p.depth));
  parallel_for(p.extents.volume() * p.rows, std::max<int64_t>(1, 16384 / work),
               [&](int64_t begin, int64_t end) {
                 std::vector<Sum> sum(static_cast<size_t>(p.columns));
                 for (int64_t i = begin; i < end; ++i) {
                   int64_t at_a = i % p.rows * p.a_row, at_b = 0, rest = i / p.rows;
                   for (int k = p.extents.rank() - 1; k >= 0; rest /= p.extents[k], --k) {
                     at_a += rest % p.extents[k] * p.a_steps[k];
                     at_b += rest % p.extents[k] * p.b_steps[k];
                   }
                   multiply_row(p, a + at_a, b + at_b, sum);
                   T* to = out.as<T>() + i * p.columns;
                   for (size_t n = 0; n < sum.size(); ++n) to[n] = store<T>(sum[n]);
                 }
               });
}

template <class T> void add_bias(const TensorView& bias, const TensorView& out) {
  const Shape steps[] = {broadcast_strides(bias.shape, out.shape)};
  for_rows(out.shape, steps, [&](const Row& row) {
    for (int64_t i = 0; i < row.length; ++i) {
      T& to = out.as<T>()[row.begin + i];
      to = store<T>(load(to) + load(bias.as<T>()[row.offset[0] + i * row.step[0]]));
    }
  });
}

}  // namespace

void MatrixMultiply::reference(const ReferenceCall& call) const {
  const Batch batch = make_batch(*this, call);
  const TensorView& out = call.outputs[0];
  with_type(out.type, [&](auto zero) {
    using T = decltype(zero);
    if constexpr (is_real<T>) {
      const Floats a(call.inputs[0]), b(call.inputs[1]);
      run<T>(batch, a.data(), b.data(), out);
    } else {
      run<T>(batch, call.inputs[0].as<T>(), call.inputs[1].as<T>(), out);
    }
    if (call.inputs.size() > 2 && call.inputs[2].data != nullptr) add_bias<T>(call.inputs[2], out);
  });
  run_epilogue(epilogue, call, 3);
}

// A product with weights that sums up several terms is as ordinary as a convolution.
Magnitude MatrixMultiply::magnitude(const Node& node, DataType) const {
  const auto sums = [&](size_t i, MatrixOperation operation, bool is_left) {
    const Value& v = *node.inputs[i];
    if (!v.constant || v.dims.empty()) return false;
    const bool last =
        operation == MatrixOperation::kVECTOR || (operation == MatrixOperation::kNONE) == is_left;
    const Shape& shape = v.constant->shape();
    const int axis = last ? shape.rank() - 1 : shape.rank() - 2;
    return axis >= 0 && shape[axis] > 1;
  };
  return sums(0, operation_a, true) || sums(1, operation_b, false) ? Magnitude::kOrdinary
                                                                   : Magnitude::kOfInputs;
}

int MatrixMultiply::min_rank(size_t input) const {
  if (input > 1) return 0;  // of the epilogue
  return (input == 0 ? operation_a : operation_b) == MatrixOperation::kVECTOR ? 1 : 2;
}

double MatrixMultiply::operations(std::span<const Shape> inputs,
                                  std::span<const Shape> outputs) const {
  const Shape& a = inputs[0];
  const int axis = a.rank() - (operation_a == MatrixOperation::kTRANSPOSE ? 2 : 1);
  return kMultiplyAdd * static_cast<double>(a[axis]) * count_of(outputs[0])
         + operations_of(epilogue, outputs[0]);
}

}  // namespace tenon
