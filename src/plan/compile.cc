#include "plan/compile.h"

#include <algorithm>
#include <set>

#include "network/control_flow.h"
#include "ops/cast.h"
#include "ops/identity.h"
#include "ops/reorder.h"
#include "ops/shuffle.h"
#include "optimize/optimize.h"
#include "plan/kernels.h"
#include "plan/memory.h"
#include "plan/profiles.h"
#include "plan/stages.h"
#include "plan/time_kernel.h"

namespace tenon {
namespace {

constexpr const char* kPhase = "Building the plan";
constexpr const char* kKernelPhase = "Choosing kernels";
constexpr int32_t kForever = INT32_MAX;

using Place = PlanTensor::Place;

/// Calls visit(index) for each symbol of an expression.
template <class Visit> void for_each_symbol(Dim root, std::set<Dim>& seen, const Visit& visit) {
  std::vector<Dim> stack{root};
  while (!stack.empty()) {
    const Dim d = stack.back();
    stack.pop_back();
    if (d == nullptr || !seen.insert(d).second) continue;
    if (d->op == ExprOp::kSymbol) visit(d->payload);
    for (Dim child : {d->a, d->b, d->c}) stack.push_back(child);
  }
}

bool is_identity(const std::vector<int32_t>& permutation) {
  for (size_t i = 0; i < permutation.size(); ++i)
    if (permutation[i] != static_cast<int32_t>(i)) return false;
  return true;
}

/// A layer that only renames or reshapes: its output is its input's memory.
bool is_view(const Node& node) {
  if (node.as<Identity>() != nullptr) return true;
  const auto* shuffle = node.as<Shuffle>();
  return shuffle != nullptr && is_identity(shuffle->first_transpose)
         && is_identity(shuffle->second_transpose);
}

class Compiler {
 public:
  Compiler(Network& network, const Target& target, const BuildOptions& options)
      : network_(network), target_(target), options_(options) {}

  Plan run() {
    plan_.name = network_.name;
    plan_.target = target_.name();
    plan_.fingerprint = target_.fingerprint();
    plan_.instruction_set = target_.instruction_set();
    plan_.verbosity = options_.verbosity;
    require(!network_.outputs().empty(), "the network has no outputs: mark at least one");
    find_late_symbols();
    find_shape_symbols();
    find_needed();
    bind_inputs();
    add_shapes();
    evaluate_profiles();
    if (options_.progress != nullptr)
      options_.progress->begin(kKernelPhase, kPhase, static_cast<int>(needed_.size()));
    for (size_t i = 0; i < needed_.size(); ++i) {
      position_ = static_cast<int32_t>(i);
      emit(*needed_[i]);
      if (options_.progress != nullptr && !options_.progress->step(kKernelPhase, position_))
        fail(ErrorCode::kUNSPECIFIED_ERROR, "the build was cancelled");
    }
    if (options_.progress != nullptr) options_.progress->end(kKernelPhase);
    bind_outputs();
    bind_late_symbols();
    if (!options_.is_body) measure_memory();
    return std::move(plan_);
  }

 private:
  // Passes may have made constants of what was late.
  void find_late_symbols() {
    const auto is_late = [](const Symbol& s) { return s.is_late(); };
    has_late_ = std::any_of(network_.symbols().begin(), network_.symbols().end(), is_late);
    if (has_late_) network_.infer();
  }

  // An element of an integer input is a shape when some extent depends on it; elements that are
  // read back were asked for by a shape rule.
  void find_shape_symbols() {
    std::set<Dim> seen;
    for (const auto& v : network_.values())
      for (Dim d : v->dims) for_each_symbol(d, seen, [&](int64_t s) { shape_symbols_.insert(s); });
    for (size_t s = 0; s < network_.symbols().size(); ++s)
      if (network_.symbols()[s].is_late()) shape_symbols_.insert(static_cast<int64_t>(s));
  }

  bool is_shape_input(const Value& v) const {
    for (int64_t s : shape_symbols_) {
      const Symbol& symbol = network_.symbols()[static_cast<size_t>(s)];
      if (symbol.kind == Symbol::Kind::kElement && symbol.value == &v) return true;
    }
    return false;
  }

  // Values whose elements are known when shapes are set need no kernel.
  bool on_host(const Value& v) {
    if (!v.content || v.constant || v.is_input) return false;
    const auto [it, fresh] = on_host_.try_emplace(&v, true);
    if (!fresh) return it->second;
    std::set<Dim> seen;
    bool known = true;
    for (Dim d : *v.content)
      for_each_symbol(d, seen, [&](int64_t s) {
        const Symbol& symbol = network_.symbols()[static_cast<size_t>(s)];
        known &= symbol.kind == Symbol::Kind::kExtent || shape_symbols_.contains(s);
        // The layer that makes it tells its elements.
        known &= symbol.kind == Symbol::Kind::kExtent || symbol.value != &v;
      });
    return on_host_[&v] = known;
  }

  void find_needed() {
    std::set<const Node*> needed;
    std::set<const Value*> visited;
    std::vector<Value*> stack(network_.outputs());
    for (const auto& node : network_.nodes())
      if (node->outputs.empty())
        stack.insert(stack.end(), node->inputs.begin(), node->inputs.end());
    while (!stack.empty()) {
      Value* v = stack.back();
      stack.pop_back();
      if (v == nullptr || !visited.insert(v).second) continue;
      for_each_late(*v, [&](const Symbol& s) { stack.push_back(s.value); });
      if (on_host(*v) || v->constant || v->producer == nullptr) continue;
      if (!needed.insert(v->producer).second) continue;
      for (Value* in : v->producer->inputs) stack.push_back(in);
    }
    // Layers without outputs are there for what they check.
    for (Node* node : network_.sorted())
      if (needed.contains(node) || node->outputs.empty()) needed_.push_back(node);
    if (has_late_) sort_by_stage();
    for (size_t i = 0; i < needed_.size(); ++i)
      for (const Value* in : needed_[i]->inputs)
        if (in != nullptr) last_use_[in] = static_cast<int32_t>(i);
    for (const Value* out : network_.outputs()) last_use_[out] = kForever;
  }

  // The late symbols that the extents of a value, and its elements on the host, depend on.
  template <class Visit> void for_each_late(const Value& v, const Visit& visit) {
    if (!has_late_) return;
    std::set<Dim> seen;
    const auto look = [&](int64_t s) {
      const Symbol& symbol = network_.symbols()[static_cast<size_t>(s)];
      if (symbol.is_late()) visit(symbol);
    };
    for (Dim d : v.dims) for_each_symbol(d, seen, look);
    if (on_host(v))
      for (Dim d : *v.content) for_each_symbol(d, seen, look);
  }

  // Layers whose sizes are known early come first, so that the others wait for as few as possible.
  void sort_by_stage() {
    std::map<const Node*, int> stages;
    std::set<const Value*> read_back;
    for (const Symbol& s : network_.symbols())
      if (s.is_late() && s.kind == Symbol::Kind::kElement) read_back.insert(s.value);
    const auto of = [&](const Node* node) {
      const auto it = stages.find(node);
      return it == stages.end() ? 0 : it->second;
    };
    for (const Node* node : network_.sorted()) {
      int stage = 0;
      const auto look = [&](const Value* v) {
        if (v == nullptr) return;
        for_each_late(*v, [&](const Symbol& s) {
          if (s.value->producer != node) stage = std::max(stage, of(s.value->producer) + 1);
        });
      };
      for (const Value* in : node->inputs) {
        look(in);
        if (in == nullptr || in->producer == nullptr) continue;
        stage = std::max(stage, of(in->producer) + (read_back.contains(in) ? 1 : 0));
      }
      for (const Value* out : node->outputs) look(out);
      stages[node] = stage;
    }
    std::stable_sort(needed_.begin(), needed_.end(),
                     [&](const Node* a, const Node* b) { return of(a) < of(b); });
  }

  int32_t add_tensor(PlanTensor t) {
    plan_.tensors.push_back(std::move(t));
    root_last_use_.push_back(-1);
    return static_cast<int32_t>(plan_.tensors.size() - 1);
  }

  // The plan's tensor for a value, in the layout in which it was produced.
  int32_t tensor_for(const Value& v, Place place, Layout layout) {
    PlanTensor t;
    t.name = v.name;
    t.type = v.type;
    t.layout = layout;
    t.place = place;
    t.extents = extents_.at(&v);
    const int32_t index = add_tensor(std::move(t));
    tensors_[&v] = index;
    root_last_use_.back() = last_use(v);
    return index;
  }

  int32_t last_use(const Value& v) const {
    const auto it = last_use_.find(&v);
    return it == last_use_.end() ? -1 : it->second;
  }

  void bind_inputs() {
    std::map<const Value*, int32_t> binding_of;
    for (Value* v : network_.inputs()) {
      auto& slots = extents_[v];
      for (Dim d : v->dims) slots.push_back(plan_.shapes.add(d));
      PlanBinding b;
      b.is_input = true;
      b.is_shape = is_shape_input(*v);
      b.declared = v->declared;
      b.dimension_names.assign(v->dimension_names.begin(),
                               v->dimension_names.begin() + v->declared.rank());
      b.tensor = tensor_for(*v, Place::kInput, Layout::kLinear);
      binding_of[v] = static_cast<int32_t>(plan_.bindings.size());
      plan_.bindings.push_back(std::move(b));
      require((v->allowed_formats & 1u) != 0,
              "input '{}': only the linear format is supported yet; allow TensorFormat::kLINEAR",
              v->name);
    }
    for (const Symbol& s : network_.symbols())
      plan_.symbols.push_back({binding_of.count(s.value) != 0 ? binding_of.at(s.value) : -1,
                               s.kind == Symbol::Kind::kElement, s.index});
  }

  void bind_late_symbols() {
    for (size_t s = 0; s < plan_.symbols.size(); ++s) {
      const Symbol& symbol = network_.symbols()[s];
      const auto it = symbol.is_late() ? tensors_.find(symbol.value) : tensors_.end();
      if (it == tensors_.end()) continue;
      plan_.symbols[s].tensor = it->second;
    }
  }

  // Whether running the layer tells an extent of its output.
  bool is_late(const Value& v) const {
    bool late = false;
    std::set<Dim> seen;
    for (Dim d : v.dims)
      for_each_symbol(d, seen, [&](int64_t s) {
        const Symbol& symbol = network_.symbols()[static_cast<size_t>(s)];
        late |= symbol.is_late() && symbol.value->producer == v.producer;
      });
    return late;
  }

  void add_shapes() {
    const auto add = [&](const Value* v) {
      if (v == nullptr || extents_.contains(v)) return;
      auto& slots = extents_[v];
      for (Dim d : v->dims) slots.push_back(plan_.shapes.add(d));
      if (!on_host(*v)) return;
      auto& elements = contents_[v];  // also when there are none
      for (Dim d : *v->content) elements.push_back(plan_.shapes.add(d));
    };
    for (const Node* node : needed_) {
      for (const Value* v : node->inputs) add(v);
      for (const Value* v : node->outputs) add(v);
    }
    for (const Value* v : network_.outputs()) add(v);
    for (size_t s = 0; s < plan_.symbols.size(); ++s) {
      const Symbol& symbol = network_.symbols()[s];
      if (!symbol.is_late() || !extents_.contains(symbol.value)) continue;
      if (symbol.most != nullptr) plan_.symbols[s].most = plan_.shapes.add(symbol.most);
      if (symbol.likely != nullptr) plan_.symbols[s].likely = plan_.shapes.add(symbol.likely);
    }
    plan_.shapes.symbol_count = static_cast<int64_t>(plan_.symbols.size());
  }

  void evaluate_profiles() {
    std::vector<bool> is_shape;
    for (const PlanBinding& b : plan_.bindings) is_shape.push_back(b.is_shape);
    plan_.profiles = resolve_profiles(network_, options_.profiles, is_shape);
    const auto at_optimum = symbols_at(plan_, plan_.profiles[0], ProfilePoint::kOpt);
    optimum_ = estimated_slots(plan_, at_optimum, options_.is_body);
    largest_ = options_.is_body ? optimum_ : largest_slots(plan_, at_optimum);
    if (options_.is_body) return;
    for (size_t p = 0; p < plan_.profiles.size(); ++p)
      for (const auto& [point, name] :
           {std::pair{ProfilePoint::kMin, "minimum"}, std::pair{ProfilePoint::kMax, "maximum"},
            std::pair{ProfilePoint::kOpt, "optimum"}})
        with_context(fmt::format("profile {} at its {}", p, name), [&] {
          const auto values = plan_.shapes.evaluate(symbols_at(plan_, plan_.profiles[p], point));
          for (const auto& [v, slots] : extents_)
            for (int32_t slot : slots) {
              const Number& extent = values[static_cast<size_t>(slot)];
              require(extent.integer >= 0 || !extent.is_known(),
                      "tensor '{}' would have a negative extent ({})", v->name, extent.integer);
            }
        });
  }

  Shape shape_at(const Value& v, const std::vector<Number>& slots) const {
    Shape s;
    for (int32_t slot : extents_.at(&v)) {
      const Number& extent = slots[static_cast<size_t>(slot)];
      s.push_back(extent.is_known() ? extent.integer : -1);
    }
    return s;
  }
  Shape optimum_shape(const Value& v) const { return shape_at(v, optimum_); }

  int32_t add_weight(const Tensor& t) {
    for (size_t i = 0; i < plan_.weights.size(); ++i)
      if (plan_.weights[i].data() == t.data() && plan_.weights[i].type() == t.type()
          && plan_.weights[i].shape() == t.shape())
        return static_cast<int32_t>(i);
    plan_.weights.push_back(t);
    return static_cast<int32_t>(plan_.weights.size() - 1);
  }

  // Where the value lies, made on first need for constants and host values.
  int32_t source_of(const Value& v) {
    if (const auto it = tensors_.find(&v); it != tensors_.end()) return it->second;
    if (v.constant) {
      const int32_t t = tensor_for(v, Place::kWeight, Layout::kLinear);
      plan_.tensors[static_cast<size_t>(t)].weight = add_weight(*v.constant);
      return t;
    }
    const int32_t t = tensor_for(v, Place::kHost, Layout::kLinear);
    plan_.tensors[static_cast<size_t>(t)].content = contents_.at(&v);
    return t;
  }

  void add_step(const Node* node, const Op& op, const std::string& name,
                std::unique_ptr<Kernel> kernel, std::vector<int32_t> inputs,
                std::vector<int32_t> outputs) {
    PlanStep step;
    step.name = name;
    step.metadata = node != nullptr ? node->metadata : "";
    step.op = op.name();
    step.attributes = fields_of(op);
    step.layer = op.kind();
    step.kernel = kernel->name;
    StoredKernel stored = kernel->store();
    step.state = std::move(stored.state);
    for (const Tensor& t : stored.packed) step.packed.push_back(add_weight(t));
    step.inputs = std::move(inputs);
    step.outputs = std::move(outputs);
    plan_.steps.push_back(std::move(step));
    kernels_.push_back(std::move(kernel));
  }

  // A step that copies, converts or reorders `from` into `to`.
  void add_copy(const Op& op, int32_t from, int32_t to, const std::string& name) {
    const PlanTensor& source = plan_.tensors[static_cast<size_t>(from)];
    const PlanTensor& result = plan_.tensors[static_cast<size_t>(to)];
    Shape shape;
    for (int32_t slot : source.extents)
      shape.push_back(optimum_[static_cast<size_t>(slot)].integer);
    const TensorSpec in{source.type, source.layout, shape, true};
    const TensorSpec out{result.type, result.layout, shape, true};
    const Tensor* constant = nullptr;
    const KernelRequest request{op, {&in, 1}, {&out, 1}, {&constant, 1}};
    add_step(nullptr, op, name, choose_kernel(target_, request, name, options_), {from}, {to});
  }

  int32_t in_layout(int32_t tensor, Layout layout) {
    const PlanTensor& source = plan_.tensors[static_cast<size_t>(tensor)];
    if (source.layout == layout) return tensor;
    const auto key = std::pair{tensor, layout};
    if (const auto it = reordered_.find(key); it != reordered_.end()) return it->second;
    PlanTensor copy;
    copy.name = fmt::format("{} [{}]", source.name, name_of(layout));
    copy.type = source.type;
    copy.layout = layout;
    copy.extents = source.extents;
    Reorder op;
    op.from = source.layout;
    op.to = layout;
    const std::string name = fmt::format("Reorder {}", copy.name);
    const int32_t uses = root_last_use_[static_cast<size_t>(tensor)];
    const int32_t result = add_tensor(std::move(copy));
    root_last_use_[static_cast<size_t>(result)] = uses;
    add_copy(op, tensor, result, name);
    return reordered_[key] = result;
  }

  void emit_view(const Node& node) {
    const int32_t source = in_layout(source_of(*node.inputs[0]), Layout::kLinear);
    const Value& v = *node.outputs[0];
    const int32_t view = tensor_for(v, Place::kAlias, Layout::kLinear);
    plan_.tensors[static_cast<size_t>(view)].alias_of = source;
    int32_t& uses = root_last_use_[static_cast<size_t>(plan_.root_of(source))];
    uses = std::max(uses, last_use(v));
  }

  // The output overwrites this input, so nobody else may need what is there.
  bool may_overwrite(int32_t tensor, const std::vector<int32_t>& inputs, size_t which) const {
    const int32_t root = plan_.root_of(tensor);
    if (plan_.tensors[static_cast<size_t>(root)].place != Place::kArena) return false;
    if (root_last_use_[static_cast<size_t>(root)] > position_) return false;
    for (size_t i = 0; i < inputs.size(); ++i)
      if (i != which && inputs[i] >= 0 && plan_.root_of(inputs[i]) == root) return false;
    return true;
  }

  void emit(const Node& node) {
    if (is_view(node) && !node.outputs[0]->is_output
        && node.inputs[0]->type == node.outputs[0]->type)
      return emit_view(node);
    std::vector<TensorSpec> inputs, outputs;
    std::vector<const Tensor*> constants;
    for (const Value* v : node.inputs) {
      if (v == nullptr) {
        inputs.push_back({DataType::kFLOAT, Layout::kLinear, {}, false});
        constants.push_back(nullptr);
        continue;
      }
      const auto it = tensors_.find(v);
      const Layout layout = it == tensors_.end()
                                ? Layout::kLinear
                                : plan_.tensors[static_cast<size_t>(it->second)].layout;
      inputs.push_back({v->type, layout, optimum_shape(*v), true});
      constants.push_back(v->constant ? &*v->constant : nullptr);
    }
    for (const Value* v : node.outputs)
      outputs.push_back({v->type, Layout::kLinear, optimum_shape(*v), true,
                         is_late(*v) ? shape_at(*v, largest_) : Shape()});
    if (ControlFlow* layer = dynamic_cast<ControlFlow*>(node.op.get()))
      return emit_control_flow(node, *layer);
    const KernelRequest request{*node.op, inputs, outputs, constants};
    auto kernel = choose_kernel(target_, request, describe(node), options_);

    std::vector<int32_t> in, out;
    for (size_t i = 0; i < inputs.size(); ++i) {
      if (!inputs[i].present)
        in.push_back(-1);
      else if (kernel->input_is_packed[i])
        in.push_back(packed_tensor(*node.inputs[i]));
      else
        in.push_back(in_layout(source_of(*node.inputs[i]), kernel->input_layouts[i]));
    }
    for (size_t i = 0; i < outputs.size(); ++i)
      out.push_back(output_tensor(*node.outputs[i], kernel->output_layouts[i]));
    if (kernel->aliased_input >= 0) alias(static_cast<size_t>(kernel->aliased_input), in, out[0]);
    note_plugin(node);
    add_step(&node, *node.op, node.name, std::move(kernel), std::move(in), std::move(out));
  }

  int32_t output_tensor(const Value& v, Layout layout) {
    const bool late = is_late(v);
    const bool direct = v.is_output && !late && layout == Layout::kLinear
                        && v.requested_type.value_or(v.type) == v.type;
    return tensor_for(v, late ? Place::kLate : direct ? Place::kOutput : Place::kArena, layout);
  }

  void emit_control_flow(const Node& node, const ControlFlow& layer) {
    PlanStep step;
    step.name = node.name;
    step.metadata = node.metadata;
    step.op = node.op->name();
    step.attributes = fields_of(*node.op);
    step.layer = node.kind();
    step.kernel = "bodies";
    for (const Value* v : node.inputs)
      step.inputs.push_back(v == nullptr ? -1 : in_layout(source_of(*v), Layout::kLinear));
    for (const Value* v : node.outputs) step.outputs.push_back(output_tensor(*v, Layout::kLinear));
    for (const auto& body : layer.bodies)
      with_context(fmt::format("body of layer {}", describe(node)), [&] {
        step.bodies.push_back(compile(*body, target_, body_options(node, layer, *body)));
        for (const RequiredPlugin& plugin : step.bodies.back().plugins) note_plugin(plugin);
      });
    plan_.steps.push_back(std::move(step));
    kernels_.push_back(nullptr);
  }

  // Any shape may come; kernels are chosen for those at the optimum.
  BuildOptions body_options(const Node& node, const ControlFlow& layer, const Network& body) {
    BuildOptions options = options_;
    options.is_body = true;
    options.time_kernels = false;
    options.progress = nullptr;
    ProfileRequest profile;
    for (size_t i = 0; i < body.inputs().size(); ++i) {
      const Value& input = *body.inputs()[i];
      const int from = layer.layer_input(i);
      const Value* outer = from < 0 ? nullptr : node.inputs.at(static_cast<size_t>(from));
      auto& range = profile.inputs[input.name];
      range.min.emplace(), range.opt.emplace(), range.max.emplace();
      constexpr int64_t kGuessedExtent = 16;
      for (int axis = 0; axis < input.declared.rank(); ++axis) {
        const int64_t fixed = input.declared[axis];
        const bool known = outer != nullptr && outer->dims.size() == input.dims.size();
        const int64_t guess = known ? optimum_shape(*outer)[axis] : kGuessedExtent;
        range.min->push_back(fixed >= 0 ? fixed : 0);
        range.opt->push_back(fixed >= 0 ? fixed : guess);
        range.max->push_back(fixed >= 0 ? fixed : INT64_MAX);
      }
      if (!input.content) continue;
      range.min_values.assign(input.content->size(), INT64_MIN);
      range.opt_values.assign(input.content->size(), 1);
      range.max_values.assign(input.content->size(), INT64_MAX);
    }
    options.profiles = {profile};
    return options;
  }

  int32_t packed_tensor(const Value& v) {
    PlanTensor t;
    t.name = v.name;
    t.type = v.type;
    t.place = Place::kNone;
    t.extents = extents_.at(&v);
    return add_tensor(std::move(t));
  }

  void alias(size_t which, std::vector<int32_t>& in, int32_t out) {
    PlanTensor& result = plan_.tensors[static_cast<size_t>(out)];
    if (result.place == Place::kArena && may_overwrite(in[which], in, which)) {
      result.place = Place::kAlias;
      result.alias_of = in[which];
      int32_t& uses = root_last_use_[static_cast<size_t>(plan_.root_of(out))];
      uses = std::max(uses, root_last_use_[static_cast<size_t>(out)]);
      return;
    }
    PlanTensor copy = plan_.tensors[static_cast<size_t>(in[which])];
    copy.place = Place::kAlias;
    copy.alias_of = out;
    copy.weight = -1;
    copy.content.clear();
    copy.name += " [copy]";
    Reorder op;
    op.from = op.to = copy.layout;
    const std::string name = fmt::format("Copy {}", copy.name);
    const int32_t target = add_tensor(std::move(copy));
    add_copy(op, in[which], target, name);
    in[which] = target;
  }

  void note_plugin(const RequiredPlugin& plugin) {
    if (std::find(plan_.plugins.begin(), plan_.plugins.end(), plugin) == plan_.plugins.end())
      plan_.plugins.push_back(plugin);
  }

  void note_plugin(const Node& node) {
    if (!is_plugin(node.kind())) return;
    RequiredPlugin plugin;
    for (const auto& [name, value] : fields_of(*node.op)) {
      const auto* text = std::get_if<std::string>(&value);
      if (text == nullptr) continue;
      if (name == "plugin") plugin.name = *text;
      if (name == "version") plugin.version = *text;
      if (name == "namespace") plugin.name_space = *text;
    }
    note_plugin(plugin);
  }

  void bind_outputs() {
    position_ = kForever;
    for (Value* v : network_.outputs()) {
      require((v->allowed_formats & 1u) != 0,
              "output '{}': only the linear format is supported yet; allow TensorFormat::kLINEAR",
              v->name);
      for (const Value* input : network_.inputs())
        require(input->name != v->name,
                "output '{}' has the name of an input, and inputs and outputs are found by name: "
                "mark an identity of it under another name",
                v->name);
      const int32_t source = source_of(*v);
      int32_t result = source;
      if (plan_.tensors[static_cast<size_t>(source)].place != Place::kOutput)
        result = copy_to_output(*v, source);
      PlanBinding b;
      b.tensor = result;
      b.is_shape = on_host(*v);
      plan_.bindings.push_back(std::move(b));
    }
  }

  int32_t copy_to_output(const Value& v, int32_t source) {
    const int32_t linear = in_layout(source, Layout::kLinear);
    PlanTensor t;
    t.name = v.name;
    t.type = v.requested_type.value_or(v.type);
    t.place = Place::kOutput;
    t.extents = extents_.at(&v);
    if (on_host(v)) t.content = contents_.at(&v);
    const bool converts = t.type != v.type;
    const int32_t out = add_tensor(std::move(t));
    Cast cast;
    cast.to = v.requested_type.value_or(v.type);
    const Identity identity;
    add_copy(converts ? static_cast<const Op&>(cast) : identity, linear, out,
             fmt::format("Output {}", v.name));
    return out;
  }

  // Device memory at the optimum and the maximum of each profile.
  void measure_memory();

  Network& network_;
  const Target& target_;
  const BuildOptions& options_;
  Plan plan_;
  std::vector<Node*> needed_;
  std::set<int64_t> shape_symbols_;
  std::map<const Value*, bool> on_host_;
  std::map<const Value*, int32_t> last_use_;  // position in needed_
  std::map<const Value*, std::vector<int32_t>> extents_, contents_;
  std::map<const Value*, int32_t> tensors_;
  std::map<std::pair<int32_t, Layout>, int32_t> reordered_;
  std::vector<int32_t> root_last_use_;            // per tensor: when its storage is last needed
  std::vector<std::unique_ptr<Kernel>> kernels_;  // one per step
  std::vector<Number> optimum_, largest_;  // slots; late sizes are guessed, or at their bounds
  int32_t position_ = 0;
  bool has_late_ = false;
};

void Compiler::measure_memory() {
  const auto lives = lifetimes(plan_);
  const Stages stages = stages_of(plan_);
  for (size_t p = 0; p < plan_.profiles.size(); ++p)
    for (ProfilePoint point : {ProfilePoint::kOpt, ProfilePoint::kMax}) {
      const auto symbols = symbols_at(plan_, plan_.profiles[p], point);
      const bool same = point == ProfilePoint::kMax
                        && symbols == symbols_at(plan_, plan_.profiles[p], ProfilePoint::kOpt);
      if (same) continue;
      const auto values = plan_.shapes.evaluate(symbols);
      std::vector<Shape> shapes;
      for (size_t i = 0; i < plan_.tensors.size(); ++i)
        shapes.push_back(shape_of(plan_, static_cast<int32_t>(i), values));
      std::vector<size_t> scratch;
      for (size_t i = 0; i < plan_.steps.size(); ++i) {
        const PlanStep& step = plan_.steps[i];
        // Of later stages and of bodies, memory is planned when it is known.
        if (stages.steps[i] > 0 || kernels_[i] == nullptr) {
          scratch.push_back(0);
          continue;
        }
        const auto execution = with_context(fmt::format("layer {}", step.name), [&] {
          // The extremes of several inputs need not fit together.
          if (point == ProfilePoint::kOpt && !is_plugin(step.layer))
            check_step(plan_, step, *op_of(step), {symbols, values, shapes});
          return kernels_[i]->prepare(specs_of(plan_, step.inputs, shapes),
                                      output_specs(plan_, step, symbols, shapes));
        });
        scratch.push_back(execution->scratch_bytes());
      }
      const MemoryPlan memory = plan_context_memory(plan_, stages, 0, lives, shapes, scratch);
      plan_.profiles[p].device_memory = std::max(plan_.profiles[p].device_memory, memory.bytes);
    }
}

}  // namespace

Plan compile(Network& network, const Target& target, const BuildOptions& options) {
  return Compiler(network, target, options).run();
}

Plan build_plan(Network& network, const Target& target, const BuildOptions& options) {
  if (options.progress != nullptr) options.progress->begin(kPhase, nullptr, 2);
  const auto step = [&](int i) {
    if (options.progress != nullptr && !options.progress->step(kPhase, i))
      fail(ErrorCode::kUNSPECIFIED_ERROR, "the build was cancelled");
  };
  network.infer();
  OptimizeOptions passes{options.log, {}};
  if (options.progress != nullptr)
    passes.progress = [&](const char*) { return options.progress->step(kPhase, 0); };
  optimize(network, target, passes);
  step(0);
  Plan plan = compile(network, target, options);
  step(1);
  if (options.progress != nullptr) options.progress->end(kPhase);
  return plan;
}

}  // namespace tenon
