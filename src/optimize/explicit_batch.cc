#include "optimize/explicit_batch.h"

#include <algorithm>

#include "ops/concatenation.h"
#include "ops/constant.h"
#include "ops/matrix_multiply.h"
#include "ops/plugin.h"
#include "ops/reduce.h"
#include "ops/resize.h"
#include "ops/scale.h"
#include "ops/shuffle.h"
#include "ops/slice.h"
#include "ops/softmax.h"
#include "ops/top_k.h"

namespace tenon {
namespace {

void shift(uint32_t& axes) {
  require(axes >> Shape::kMaxRank == 0, "the axes {:#x} name some that no tensor has", axes);
  axes <<= 1;
}

void shift(std::vector<int32_t>& permutation) {
  if (permutation.empty()) return;
  for (int32_t& axis : permutation) ++axis;
  permutation.insert(permutation.begin(), 0);
}

void shift(Shuffle& op) {
  shift(op.first_transpose);
  shift(op.second_transpose);
  if (!op.has_reshape) return;
  const bool empty = std::count(op.reshape.begin(), op.reshape.end(), 0) > 0;
  require(op.zero_is_placeholder || !empty,
          "a reshape to an empty tensor is not supported yet with an implicit batch");
  op.zero_is_placeholder = true;
  op.reshape.insert(0, 0);  // as many items as there are
}

void shift(Slice& op) {
  if (op.axes.rank() == 0)
    for (int axis = 0; axis < op.start.rank(); ++axis) op.axes.push_back(axis);
  for (int i = 0; i < op.axes.rank(); ++i) op.axes[i] += op.axes[i] >= 0 ? 1 : 0;
}

void shift(Resize& op) {
  if (op.output_size.rank() > 0 || op.scales.empty())
    fail(ErrorCode::kUNSUPPORTED_STATE,
         "output dimensions are not supported yet with an implicit batch: call setScales");
  op.scales.insert(op.scales.begin(), 1.f);
}

// Kinds that name no axes, or count them from the last one.
bool names_no_axes(LayerType kind) {
  switch (kind) {
    case LayerType::kACTIVATION:
    case LayerType::kCAST:
    case LayerType::kCONVOLUTION:
    case LayerType::kDECONVOLUTION:
    case LayerType::kELEMENTWISE:
    case LayerType::kIDENTITY:
    case LayerType::kLRN:
    case LayerType::kMATRIX_MULTIPLY:
    case LayerType::kPADDING:
    case LayerType::kPARAMETRIC_RELU:
    case LayerType::kPOOLING:
    case LayerType::kSELECT:
    case LayerType::kUNARY:
      return true;
    default:
      return kind == layer_type(PrivateLayer::kFullyConnected);
  }
}

// Dimensions or a number that a tensor gives.
bool is_told_by_tensors(const Node& node) {
  const LayerType kind = node.kind();
  return (kind == LayerType::kSHUFFLE || kind == LayerType::kSLICE || kind == LayerType::kRESIZE
          || kind == LayerType::kTOPK)
         && std::any_of(node.inputs.begin() + 1, node.inputs.end(),
                        [](const Value* v) { return v != nullptr; });
}

void shift(Node& node, int32_t most) {
  if (is_told_by_tensors(node))
    fail(ErrorCode::kUNSUPPORTED_STATE,
         "tensors that tell what it does are not supported yet with an implicit batch");
  if (auto* constant = node.as<Constant>())
    constant->dimensions.insert(0, 1);
  else if (auto* scale = node.as<Scale>())
    ++scale->channel_axis;
  else if (auto* concatenation = node.as<Concatenation>())
    concatenation->axis += concatenation->axis >= 0 ? 1 : 0;
  else if (auto* softmax = node.as<Softmax>())
    shift(softmax->axes);
  else if (auto* reduce = node.as<Reduce>())
    shift(reduce->axes);
  else if (auto* top = node.as<TopK>())
    shift(top->axes);
  else if (auto* shuffle = node.as<Shuffle>())
    shift(*shuffle);
  else if (auto* slice = node.as<Slice>())
    shift(*slice);
  else if (auto* resize = node.as<Resize>())
    shift(*resize);
  else if (auto* plugin = node.as<PluginV2Layer>())
    plugin->set_max_batch(most);
  else if (!names_no_axes(node.kind()))
    fail(ErrorCode::kUNSUPPORTED_STATE,
         "this layer is not supported yet in a network with an implicit batch: create the network "
         "with kEXPLICIT_BATCH");
}

// How many dimensions of input `index` the layer looks at, which must not reach the batch.
int least_rank(const Node& node, size_t index) {
  if (const auto* product = node.as<MatrixMultiply>(); product != nullptr && index < 2) {
    const auto operation = index == 0 ? product->operation_a : product->operation_b;
    return operation == nvinfer1::MatrixOperation::kVECTOR ? 1 : 2;
  }
  if (node.kind() == LayerType::kPADDING) return 2;
  if (node.kind() == layer_type(PrivateLayer::kFullyConnected) && index == 0) return 3;
  return 0;
}

bool is_shared(const Value& value) {
  return value.dims.empty() || value.dims[0]->is_integer_constant();
}

// What has one item for the whole batch cannot go everywhere.
void check_shared(const Network& network, int32_t most) {
  if (most == 1) return;
  for (const auto& node : network.nodes()) {
    if (node->kind() != LayerType::kCONCATENATION) continue;
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
void shift(Network& network, int32_t most) {
  require(most >= 1, "a largest batch of {} is not possible (setMaxBatchSize)", most);
  for (Value* input : network.inputs()) {
    input->declared.insert(0, -1);
    input->dimension_names = {"batch"};
  }
  for (const auto& node : network.nodes())
    with_context(fmt::format("layer {}", describe(*node)), [&] { shift(*node, most); });
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
    require(item.rank() >= least_rank(node, i),
            "layer {}: expected input {} of rank {} or more, without the batch, found {}",
            describe(node), i, least_rank(node, i), item);
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

void make_batch_explicit(Network& network, int32_t most) {
  for (const Value* input : network.inputs())
    for (int64_t extent : input->declared)
      require(extent >= 0,
              "input '{}' is of shape {}; with an implicit batch, only the batch may change",
              input->name, input->declared);
  shift(network, most);
  network.infer();
  check_shared(network, most);
}

}  // namespace tenon
