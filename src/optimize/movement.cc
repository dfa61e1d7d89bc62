#include "optimize/movement.h"

#include <algorithm>

#include "ops/gather.h"
#include "ops/shuffle.h"
#include "ops/slice.h"
#include "optimize/match.h"

namespace tenon {

Movement::Movement(const Shape& shape) {
  const Shape steps = shape.strides();
  for (int i = 0; i < shape.rank(); ++i) axes_.push_back({{shape[i], steps[i]}});
}

bool is_movement(const Node& node) {
  return is_plain(node) && !is_on_host(node) && constant_shape(node.outputs[0]->dims).has_value()
         && (node.as<Shuffle>() != nullptr || node.as<Gather>() != nullptr
             || node.as<Slice>() != nullptr);
}

bool Movement::apply(const Node& node) {
  if (!is_movement(node)) return false;
  if (node.as<Shuffle>() != nullptr) return shuffle(node);
  return node.as<Gather>() != nullptr ? gather(node) : slice(node);
}

bool Movement::transpose(const std::vector<int32_t>& order) {
  std::vector<Axis> axes = axes_;
  for (size_t i = 0; i < order.size() && i < axes.size(); ++i)
    axes[i] = axes_[static_cast<size_t>(order[i])];
  axes_ = std::move(axes);
  return true;
}

bool Movement::reshape(const Shape& shape) {
  std::vector<Digit> digits;  // all of them, the outermost last
  for (const Axis& axis : axes_)
    for (const Digit& d : axis)
      if (d.extent != 1) digits.push_back(d);
  std::reverse(digits.begin(), digits.end());
  axes_.clear();
  for (int64_t rest : shape) {
    Axis axis;
    while (rest != 1) {
      if (digits.empty() || rest == 0) return false;
      Digit& d = digits.back();
      if (rest % d.extent == 0) {
        rest /= d.extent;
        axis.push_back(d);
        digits.pop_back();
      } else if (d.extent % rest == 0) {
        d.extent /= rest;
        axis.push_back({rest, d.step * d.extent});
        rest = 1;
      } else {
        return false;
      }
    }
    axes_.push_back(std::move(axis));
  }
  return digits.empty();
}

bool Movement::shuffle(const Node& node) {
  const Shuffle& op = *node.as<Shuffle>();
  transpose(op.first_transpose);
  Shape shape = *constant_shape(node.outputs[0]->dims);
  // The shape before the second transpose.
  const Shape last = shape;
  for (size_t i = 0; i < op.second_transpose.size(); ++i)
    shape[op.second_transpose[i]] = last[static_cast<int>(i)];
  return reshape(shape) && transpose(op.second_transpose);
}

bool Movement::gather(const Node& node) {
  const Gather& op = *node.as<Gather>();
  const auto index = host_integers(node.inputs[1]);
  if (op.mode != nvinfer1::GatherMode::kDEFAULT || op.batch_axes != 0 || !index
      || index->size() != 1)
    return false;
  const auto at = static_cast<size_t>(normalized_axis(op.axis, static_cast<int>(axes_.size())));
  int64_t extent = 1;
  for (const Digit& d : axes_[at]) extent *= d.extent;
  int64_t rest = index->front() < 0 ? index->front() + extent : index->front();
  if (rest < 0 || rest >= extent) return false;
  for (auto d = axes_[at].rbegin(); d != axes_[at].rend(); rest /= d->extent, ++d)
    offset_ += rest % d->extent * d->step;
  if (node.inputs[1]->dims.empty())
    axes_.erase(axes_.begin() + static_cast<ptrdiff_t>(at));
  else if (node.inputs[1]->dims.size() == 1)
    axes_[at].clear();
  else
    return false;
  return true;
}

bool Movement::slice(const Node& node) {
  const Slice& op = *node.as<Slice>();
  if (op.mode != nvinfer1::SampleMode::kSTRICT_BOUNDS) return false;
  const auto list = [&](size_t input,
                        const Shape& attribute) -> std::optional<std::vector<int64_t>> {
    if (node.inputs.size() > input && node.inputs[input] != nullptr)
      return host_integers(node.inputs[input]);
    return std::vector<int64_t>(attribute.begin(), attribute.end());
  };
  constexpr size_t kStart = 1, kStride = 3, kAxes = 5;
  const auto start = list(kStart, op.start), stride = list(kStride, op.stride),
             named = list(kAxes, op.axes);
  const Shape shape = *constant_shape(node.outputs[0]->dims);
  if (!start || !stride || !named) return false;
  for (size_t i = 0; i < start->size(); ++i) {
    const int64_t axis = named->empty()      ? static_cast<int64_t>(i)
                         : i < named->size() ? (*named)[i]
                                             : INT32_MAX;
    if (axis >= shape.rank() || axis < -shape.rank() || i >= stride->size()) return false;
    const int at = normalized_axis(axis, shape.rank());
    Axis& digits = axes_[static_cast<size_t>(at)];
    digits = joined(digits);
    const int64_t extent = digits.empty() ? 1 : digits[0].extent;
    const int64_t first = (*start)[i];
    if (digits.size() <= 1 && first == 0 && shape[at] == extent && (*stride)[i] == 1) continue;
    if (digits.size() != 1 || first < 0 || (*stride)[i] < 1
        || first + (shape[at] - 1) * (*stride)[i] >= extent)
      return false;
    offset_ += first * digits[0].step;
    digits[0] = {shape[at], digits[0].step * (*stride)[i]};
  }
  return true;
}

Movement::Axis Movement::joined(const Axis& axis) {
  Axis result;
  for (const Digit& d : axis) {
    if (d.extent == 1) continue;
    if (!result.empty() && result.back().step == d.step * d.extent)
      result.back() = {result.back().extent * d.extent, d.step};
    else
      result.push_back(d);
  }
  return result;
}

std::optional<Movement::Strided> Movement::strided() const {
  Strided s{{}, {}, offset_};
  for (const Axis& axis : axes_) {
    const Axis digits = joined(axis);
    if (digits.size() > 1) return std::nullopt;
    s.extents.push_back(digits.empty() ? 1 : digits[0].extent);
    s.steps.push_back(digits.empty() ? 0 : digits[0].step);
  }
  return s;
}

std::optional<Movement::Strided> Movement::inverse(const Shape& shape) const {
  // Every digit, with its step in the moved tensor.
  struct Place {
    int64_t extent, from, to;
  };
  std::vector<Place> places;
  int64_t to = 1;
  for (auto axis = axes_.rbegin(); axis != axes_.rend(); ++axis)
    for (auto d = axis->rbegin(); d != axis->rend(); to *= d->extent, ++d)
      if (d->extent != 1) places.push_back({d->extent, d->step, to});
  if (to != shape.volume() || offset_ != 0) return std::nullopt;
  std::sort(places.begin(), places.end(),
            [](const Place& a, const Place& b) { return a.from > b.from; });
  const Shape steps = shape.strides();
  Movement back(Shape{});
  for (int i = 0; i < shape.rank(); ++i) {
    Axis axis;
    for (const Place& p : places)
      if (shape[i] != 1 && p.from >= steps[i] && p.from < steps[i] * shape[i])
        axis.push_back({p.extent, p.to});
    back.axes_.push_back(std::move(axis));
  }
  const auto strided = back.strided();
  return strided && strided->extents == shape ? strided : std::nullopt;
}

}  // namespace tenon
