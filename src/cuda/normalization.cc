// Normalisation over any axes and groups; over the last axes in one pass.
#include "cuda/normalization.h"

#include <optional>
#include <vector>

#include "base/cuda_stream.h"
#include "base/error.h"
#include "cuda/byte_rule.h"
#include "cuda/check.h"
#include "cuda/kernels.h"
#include "ops/normalization.h"
#include "ops/support/reference.h"

namespace tenon::cuda {
namespace {

using Task = NormalizationTask;

constexpr size_t kParameters = 2;  // scale and bias

// The tensors of a layer, with groups as an axis of their own.
struct Split {
  Shape data, parameters[kParameters];  // parameters that are left out have extent 1 everywhere
  uint32_t axes;
};

// (N, C, …) as (N, groups, C / groups, …).
Shape split(const Shape& shape, int64_t groups, int64_t per_group) {
  Shape parts{shape[0], shape[1] == 1 ? 1 : groups, shape[1] == groups * per_group ? per_group : 1};
  for (int axis = 2; axis < shape.rank(); ++axis) parts.push_back(shape[axis]);
  return parts;
}

Split split(const Normalization& op, std::span<const TensorSpec> inputs) {
  const Shape& data = inputs[0].shape;
  Split s{data, {}, op.axes};
  const auto parameter = [&](size_t i) {
    return inputs.size() > i + 1 && inputs[i + 1].present ? inputs[i + 1].shape
                                                          : Shape::filled(data.rank(), 1);
  };
  for (size_t i = 0; i < kParameters; ++i) s.parameters[i] = parameter(i);
  if (op.groups == 1) return s;
  require(data.rank() >= 2 && data.rank() < Shape::kMaxRank && data[1] % op.groups == 0,
          "data of shape {} cannot be split into {} groups", data, op.groups);
  const int64_t per_group = data[1] / op.groups;
  s.data = split(data, op.groups, per_group);
  for (Shape& p : s.parameters) p = split(p, op.groups, per_group);
  s.axes = (op.axes >> 2 << 3) | 4u;
  return s;
}

// An axis with the steps of the data and the parameters along it.
struct Axis {
  int64_t extent;
  bool reduced;
  int64_t step, parameters[kParameters];
};

std::vector<Axis> axes_of(const Split& s) {
  const Shape steps = s.data.strides();
  const Shape parameters[] = {broadcast_strides(s.parameters[0], s.data),
                              broadcast_strides(s.parameters[1], s.data)};
  std::vector<Axis> axes;
  for (int i = 0; i < s.data.rank(); ++i)
    if (s.data[i] != 1)
      axes.push_back(
          {s.data[i], (s.axes >> i & 1) != 0, steps[i], {parameters[0][i], parameters[1][i]}});
  return axes;
}

// How parameter k runs along these axes; none where it is more complicated than a Walk.
std::optional<Task::ParameterOffsets> offsets_along(std::span<const Axis> axes, size_t k) {
  Task::ParameterOffsets offsets;
  auto axis = axes.rbegin();
  for (; axis != axes.rend() && axis->parameters[k] == 0; ++axis) offsets.run *= axis->extent;
  if (axis == axes.rend()) return Task::ParameterOffsets();
  offsets.step = axis->parameters[k];
  for (; axis != axes.rend() && axis->parameters[k] == offsets.step * offsets.period; ++axis)
    offsets.period *= axis->extent;
  for (; axis != axes.rend(); ++axis)
    if (axis->parameters[k] != 0) return std::nullopt;
  return offsets;
}

bool describe_rows(std::span<const Axis> axes, Task& task) {
  const auto kept = static_cast<size_t>(task.kept);
  for (size_t i = 0; i < kept; ++i)
    if (axes[i].reduced) return false;
  Task::Parameter* parameters[] = {&task.scale, &task.bias};
  for (size_t k = 0; k < kParameters; ++k) {
    const auto rows = offsets_along(axes.first(kept), k),
               elements = offsets_along(axes.subspan(kept), k);
    if (!rows || !elements) return false;
    parameters[k]->rows = *rows;
    parameters[k]->elements = *elements;
  }
  return true;
}

Task task_of(const Normalization& op, std::span<const TensorSpec> inputs) {
  Task task;
  task.type = inputs[0].type;
  task.epsilon = op.epsilon;
  task.subtracts_mean = op.subtracts_mean;
  if (op.copy.used) task.bytes.rule = byte_quantization(op.copy);
  if (inputs.size() > 1) task.scale.type = inputs[1].type;
  if (inputs.size() > 2) task.bias.type = inputs[2].type;
  const std::vector<Axis> axes = axes_of(split(op, inputs));
  task.axes = static_cast<int>(axes.size());
  int next = 0;
  for (const bool reduced : {false, true}) {
    for (const Axis& axis : axes) {
      if (axis.reduced != reduced) continue;
      (reduced ? task.length : task.rows) *= axis.extent;
      task.extents[next] = axis.extent;
      task.steps[next] = axis.step;
      task.scale.steps[next] = axis.parameters[0];
      task.bias.steps[next] = axis.parameters[1];
      ++next;
    }
    if (!reduced) task.kept = next;
  }
  task.in_rows = describe_rows(axes, task);
  return task;
}

class NormalizationExecution final : public Execution {
 public:
  NormalizationExecution(const Normalization& op, const Task& task)
      : adds_(op.adds), copies_(op.copy.used), task_(task) {}

  void run(const RunArguments& arguments) override {
    Task task = task_;
    task.data = arguments.inputs[0];
    task.scale.data = arguments.input(1);
    task.bias.data = arguments.input(2);
    task.result = arguments.outputs[0];
    if (adds_) task.addend = arguments.input(Normalization::kAddend);
    if (copies_) {
      task.bytes.data = static_cast<uint8_t*>(arguments.outputs[1]);
    } else if (arguments.outputs.size() > 1) {
      task.mean = static_cast<float*>(arguments.outputs[1]);
      task.inverse_deviation = static_cast<float*>(arguments.outputs[2]);
    }
    launch_normalization(task, to_cuda(arguments.stream));
    check_launch("a normalisation");
  }

 private:
  bool adds_, copies_;
  Task task_;
};

class NormalizationKernel final : public Kernel {
 public:
  explicit NormalizationKernel(const Normalization& op) : op_(op) {}
  std::unique_ptr<Execution> prepare(std::span<const TensorSpec> inputs,
                                     std::span<const TensorSpec>) const override {
    return std::make_unique<NormalizationExecution>(op_, task_of(op_, inputs));
  }

 private:
  Normalization op_;
};

}  // namespace

Offer offer_normalization(const KernelRequest& request) {
  for (const TensorSpec& input : request.inputs)
    if (input.present && input.type != DataType::kFLOAT && input.type != DataType::kHALF
        && input.type != DataType::kBF16)
      return "only float32, float16 and bfloat16 are supported";
  return std::make_unique<NormalizationKernel>(static_cast<const Normalization&>(request.op));
}

}  // namespace tenon::cuda
