#include "plan/work.h"

#include <algorithm>
#include <set>

#include "base/dtype.h"
#include "plan/load_steps.h"

namespace tenon {
namespace {

using Place = PlanTensor::Place;

bool is_known(const Shape& shape) {
  return std::all_of(shape.begin(), shape.end(), [](int64_t extent) { return extent >= 0; });
}

std::vector<Shape> shapes_of(std::span<const int32_t> tensors, std::span<const Shape> shapes) {
  std::vector<Shape> list;
  for (int32_t t : tensors) list.push_back(t < 0 ? Shape() : shapes[static_cast<size_t>(t)]);
  return list;
}

double bytes_of_step(const Plan& plan, const PlanStep& step, bool takes_parts,
                     std::span<const Shape> in, std::span<const Shape> out) {
  double written = 0;
  for (size_t i = 0; i < out.size(); ++i) written += bytes_of_tensor(plan, step.outputs[i], out[i]);
  double bytes = written;
  std::set<int32_t> seen;  // several inputs may be parts of one tensor
  for (size_t i = 0; i < in.size(); ++i) {
    if (step.inputs[i] < 0 || !seen.insert(plan.root_of(step.inputs[i])).second) continue;
    const double read = bytes_of_tensor(plan, step.inputs[i], in[i]);
    bytes += i == 0 && takes_parts ? std::min(read, written) : read;
  }
  for (int32_t w : step.packed)
    bytes += static_cast<double>(plan.weights[static_cast<size_t>(w)].bytes());
  return bytes;
}

}  // namespace

double bytes_of_tensor(const Plan& plan, int32_t tensor, const Shape& shape) {
  const Place place = plan.tensors[static_cast<size_t>(plan.root_of(tensor))].place;
  if (place == Place::kHost || place == Place::kNone) return 0;
  return static_cast<double>(
      bytes_of(plan.tensors[static_cast<size_t>(tensor)].type, shape.volume()));
}

StepWork work_of(const Plan& plan, const PlanStep& step, std::span<const Shape> shapes) {
  const auto in = shapes_of(step.inputs, shapes), out = shapes_of(step.outputs, shapes);
  if (!std::all_of(in.begin(), in.end(), is_known)
      || !std::all_of(out.begin(), out.end(), is_known))
    return {};
  const auto op = op_of(step);
  const bool takes_parts = op->traits().work == Work::kTakesParts;
  return {op->operations(in, out), bytes_of_step(plan, step, takes_parts, in, out)};
}

}  // namespace tenon
