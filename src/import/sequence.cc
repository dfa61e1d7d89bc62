#include "import/sequence.h"

#include <algorithm>

#include "import/node.h"
#include "ops/concatenation.h"

namespace tenon {
namespace {

using Code = nvonnxparser::ErrorCode;

// An axis moves, the others keep their order.
Value& move_axis(Layers& layers, Value& x, int from, int to) {
  std::vector<int32_t> order;
  for (int i = 0; i < layers.rank(x); ++i)
    if (i != from) order.push_back(i);
  order.insert(order.begin() + to, from);
  return layers.transpose(x, order);
}

Value& joined(Layers& layers, std::vector<Value*> parts, int axis) {
  require(!parts.empty(), "the sequence is empty");
  if (parts.size() == 1) return *parts[0];
  auto op = std::make_unique<Concatenation>();
  op->axis = axis;
  return layers.add(std::move(op), std::move(parts));
}

}  // namespace

std::vector<Value*> tensors_in(const Item& item) {
  if (is_empty_optional(item)) return {};
  const Sequence* sequence = as_sequence(item);
  if (sequence == nullptr) return {std::get<Value*>(item)};
  std::vector<Value*> tensors;
  for (const SequencePart& part : *sequence) tensors.push_back(part.tensor);
  return tensors;
}

Value* as_tensor(const Item& item, const std::string& what) {
  if (const auto* tensor = std::get_if<Value*>(&item)) return *tensor;
  if (is_empty_optional(item))
    fail_import(Code::kUNSUPPORTED_NODE_INPUT, "{} is an optional that holds nothing", what);
  fail_import(Code::kUNSUPPORTED_NODE_INPUT,
              "{} is a sequence of tensors, which is not supported here", what);
}

bool has_known_length(const Sequence& sequence) {
  return std::all_of(sequence.begin(), sequence.end(), [](const SequencePart& part) {
    return part.tensor != nullptr && !part.stacked;
  });
}

void require_readable(const Sequence& sequence) {
  for (const SequencePart& part : sequence)
    if (part.tensor == nullptr)
      fail_import(Code::kUNSUPPORTED_NODE,
                  "a loop that reads the sequence to which it appends is not supported yet");
}

Dims element_dims(const SequencePart& part) {
  Dims dims = part.tensor->dims;
  if (part.stacked) dims.erase(dims.begin());
  return dims;
}

Dim length_of(Layers& layers, const Sequence& sequence) {
  require_readable(sequence);
  Dim length = layers.number(0);
  for (const auto& [tensor, stacked, state] : sequence) {
    if (stacked) layers.know(*tensor);
    length = layers.pool().add(length, stacked ? tensor->dims[0] : layers.number(1));
  }
  return length;
}

Value& stack(Layers& layers, const Sequence& sequence, int axis) {
  require_readable(sequence);
  std::vector<Value*> parts;
  for (const SequencePart& part : sequence) {
    Dims dims = element_dims(part);
    dims.insert(dims.begin() + axis, layers.number(1));
    parts.push_back(part.stacked ? &move_axis(layers, *part.tensor, 0, axis)
                                 : &layers.reshape(*part.tensor, dims));
  }
  return joined(layers, std::move(parts), axis);
}

Value& concatenate(Layers& layers, const Sequence& sequence, int axis) {
  require_readable(sequence);
  std::vector<Value*> parts;
  for (const auto& [tensor, stacked, state] : sequence)
    parts.push_back(stacked ? &merge_axes(layers, move_axis(layers, *tensor, 0, axis), axis)
                            : tensor);
  return joined(layers, std::move(parts), axis);
}

Value& merge_axes(Layers& layers, Value& x, int axis) {
  Dims dims = x.dims;
  const auto first = dims.begin() + axis;
  *first = layers.pool().mul(first[0], first[1]);
  dims.erase(first + 1);
  layers.know(x);
  return layers.reshape(x, dims);
}

}  // namespace tenon
