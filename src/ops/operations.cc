#include "ops/operations.h"

#include "ops/activation.h"
#include "ops/attention.h"
#include "ops/convolution.h"
#include "ops/deconvolution.h"
#include "ops/deformable_convolution.h"
#include "ops/dequantize.h"
#include "ops/einsum.h"
#include "ops/elementwise.h"
#include "ops/fully_connected.h"
#include "ops/integer_convolution.h"
#include "ops/integer_matrix_multiply.h"
#include "ops/matrix_multiply.h"
#include "ops/normalization.h"
#include "ops/pointwise.h"
#include "ops/pooling.h"
#include "ops/quantize.h"
#include "ops/recurrent.h"
#include "ops/reduce.h"
#include "ops/scale.h"
#include "ops/separable_convolution.h"
#include "ops/softmax.h"
#include "ops/unary.h"

namespace tenon {
namespace {

using nvinfer1::AttentionNormalizationOp;
using nvinfer1::MatrixOperation;
using Shapes = std::span<const Shape>;

constexpr double kMultiplyAdd = 2;
constexpr double kSoftmaxOperations = 5;  // greatest, difference, exponential, sum, quotient
// Mean, difference, square and its sum, quotient, scale, bias.
constexpr double kNormalizationOperations = 7;

double elements(const Shape& shape) {
  return static_cast<double>(shape.volume());
}

double epilogue(const PointwiseProgram& program, Shapes out) {
  return static_cast<double>(program.steps.size()) * elements(out[0]);
}

double of(const Convolution& op, Shapes in, Shapes out) {
  const double taps = elements(op.kernel) * static_cast<double>(in[0][1] / op.groups);
  return kMultiplyAdd * taps * elements(out[0]) + epilogue(op.epilogue, out);
}

double of(const Deconvolution& op, Shapes in, Shapes out) {
  const double taps = elements(op.kernel) * static_cast<double>(op.output_maps / op.groups);
  return kMultiplyAdd * taps * elements(in[0]) + epilogue(op.epilogue, out);
}

double of(const IntegerConvolution& op, Shapes in, Shapes out) {
  const double taps = elements(op.kernel) * static_cast<double>(in[0][1] / op.groups);
  return kMultiplyAdd * taps * elements(out[0]);
}

double of(const SeparableConvolution& op, Shapes in, Shapes out) {
  const Shape between = op.between(out[0]);
  return of(op.depthwise, in, {&between, 1}) + of(op.pointwise, {&between, 1}, out);
}

double of(const DeformableConvolution&, Shapes in, Shapes out) {
  const double taps = static_cast<double>(in[1].volume(1, in[1].rank()));
  return kMultiplyAdd * taps * elements(out[0]);
}

double of(const MatrixMultiply& op, Shapes in, Shapes out) {
  const Shape& a = in[0];
  const int axis = a.rank() - (op.operation_a == MatrixOperation::kTRANSPOSE ? 2 : 1);
  return kMultiplyAdd * static_cast<double>(a[axis]) * elements(out[0])
         + epilogue(op.epilogue, out);
}

double of(const IntegerMatrixMultiply&, Shapes in, Shapes out) {
  return kMultiplyAdd * static_cast<double>(in[0][in[0].rank() - 1]) * elements(out[0]);
}

double of(const FullyConnected&, Shapes in, Shapes out) {
  const Shape& data = in[0];
  const double depth = static_cast<double>(data.volume(data.rank() - 3, data.rank()));
  return kMultiplyAdd * depth * elements(out[0]);
}

double of(const Attention& op, Shapes in, Shapes) {
  const auto vectors = [&](Attention::Input i) {
    return op.vectors[i].is_tensor() ? in[i] : op.vectors[i].extents;
  };
  const Shape query = vectors(Attention::kQuery), key = vectors(Attention::kKey),
              value = vectors(Attention::kValue);
  const double scores = elements(query) / static_cast<double>(query[3] == 0 ? 1 : query[3])
                        * static_cast<double>(key[2]);
  const bool softmax = op.normalization == AttentionNormalizationOp::kSOFTMAX;
  return scores
         * (kMultiplyAdd * static_cast<double>(query[3] + value[3])
            + (softmax ? kSoftmaxOperations : 0));
}

double of(const Einsum& op, Shapes in, Shapes) {
  std::vector<int> ranks;
  for (const Shape& s : in) ranks.push_back(s.rank());
  const EinsumTerms terms = parse_einsum(op.equation, ranks);
  std::map<int, int64_t> extents;
  for (size_t i = 0; i < in.size(); ++i)
    for (size_t axis = 0; axis < terms.operands[i].size(); ++axis) {
      int64_t& extent = extents[terms.operands[i][axis]];
      extent = std::max(extent, in[i][static_cast<int>(axis)]);
    }
  auto count = static_cast<double>(in.size());
  for (const auto& [label, extent] : extents) count *= static_cast<double>(extent);
  return count;
}

double of(const Recurrent& op, Shapes in, Shapes) {
  const RecurrentSizes sizes(op, in[Recurrent::kX], in[Recurrent::kW], in[Recurrent::kR]);
  const auto gates = static_cast<double>(sizes.gates * sizes.units);
  return kMultiplyAdd * static_cast<double>(sizes.steps * sizes.batch * sizes.directions) * gates
         * static_cast<double>(sizes.inputs + sizes.units);
}

double of(const Pooling& op, Shapes, Shapes out) {
  return elements(op.window) * elements(out[0]);
}
double of(const Reduce&, Shapes in, Shapes) {
  return elements(in[0]);
}
double of(const Softmax&, Shapes, Shapes out) {
  return kSoftmaxOperations * elements(out[0]);
}
double of(const Normalization&, Shapes, Shapes out) {
  return kNormalizationOperations * elements(out[0]);
}
double of(const Scale&, Shapes, Shapes out) {
  return kMultiplyAdd * elements(out[0]);
}
double of(const Pointwise& op, Shapes, Shapes out) {
  return epilogue(op.program, out);
}
// A quotient and its rounding; a product.
double of(const Quantize&, Shapes, Shapes out) {
  return 2 * elements(out[0]);
}
double of(const Dequantize&, Shapes, Shapes out) {
  return elements(out[0]);
}
double of(const Activation&, Shapes, Shapes out) {
  return elements(out[0]);
}
double of(const Unary&, Shapes, Shapes out) {
  return elements(out[0]);
}
double of(const ElementWise&, Shapes, Shapes out) {
  return elements(out[0]);
}

template <class... Kinds> double first_of(const Op& op, Shapes in, Shapes out) {
  double count = 0;
  const auto is = [&]<class Kind>(const Kind* kind) {
    if (kind != nullptr) count = of(*kind, in, out);
    return kind != nullptr;
  };
  (is(dynamic_cast<const Kinds*>(&op)) || ...);
  return count;
}

}  // namespace

double operations_of(const Op& op, Shapes in, Shapes out) {
  return first_of<Convolution, MatrixMultiply, Pointwise, Deconvolution, FullyConnected, Attention,
                  IntegerConvolution, IntegerMatrixMultiply, DeformableConvolution,
                  SeparableConvolution, Einsum, Recurrent, Pooling, Reduce, Softmax, Normalization,
                  Scale, Quantize, Dequantize, Activation, Unary, ElementWise>(op, in, out);
}

}  // namespace tenon
