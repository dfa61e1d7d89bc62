#include "common/program_of.h"

#include "base/error.h"
#include "ops/activation.h"
#include "ops/elementwise.h"
#include "ops/pointwise.h"
#include "ops/unary.h"

namespace tenon {
namespace {

using Family = PointwiseStep::Family;

/// (x * scale + shift) ^ power with the operands that are there.
PointwiseProgram program_of_scale(std::span<const TensorSpec> inputs) {
  using nvinfer1::ElementWiseOperation;
  constexpr size_t kShift = 1, kScale = 2, kPower = 3;
  PointwiseProgram program;
  program.inputs = static_cast<int32_t>(inputs.size());
  int32_t current = 0;
  const auto add = [&](size_t input, ElementWiseOperation operation) {
    if (input >= inputs.size() || !inputs[input].present) return;
    program.steps.push_back({Family::kElementWise, static_cast<int32_t>(operation), current,
                             static_cast<int32_t>(input)});
    current = program.step_register(program.steps.size() - 1);
  };
  add(kScale, ElementWiseOperation::kPROD);
  add(kShift, ElementWiseOperation::kSUM);
  add(kPower, ElementWiseOperation::kPOW);
  return program;
}

}  // namespace

PointwiseProgram program_of(const KernelRequest& request) {
  const Op& op = request.op;
  PointwiseProgram program;
  if (const auto* pointwise = dynamic_cast<const Pointwise*>(&op)) return pointwise->program;
  if (dynamic_cast<const Scale*>(&op) != nullptr) return program_of_scale(request.inputs);
  if (const auto* activation = dynamic_cast<const Activation*>(&op))
    program.steps = {{Family::kActivation, static_cast<int32_t>(activation->type), 0, -1,
                      activation->alpha, activation->beta}};
  if (const auto* unary = dynamic_cast<const Unary*>(&op))
    program.steps = {{Family::kUnary, static_cast<int32_t>(unary->operation), 0, -1}};
  if (const auto* binary = dynamic_cast<const ElementWise*>(&op)) {
    program.inputs = 2;
    program.steps = {{Family::kElementWise, static_cast<int32_t>(binary->operation), 0, 1}};
  }
  return program;
}

Shape aligned_weights(const Scale& scale, const Shape& weights, const Shape& data) {
  Shape shape = Shape::filled(data.rank(), 1);
  if (weights.volume() == 1) return shape;
  const bool is_channel = scale.mode == nvinfer1::ScaleMode::kCHANNEL;
  const int last = is_channel ? scale.channel_axis + 1 : data.rank();
  for (int i = scale.channel_axis; i < last; ++i) shape[i] = data[i];
  require(shape.volume() == weights.volume(), "weights of shape {} do not fit data of shape {}",
          weights, data);
  return shape;
}

}  // namespace tenon
