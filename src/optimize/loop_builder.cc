#include "optimize/loop_builder.h"

#include "network/clone.h"

namespace tenon {

LoopBuilder::LoopBuilder(const std::string& name) : body_(name) {
  body_.add_input(DataType::kINT64, {});
  running_ = &body_.add_input(DataType::kBOOL, {});
}

Value& LoopBuilder::add_input(Value& outer, const Dims& dims) {
  inputs.push_back(&outer);
  return body_.add_input(outer.type, dims);
}

void LoopBuilder::add_state(const Node& recurrence, Value& first) {
  body_.define(*recurrence.outputs[0], add_input(first, first.dims));
  ++op->state_count;
  BodyOutput output{first.type, {}};
  for (size_t axis = 0; axis < first.dims.size(); ++axis)
    output.extents.push_back(BodyExtent::of_input(newest_input(), static_cast<int>(axis)));
  op->outputs.add(output);
}

void LoopBuilder::add_scan(const Node& node, Value& scanned) {
  const auto& iterator = *node.as<LoopIterator>();
  op->scan_axes.push_back(iterator.axis);
  op->scan_reverse.push_back(iterator.reverse);
  Value& slice = add_input(scanned, node.outputs[0]->dims);
  body_.define(*node.outputs[0], slice);
  sources_[&slice] = {newest_input(), iterator.axis};
}

void LoopBuilder::set_limits(Value* count, Value* condition) {
  inputs[0] = count;
  op->condition_first = condition != nullptr;
  if (condition != nullptr) condition_ = &body_.of(*condition);
}

Value& LoopBuilder::next_value(const Value& first, Value& next) {
  Value& inner = body_.of(next);
  require(first.type == inner.type,
          "its first value is {} (tensor '{}'), the next one {} (tensor '{}')", name_of(first.type),
          first.name, name_of(inner.type), next.name);
  require(first.dims.size() == inner.dims.size(),
          "its first value has {} dimensions, the next one (tensor '{}') {}", first.dims.size(),
          next.name, inner.dims.size());
  for (size_t axis = 0; axis < first.dims.size(); ++axis) {
    const Dim a = first.dims[axis], b = inner.dims[axis];
    require(!a->is_constant() || !b->is_constant() || a->value.integer == b->value.integer,
            "its first value has extent {} along axis {}, the next one (tensor '{}') {}: a value "
            "keeps its shape in all iterations",
            text_of(a), axis, next.name, text_of(b));
  }
  return inner;
}

void LoopBuilder::add_slice(const Node& node, Value& slice, Value& length) {
  const auto& exit = *node.as<LoopExit>();
  slices_.push_back(&body_.of(slice));
  op->collect_axes.push_back(exit.axis);
  op->collect_reverse.push_back(exit.output == nvinfer1::LoopOutput::kREVERSE);
  op->collect_lengths.push_back(
      &length == inputs[0] ? 0 : static_cast<int64_t>(inputs.size() + body_.capture(length)));
}

// With a condition, a second body makes it alone.
void LoopBuilder::make_bodies() {
  op->bodies = {body_.network()};
  if (condition_ == nullptr) return;
  Value& output = body_.mark_output(*condition_);
  op->bodies.push_back(clone(*body_.network()));
  op->bodies.back()->infer();
  body_.network()->unmark_output(output);
}

void LoopBuilder::finish(const std::vector<Value*>& next) {
  make_bodies();
  body_.mark_output(*running_);
  for (Value* v : next) body_.mark_output(*v);
  const Network& network = *body_.network();
  for (size_t i = 0; i < network.inputs().size(); ++i)
    if (const int from = op->layer_input(i); from >= 0) sources_[network.inputs()[i]] = {from, -1};
  for (size_t i = 0; i < slices_.size(); ++i) {
    body_.mark_output(*slices_[i]);
    BodyOutput output = body_output(network, network.outputs().size() - 1, sources_);
    output.extents.insert(output.extents.begin() + op->collect_axes[i],
                          BodyExtent::of_element(static_cast<int>(op->collect_lengths[i])));
    op->outputs.add(output);
  }
  inputs.insert(inputs.end(), body_.captured().begin(), body_.captured().end());
}

}  // namespace tenon
