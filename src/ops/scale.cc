#include "ops/scale.h"

#include <cmath>

#include "network/network.h"
#include "ops/support/infer.h"
#include "ops/support/operations.h"
#include "ops/support/reference.h"

namespace tenon {

using nvinfer1::ScaleMode;

TENON_REGISTER_OP(Scale);

void Scale::visit(FieldVisitor& v) {
  v("mode", mode);
  v("channel_axis", channel_axis);
}

namespace {

// The axes [from, to) that the weights have an element for.
std::pair<int, int> weighted_axes(const Scale& op, int rank) {
  switch (op.mode) {
    case ScaleMode::kUNIFORM:
      return {0, 0};
    case ScaleMode::kCHANNEL:
      return {op.channel_axis, op.channel_axis + 1};
    default:
      return {op.channel_axis, rank};
  }
}

}  // namespace

std::optional<nvinfer1::WeightsRole> Scale::weights_role(size_t input) const {
  if (input == 1) return nvinfer1::WeightsRole::kSHIFT;
  if (input == 2) return nvinfer1::WeightsRole::kSCALE;
  return std::nullopt;
}

void Scale::infer(Inference& c) const {
  require_inputs(c, 1, 4);
  require_float(c, 0, "the data");
  require(mode >= ScaleMode::kUNIFORM && mode <= ScaleMode::kELEMENTWISE,
          "expected a ScaleMode (0 to 2), found {}", static_cast<int32_t>(mode));
  require(mode == ScaleMode::kUNIFORM || (channel_axis >= 0 && channel_axis < c.rank(0)),
          "expected a channel axis of 0 to {}, found {}", c.rank(0) - 1, channel_axis);
  const auto [from, to] = weighted_axes(*this, c.rank(0));
  Shape weights;
  bool known = true;
  for (int axis = from; axis < to; ++axis) {
    const Dim d = c.dims(0)[static_cast<size_t>(axis)];
    known &= d->is_integer_constant();
    if (known) weights.push_back(d->value.integer);
  }
  constexpr const char* kNames[] = {"the data", "the shift", "the scale", "the power"};
  for (int i = 1; i < c.input_count(); ++i) {
    if (!c.has_input(i)) continue;
    if (c.type(i) != DataType::kFLOAT) require_type_of_data(c, i, kNames[i]);
    if (known) require_count(c, i, kNames[i], weights.volume());
  }
  c.set_output(0, c.type(0), c.dims(0));
}

void Scale::reference(const ReferenceCall& call) const {
  const TensorView &in = call.inputs[0], &out = call.outputs[0];
  require_output(out, in.shape);
  const auto [from, to] = weighted_axes(*this, in.shape.rank());
  const int64_t count = in.shape.volume(from, to), inner = in.shape.volume(to, in.shape.rank());
  // A uniform weight has no axis: every element is `inner` of it.
  const auto weights = [&](size_t i) {
    const TensorView view = i < call.inputs.size() ? call.inputs[i] : TensorView{};
    require(view.data == nullptr || view.shape.volume() == count,
            "input {}: expected {} elements, found {}", i, count, view.shape);
    return Floats(view);
  };
  const Floats shift = weights(1), scale = weights(2), power = weights(3);
  with_float(in.type, [&](auto zero) {
    using T = decltype(zero);
    parallel_for(in.shape.volume(), 8192, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const int64_t w = i / inner % count;
        float x = load(in.as<T>()[i]);
        if (scale.data() != nullptr) x *= scale[w];
        if (shift.data() != nullptr) x += shift[w];
        if (power.data() != nullptr) x = std::pow(x, power[w]);
        out.as<T>()[i] = store<T>(x);
      }
    });
  });
}

Magnitude Scale::magnitude(const Node& node, DataType type) const {
  const bool has_power = node.inputs.size() > 3 && node.inputs[3] != nullptr;
  return type == DataType::kHALF && has_power ? Magnitude::kLarge : Magnitude::kOfInputs;
}

void Scale::insert_batch_axis(int32_t) {
  ++channel_axis;
}

double Scale::operations(std::span<const Shape>, std::span<const Shape> outputs) const {
  return kMultiplyAdd * count_of(outputs[0]);
}

}  // namespace tenon
