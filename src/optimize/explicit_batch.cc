#include "optimize/explicit_batch.h"

#include <algorithm>

#include "ops/concatenation.h"

namespace tenon {
namespace {

// Whether tensors say what attributes else say.
bool has_operands(const Node& node) {
  return std::any_of(node.inputs.begin() + 1, node.inputs.end(),
                     [](const Value* v) { return v != nullptr; });
}

void shift(Node& node, int32_t max_batch) {
  const ImplicitBatch way = node.op->traits().implicit_batch;
  if (way == ImplicitBatch::kUnsupported)
    fail(ErrorCode::kUNSUPPORTED_STATE,
         "this layer is not supported yet in a network with an implicit batch: create the network "
         "with kEXPLICIT_BATCH");
  if (way == ImplicitBatch::kMovesAttributes && has_operands(node))
    fail(ErrorCode::kUNSUPPORTED_STATE,
         "tensors that tell what it does are not supported yet with an implicit batch");
  node.op->insert_batch_axis(max_batch);
}

bool is_shared(const Value& value) {
  return value.dims.empty() || value.dims[0]->is_integer_constant();
}

// What has one item for the whole batch cannot go everywhere.
void check_shared(const Network& network, int32_t max_batch) {
  if (max_batch == 1) return;
  for (const auto& node : network.nodes()) {
    if (node->as<Concatenation>() == nullptr) continue;
    const auto shared = [](const Value* v) { return is_shared(*v); };
    const auto count = std::count_if(node->inputs.begin(), node->inputs.end(), shared);
    if (count > 0 && count < std::ssize(node->inputs))
      fail(ErrorCode::kUNSUPPORTED_STATE,
           "layer {}: some of its inputs are constants, which have no implicit batch; joining them "
           "with tensors that have one is not supported yet",
           describe(*node));
  }
  for (const Value* output : network.outputs())
    if (is_shared(*output))
      fail(ErrorCode::kUNSUPPORTED_STATE,
           "output '{}' has the same value for all items of the batch, which is not supported yet "
           "with an implicit batch",
           output->name);
}

// Shapes are not inferred yet.
void shift(Network& network, int32_t max_batch) {
  require(max_batch >= 1, "a largest batch of {} is not possible (setMaxBatchSize)", max_batch);
  for (Value* input : network.inputs()) {
    input->declared.insert(0, -1);
    input->dimension_names = {"batch"};
  }
  for (const auto& node : network.nodes())
    with_context(fmt::format("layer {}", describe(*node)), [&] { shift(*node, max_batch); });
  network.touch();
}

}  // namespace

void infer_item(Network& network, Node& node) {
  Network alone;
  std::vector<Value*> inputs;
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    const Value* in = node.inputs[i];
    if (in == nullptr || in->is_weight()) {
      inputs.push_back(in != nullptr ? &alone.add_weight(*in->constant, in->name) : nullptr);
      continue;
    }
    Shape item;
    for (Dim extent : in->dims)
      item.push_back(extent->is_integer_constant() ? extent->value.integer : -1);
    require(item.rank() >= node.op->min_rank(i),
            "layer {}: expected input {} of rank {} or more, without the batch, found {}",
            describe(node), i, node.op->min_rank(i), item);
    inputs.push_back(&alone.add_input(fmt::format("{}", i), in->type, item));
  }
  const Node& copy = alone.add_node(node.op->clone(), std::move(inputs), node.name);
  shift(alone, 1);
  alone.infer();
  for (size_t i = 0; i < node.outputs.size(); ++i) {
    const Value& batch = *copy.outputs[i];
    Value& item = *node.outputs[i];
    item.type = batch.type;
    item.dims.clear();
    for (size_t axis = 1; axis < batch.dims.size(); ++axis) {
      require(batch.dims[axis]->is_integer_constant(),
              "layer {}: output {} has an extent that is left open; with an implicit batch, only "
              "the batch may change",
              describe(node), i);
      item.dims.push_back(network.pool().constant(batch.dims[axis]->value.integer));
    }
    item.known = true;
  }
}

void make_batch_explicit(Network& network, int32_t max_batch) {
  for (const Value* input : network.inputs())
    for (int64_t extent : input->declared)
      require(extent >= 0,
              "input '{}' is of shape {}; with an implicit batch, only the batch may change",
              input->name, input->declared);
  shift(network, max_batch);
  network.infer();
  check_shared(network, max_batch);
}

}  // namespace tenon
