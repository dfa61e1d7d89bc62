#include "network/reference_run.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "network/concrete_inference.h"
#include "network/control_flow.h"

namespace tenon {
namespace {

std::vector<Tensor> run(const Node& node, std::span<const Tensor* const> inputs, size_t max_bytes) {
  std::vector<ConcreteTensor> given;
  for (const Tensor* t : inputs) given.push_back(concrete_tensor(t));
  if (const ControlFlow* layer = control_flow_of(node)) {
    infer_concrete(*node.op, node.outputs.size(), given);  // checks the inputs
    std::vector<Tensor> made;
    const auto runner = layer->make_runner(host_memory());
    const auto results = runner->run(inputs, [&](size_t body, std::span<const Tensor> arguments) {
      made = run_reference(*layer->bodies.at(body), arguments);
      return std::span<const Tensor>(made);
    });
    return {results.begin(), results.end()};
  }
  std::vector<Tensor> outputs;
  std::vector<TensorView> input_views, output_views;
  const auto make = [&](DataType type, const Shape& shape) {
    const int64_t count = shape.volume();
    require(count <= INT64_MAX / 8 && bytes_of(type, count) <= max_bytes,
            "an output of shape {} is larger than {} bytes", shape, max_bytes);
    return Tensor(type, shape);
  };
  for (const auto& out : infer_concrete(*node.op, node.outputs.size(), given)) {
    const bool data_dependent =
        std::find(out.shape.begin(), out.shape.end(), -1) != out.shape.end();
    outputs.push_back(data_dependent ? Tensor() : make(out.type, out.shape));
    output_views.push_back(data_dependent ? TensorView{nullptr, out.type, out.shape}
                                          : view_of(outputs.back()));
  }
  for (const Tensor* t : inputs) input_views.push_back(t != nullptr ? view_of(*t) : TensorView{});
  const AllocateOutput allocate = [&](int i, const Shape& shape) {
    const auto index = static_cast<size_t>(i);
    outputs[index] = make(output_views[index].type, shape);
    return const_cast<void*>(outputs[index].data());
  };
  node.op->reference({input_views, output_views, &allocate});
  return outputs;
}

void check_input(const Value& input, const Tensor& tensor) {
  bool fits = tensor.shape().rank() == input.declared.rank();
  for (int i = 0; fits && i < input.declared.rank(); ++i)
    fits = input.declared[i] < 0 || input.declared[i] == tensor.shape()[i];
  require(fits, "input '{}' has shape {}; the network declares {}", input.name, tensor.shape(),
          input.declared);
  require(tensor.type() == input.type, "input '{}' is {}; the network declares {}", input.name,
          name_of(tensor.type()), name_of(input.type));
}

// Layers that must run before `root` is known, inputs first; empty when it is not a constant.
std::vector<Node*> layers_to_fold(Value& root) {
  std::vector<Node*> order;
  std::unordered_set<const Node*> done;
  std::vector<std::pair<Node*, bool>> stack{{root.producer, false}};
  while (!stack.empty()) {
    auto [node, inputs_done] = stack.back();
    stack.pop_back();
    if (node == nullptr || node->op->traits().runs != Runs::kKernel) return {};
    if (done.contains(node)) continue;
    if (inputs_done) {
      done.insert(node);
      order.push_back(node);
      continue;
    }
    stack.emplace_back(node, true);
    for (Value* in : node->inputs)
      if (in != nullptr && !in->constant) stack.emplace_back(in->producer, false);
  }
  return order;
}

}  // namespace

std::vector<Tensor> run_reference(const Node& node, std::span<const Tensor* const> inputs,
                                  size_t max_bytes) {
  return with_context(fmt::format("layer {}", describe(node)),
                      [&] { return run(node, inputs, max_bytes); });
}

std::vector<Tensor> run_reference(const Network& network, std::span<const Tensor> inputs) {
  require(inputs.size() == network.inputs().size(), "the network has {} inputs; {} were given",
          network.inputs().size(), inputs.size());
  std::unordered_map<const Value*, Tensor> known;
  for (size_t i = 0; i < inputs.size(); ++i) {
    check_input(*network.inputs()[i], inputs[i]);
    known[network.inputs()[i]] = inputs[i];
  }
  const auto tensor_of = [&](const Value* v) -> const Tensor* {
    if (v == nullptr) return nullptr;
    if (const auto it = known.find(v); it != known.end()) return &it->second;
    require(v->constant.has_value(), "tensor '{}' has no value", v->name);
    return &*v->constant;
  };
  for (const Node* node : network.sorted()) {
    std::vector<const Tensor*> arguments;
    for (const Value* in : node->inputs) arguments.push_back(tensor_of(in));
    std::vector<Tensor> results = run_reference(*node, arguments);
    for (size_t i = 0; i < results.size(); ++i) known[node->outputs[i]] = std::move(results[i]);
  }
  std::vector<Tensor> outputs;
  for (const Value* out : network.outputs()) outputs.push_back(*tensor_of(out));
  return outputs;
}

const Tensor* folded_constant(Value& value, size_t& budget) {
  if (value.constant) return &*value.constant;
  for (Node* node : layers_to_fold(value)) {
    std::vector<const Tensor*> arguments;
    for (const Value* in : node->inputs)
      arguments.push_back(in != nullptr ? &*in->constant : nullptr);
    std::vector<Tensor> results = run_reference(*node, arguments, budget);
    for (size_t i = 0; i < results.size(); ++i) {
      budget -= std::min(budget, results[i].bytes());
      node->outputs[i]->constant = std::move(results[i]);
    }
  }
  return value.constant ? &*value.constant : nullptr;
}

}  // namespace tenon
