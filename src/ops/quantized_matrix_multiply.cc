#include "ops/quantized_matrix_multiply.h"

#include "ops/support/infer.h"
#include "ops/support/operations.h"
#include "ops/support/reference.h"

namespace tenon {

using In = QuantizedInputs;

TENON_REGISTER_OP(QuantizedMatrixMultiply);

void QuantizedMatrixMultiply::visit(FieldVisitor& v) {
  v("to", to);
  v("is_float8", is_float8);
  bounds.visit(v);
  epilogue.visit(v, "epilogue_");
}

void QuantizedMatrixMultiply::infer(Inference& c) const {
  require_inputs(c, 2, In::kCount);
  const Dims &a = c.dims(In::kData), &b = c.dims(In::kWeights);
  require(a.size() >= 2 && a.size() == b.size(),
          "expected two operands of the same rank, 2 or more, found {} and {}", text_of(a),
          text_of(b));
  const size_t rank = a.size();
  const Dim k = a[rank - 1], also_k = b[rank - 2];
  require(!k->is_constant() || !also_k->is_constant() || k == also_k,
          "expected operands that agree in the axis summed over, found {} (of {}) and {} (of {})",
          text_of(k), text_of(a), text_of(also_k), text_of(b));
  check_quantized_inputs(c, to, b.back(), is_float8);
  check_quantized_result(to, bounds, epilogue);
  Dims dims = broadcast(c.pool(), Dims(a.begin(), a.end() - 2), Dims(b.begin(), b.end() - 2));
  dims.push_back(a[rank - 2]);
  dims.push_back(b.back());
  c.set_output(0, to, std::move(dims));
}

QuantizedProducts::QuantizedProducts(const Shape& a, const Shape& b)
    : rows(a[a.rank() - 2]), columns(b.back()), depth(a.back()) {
  const int leading = a.rank() - 2;
  require(a.rank() == b.rank() && depth == b[leading], "cannot multiply {} by {}", a, b);
  const auto at = [&](const Shape& s, int axis) { return s[axis]; };
  int64_t count = 1;
  Shape extents;
  for (int i = 0; i < leading; ++i) {
    const int64_t x = at(a, i), y = at(b, i);
    require(x == y || x == 1 || y == 1, "cannot multiply {} by {}: axis {} does not broadcast", a,
            b, i);
    extents.push_back(x == 1 ? y : x);
    count *= extents[i];
  }
  for (int64_t i = 0; i < count; ++i) {
    int64_t rest = i, step_a = 1, step_b = 1, from_a = 0, from_b = 0;
    for (int axis = leading - 1; axis >= 0; --axis) {
      const int64_t position = rest % extents[axis];
      rest /= extents[axis];
      from_a += a[axis] == 1 ? 0 : position * step_a;
      from_b += b[axis] == 1 ? 0 : position * step_b;
      step_a *= a[axis];
      step_b *= b[axis];
    }
    data.push_back(from_a);
    weights.push_back(from_b);
  }
}

void QuantizedMatrixMultiply::reference(const ReferenceCall& call) const {
  if (is_float8)
    compute<double>(call);
  else
    compute<int32_t>(call);
}

template <class Number> void QuantizedMatrixMultiply::compute(const ReferenceCall& call) const {
  const TensorView& out = call.outputs[0];
  const QuantizedProducts p(call.inputs[In::kData].shape, call.inputs[In::kWeights].shape);
  const auto count = static_cast<int64_t>(p.data.size());
  require(out.shape.volume() == count * p.rows * p.columns, "the result of shape {} does not fit",
          out.shape);
  QuantizedOperands operands(p.columns);
  operands.read(call.inputs);
  const auto a = centred<Number>(call.inputs[In::kData], operands.data_zero);
  const auto b = centred<Number>(call.inputs[In::kWeights], 0);
  const size_t bytes = element_bytes(to);
  const int64_t work = std::max<int64_t>(1, p.columns * std::max<int64_t>(1, p.depth));
  parallel_for(count * p.rows, std::max<int64_t>(1, 65536 / work), [&](int64_t begin, int64_t end) {
    std::vector<Number> sums(static_cast<size_t>(p.columns));
    for (int64_t i = begin; i < end; ++i) {
      const auto product = static_cast<size_t>(i / p.rows);
      const Number* row = a.data() + (p.data[product] * p.rows + i % p.rows) * p.depth;
      const Number* matrix = b.data() + p.weights[product] * p.depth * p.columns;
      std::copy(operands.bias.begin(), operands.bias.end(), sums.begin());
      for (int64_t k = 0; k < p.depth; ++k)
        for (int64_t n = 0; n < p.columns; ++n) {
          const auto column = static_cast<size_t>(n);
          multiply_add(sums[column], row[k],
                       matrix[k * p.columns + n] - operands.weights_zero[column]);
        }
      store_with_epilogue(operands.for_channels(to, bounds), epilogue, sums.data(), p.columns,
                          out.as<std::byte>() + static_cast<size_t>(i * p.columns) * bytes);
    }
  });
}

double QuantizedMatrixMultiply::operations(std::span<const Shape> inputs,
                                           std::span<const Shape> outputs) const {
  return kMultiplyAdd * static_cast<double>(inputs[0][inputs[0].rank() - 1]) * count_of(outputs[0]);
}

}  // namespace tenon
