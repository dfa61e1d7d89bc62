#include "api/io_types.h"

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "ops/cast.h"
#include "ops/dequantize.h"
#include "ops/quantize.h"

namespace tenon {
namespace {

bool is_int8_of_floats(const Value& v) {
  return v.requested_type == DataType::kINT8 && is_float(v.type);
}

// Makes the border's type the input's, and puts the layer between it and those that read it.
void read_through(Network& network, Value& input, std::unique_ptr<Op> op,
                  std::vector<Value*> operands) {
  std::vector<Value**> uses;
  for (const auto& node : network.nodes())
    for (Value*& in : node->inputs)
      if (in == &input) uses.push_back(&in);
  const DataType read_as = std::exchange(input.type, *input.requested_type);
  operands.insert(operands.begin(), &input);
  const Node& node = network.add_node(std::move(op), std::move(operands),
                                      fmt::format("{} to {}", input.name, name_of(read_as)));
  for (Value** in : uses) *in = node.outputs[0];
}

Value& scale_of(Network& network, const Value& border, const Scales& scales) {
  const auto found = scales.find(border.name);
  if (found == scales.end())
    fail(ErrorCode::kINVALID_ARGUMENT,
         "{} '{}' is int8, and layers {} it as {}: call ITensor::setDynamicRange with a range that "
         "is not empty, set BuilderFlag::kINT8 and a calibrator that finds one, or {} it by a {} "
         "layer",
         border.is_input ? "input" : "output", border.name, border.is_input ? "read" : "make",
         name_of(border.type), border.is_input ? "read" : "make",
         border.is_input ? "Dequantize" : "Quantize");
  Tensor scale(DataType::kFLOAT, {});
  *scale.mutable_data<float>() = found->second;
  return network.add_weight(std::move(scale), fmt::format("scale of {}", border.name));
}

void dequantize_inputs(Network& network, const Scales& scales) {
  for (Value* input : network.inputs()) {
    if (!is_int8_of_floats(*input)) continue;
    auto op = std::make_unique<Dequantize>();
    op->to = input->type;
    read_through(network, *input, std::move(op), {&scale_of(network, *input, scales)});
  }
}

void quantize_outputs(Network& network, Scales& scales) {
  std::vector<Value*> outputs = network.outputs();
  const auto may_be_floats = [](const Value* v) {
    return v->requested_type == DataType::kINT8 && v->producer != nullptr;
  };
  if (std::ranges::none_of(outputs, may_be_floats)) return;
  network.infer();
  for (Value*& output : outputs) {
    Value& made = *output;
    if (made.producer == nullptr || !is_int8_of_floats(made)) continue;
    Value& scale = scale_of(network, made, scales);
    const Node& node =
        network.add_node(std::make_unique<Quantize>(), {&made, &scale},
                         fmt::format("{} to {}", made.name, name_of(DataType::kINT8)));
    Value& bound = *node.outputs[0];
    bound.allowed_formats = made.allowed_formats;
    made.requested_type.reset();
    bound.name = std::exchange(made.name, fmt::format("{} in {}", made.name, name_of(made.type)));
    scales[made.name] = scales.at(bound.name);
    output = &bound;
  }
  for (Value* v : std::vector<Value*>(network.outputs())) network.unmark_output(*v);
  for (Value* v : outputs) network.mark_output(*v);
}

}  // namespace

void cast_inputs(Network& network) {
  for (Value* input : network.inputs()) {
    if (input->requested_type.value_or(input->type) == input->type || is_int8_of_floats(*input))
      continue;
    auto op = std::make_unique<Cast>();
    op->to = input->type;
    read_through(network, *input, std::move(op), {});
  }
  network.touch();
}

void quantize_borders(Network& network, Scales& scales) {
  dequantize_inputs(network, scales);
  quantize_outputs(network, scales);
  network.touch();
}

}  // namespace tenon
