#include "plan/plan_builder.h"

#include <algorithm>

#include "ops/reorder.h"
#include "plan/choose_kernel.h"
#include "plan/io_format.h"
#include "plan/profiles.h"

namespace tenon {

using Place = PlanTensor::Place;

namespace {

// Activations and other programs want the cache, too, and those of other machines that share it.
bool outgrow_cache(const Network& network, const Device& device) {
  size_t bytes = 0;
  for (const auto& value : network.values())
    if (value->constant) bytes += value->constant->bytes();
  return device.cache_bytes() > 0 && bytes > device.cache_bytes() / 4;
}

}  // namespace

PlanBuilder::PlanBuilder(const Network& network, const Schedule& schedule, const Target& target,
                         const BuildOptions& options)
    : network(network),
      schedule(schedule),
      target(target),
      options(options),
      cold_weights(outgrow_cache(network, target.device())) {
  plan.name = network.name;
  plan.target = target.name();
  plan.fingerprint = target.fingerprint();
  plan.instruction_set = target.instruction_set();
  plan.verbosity = options.verbosity;
  plan.max_batch = options.max_batch;
  if (!target.device().is_host() && !options.is_body) plan.aux_streams = options.aux_streams;
  plan.tf32 = options.tf32;
}

void PlanBuilder::add_shape(const Value& v) {
  if (has_shape(v)) return;
  auto& slots = extents_[&v];
  for (Dim d : v.dims) slots.push_back(plan.shapes.add(d));
  if (!schedule.on_host(v)) return;
  auto& elements = contents_[&v];  // also when there are none
  for (Dim d : *v.content) elements.push_back(plan.shapes.add(d));
}

void PlanBuilder::set_estimates() {
  const auto symbols = symbols_at(plan, plan.profiles[0], ProfilePoint::kOpt);
  optimum_ = estimated_slots(plan, symbols, options.is_body);
  largest_ = options.is_body ? optimum_ : largest_slots(plan, symbols);
}

Shape PlanBuilder::shape_at(const std::vector<int32_t>& extents, const std::vector<Number>& slots) {
  Shape shape;
  for (int32_t slot : extents) {
    const Number& extent = slots[static_cast<size_t>(slot)];
    shape.push_back(extent.is_known ? extent.integer : -1);
  }
  return shape;
}

ShapeRange PlanBuilder::range_of(const Node& node) const {
  ShapeRange range;
  for (const auto& [point, shapes] :
       {std::pair{ProfilePoint::kMin, &range.min}, std::pair{ProfilePoint::kMax, &range.max}}) {
    const auto slots = plan.shapes.evaluate(symbols_at(plan, plan.profiles[0], point));
    for (const auto* list : {&node.inputs, &node.outputs})
      for (const Value* v : *list)
        shapes->push_back(v != nullptr ? shape_at(extents_.at(v), slots) : Shape());
  }
  return range;
}

int32_t PlanBuilder::add_tensor(PlanTensor t) {
  plan.tensors.push_back(std::move(t));
  last_use_.push_back(-1);
  return static_cast<int32_t>(plan.tensors.size() - 1);
}

int32_t PlanBuilder::add_tensor(const Value& v, Place place, Layout layout) {
  PlanTensor t;
  t.name = v.name;
  t.type = v.type;
  t.layout = layout;
  t.place = place;
  t.extents = extents_.at(&v);
  const int32_t index = add_tensor(std::move(t));
  tensors_[&v] = index;
  last_use_.back() = schedule.last_use(v);
  return index;
}

int32_t PlanBuilder::view(const Value& v, int32_t of, Layout layout) {
  PlanTensor t;
  t.name = v.name;
  t.type = v.type;
  t.layout = layout;
  t.place = Place::kAlias;
  t.alias_of = of;
  t.extents = extents_.at(&v);
  const int32_t index = add_tensor(std::move(t));
  last_use_.back() = schedule.last_use(v);
  keep_until(of, last_use_.back());
  return index;
}

int32_t PlanBuilder::add_view(const Value& v, int32_t of, Layout layout) {
  return tensors_[&v] = view(v, of, layout);
}

int32_t PlanBuilder::tensor_of(const Value& v) const {
  const auto it = tensors_.find(&v);
  return it == tensors_.end() ? -1 : it->second;
}

int32_t PlanBuilder::source_of(const Value& v) {
  if (const int32_t known = tensor_of(v); known >= 0) return known;
  if (v.constant) {
    const int32_t t = add_tensor(v, Place::kWeight, Layout::kLinear);
    at(t).weight = add_weight(*v.constant);
    return t;
  }
  const int32_t t = add_tensor(v, Place::kHost, Layout::kLinear);
  at(t).content = contents(v);
  return t;
}

int32_t PlanBuilder::readable_of(const Value& v) {
  const int32_t made = source_of(v);
  const Layout layout = at(made).layout;
  if (!foreign_.contains(&v) || layout == Layout::kLinear) return made;
  const auto [found, is_new] = readable_.try_emplace(&v, made);
  if (!is_new) return found->second;
  const Layout dense = unpadded(v, layout);
  const bool is_last = has_channels_last(layout) && channel_axis(layout) == 1;
  const bool is_block_of_device =
      channel_block(layout) > 1 && !is_last && !target.device().is_host();
  if (dense != layout)
    found->second = view(v, made, dense);
  else if (is_io_only(layout) || is_block_of_device || !fills_groups(v, layout))
    found->second = in_layout(made, is_last ? Layout::kChannelsLast : Layout::kLinear);
  return found->second;
}

int32_t PlanBuilder::in_layout(int32_t tensor, Layout layout) {
  const Layout from = at(tensor).layout;
  if (from == layout) return tensor;
  const auto key = std::pair{tensor, layout};
  if (const auto it = reordered_.find(key); it != reordered_.end()) return it->second;
  const bool moves_channels = from != Layout::kLinear && layout != Layout::kLinear
                              && channel_axis(from) != channel_axis(layout);
  const int32_t source = moves_channels ? in_layout(tensor, Layout::kLinear) : tensor;
  return reordered_[key] = reorder(source, layout);
}

int32_t PlanBuilder::reorder(int32_t tensor, Layout layout) {
  const PlanTensor& source = at(tensor);
  PlanTensor copy;
  copy.name = fmt::format("{} [{}]", source.name, name_of(layout));
  copy.type = source.type;
  copy.layout = layout;
  copy.extents = source.extents;
  Reorder op;
  op.from = source.layout;
  op.to = layout;
  const std::string name = fmt::format("Reorder {}", copy.name);
  const int32_t uses = last_use_[static_cast<size_t>(tensor)];
  const int32_t result = add_tensor(std::move(copy));
  last_use_[static_cast<size_t>(result)] = uses;
  add_copy(op, tensor, result, name);
  return result;
}

int32_t PlanBuilder::add_weight(const Tensor& t) {
  const auto [first, last] = weights_at_.equal_range(t.data());
  for (auto it = first; it != last; ++it) {
    const Tensor& known = plan.weights[static_cast<size_t>(it->second)];
    if (known.type() == t.type() && known.shape() == t.shape()) return it->second;
  }
  const auto index = static_cast<int32_t>(plan.weights.size());
  plan.weights.push_back(t);
  weights_at_.emplace(t.data(), index);
  return index;
}

void PlanBuilder::keep_until(int32_t tensor, int32_t last) {
  int32_t& uses = last_use_[static_cast<size_t>(plan.root_of(tensor))];
  uses = std::max(uses, last);
}

bool PlanBuilder::may_overwrite(const std::vector<int32_t>& inputs, size_t which) const {
  const int32_t root = plan.root_of(inputs[which]);
  if (at(root).place != Place::kArena) return false;
  if (last_use_[static_cast<size_t>(root)] > position) return false;
  for (size_t i = 0; i < inputs.size(); ++i)
    if (i != which && inputs[i] >= 0 && plan.root_of(inputs[i]) == root) return false;
  return true;
}

PlanStep step_of(const Node* node, const Op& op, const std::string& name) {
  PlanStep step;
  step.name = name;
  step.metadata = node != nullptr ? node->metadata : "";
  step.op = op.name();
  step.attributes = fields_of(op);
  step.layer = op.kind();
  return step;
}

void PlanBuilder::add_step(const Node* node, const Op& op, const std::string& name,
                           std::unique_ptr<Kernel> kernel, std::vector<int32_t> inputs,
                           std::vector<int32_t> outputs) {
  PlanStep step = step_of(node, op, name);
  step.kernel = kernel->name;
  step.variant = kernel->variant;
  if (kernel->error) {
    step.largest_error = kernel->error->largest;
    step.rms_error = kernel->error->rms;
  }
  StoredKernel stored = kernel->store();
  step.state = std::move(stored.state);
  for (const Tensor& t : stored.packed) step.packed.push_back(add_weight(t));
  step.inputs = std::move(inputs);
  step.outputs = std::move(outputs);
  plan.steps.push_back(std::move(step));
  kernels.push_back(std::move(kernel));
}

void PlanBuilder::add_copy(const Op& op, int32_t from, int32_t to, const std::string& name) {
  const Shape shape = optimum_shape(from);
  const TensorSpec in{at(from).type, at(from).layout, shape, true};
  const TensorSpec out{at(to).type, at(to).layout, shape, true};
  const Tensor* constant = nullptr;
  const KernelRequest request{op, {&in, 1}, {&out, 1}, {&constant, 1}};
  add_step(nullptr, op, name, choose_kernel(target, request, name, options), {from}, {to});
}

}  // namespace tenon
