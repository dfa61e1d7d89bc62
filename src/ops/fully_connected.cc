#include "ops/fully_connected.h"

#include "ops/support/infer.h"
#include "ops/support/operations.h"
#include "ops/support/reference.h"

namespace tenon {

TENON_REGISTER_OP(FullyConnected);

void FullyConnected::visit(FieldVisitor& v) {
  v("outputs", outputs);
}

std::optional<nvinfer1::WeightsRole> FullyConnected::weights_role(size_t input) const {
  return kernel_or_bias(input);
}

void FullyConnected::infer(Inference& c) const {
  require_inputs(c, 2, 3);
  require_float(c, 0, "the data");
  require_type_of_data(c, 1, "the kernel");
  require(outputs >= 1, "expected at least 1 output, found {}", outputs);
  require(c.rank(0) >= 3, "expected data of rank 3 or more (…,C,H,W), found {}",
          text_of(c.dims(0)));
  const auto leading = c.dims(0).end() - 3;
  Shape expected{outputs};
  for (auto d = leading; d != c.dims(0).end(); ++d)
    if ((*d)->is_integer_constant()) expected.push_back((*d)->value.integer);
  if (expected.rank() == 4) require_count(c, 1, "the kernel", expected.volume());
  if (c.has_input(2)) {
    require_type_of_data(c, 2, "the bias");
    require_count(c, 2, "the bias", outputs);
  }
  Dims dims(c.dims(0).begin(), leading);
  dims.push_back(c.pool().constant(outputs));
  dims.insert(dims.end(), 2, c.pool().constant(1));
  c.set_output(0, c.type(0), std::move(dims));
}

void FullyConnected::reference(const ReferenceCall& call) const {
  const TensorView &in = call.inputs[0], &out = call.outputs[0];
  const int64_t depth = in.shape.volume(in.shape.rank() - 3, in.shape.rank());
  const int64_t rows = in.shape.volume(0, in.shape.rank() - 3);
  require(call.inputs[1].shape.volume() == outputs * depth,
          "expected a kernel of {} elements, found {}", outputs * depth, call.inputs[1].shape);
  require(out.shape.volume() == rows * outputs, "expected {} results, found {}", rows * outputs,
          out.shape);
  const Floats x(in), k(call.inputs[1]);
  const Floats bias(call.inputs.size() > 2 ? call.inputs[2] : TensorView{});
  with_float(out.type, [&](auto zero) {
    using T = decltype(zero);
    parallel_for(rows * outputs, std::max<int64_t>(1, 16384 / (depth + 1)),
                 [&](int64_t begin, int64_t end) {
                   for (int64_t i = begin; i < end; ++i) {
                     const int64_t row = i / outputs, n = i % outputs;
                     double sum = bias.data() == nullptr ? 0 : double{bias[n]};
                     for (int64_t d = 0; d < depth; ++d)
                       sum += double{x[row * depth + d]} * double{k[n * depth + d]};
                     out.as<T>()[i] = store<T>(sum);
                   }
                 });
  });
}

int FullyConnected::min_rank(size_t input) const {
  return input == 0 ? 3 : 0;  // channels, height, width
}

double FullyConnected::operations(std::span<const Shape> inputs,
                                  std::span<const Shape> outputs) const {
  const Shape& data = inputs[0];
  const auto depth = static_cast<double>(data.volume(data.rank() - 3, data.rank()));
  return kMultiplyAdd * depth * count_of(outputs[0]);
}

}  // namespace tenon
