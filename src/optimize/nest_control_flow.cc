#include "optimize/nest_control_flow.h"

#include <algorithm>
#include <map>
#include <unordered_set>

#include "ops/conditional.h"
#include "ops/debug_tensor.h"
#include "ops/flow_boundary.h"
#include "ops/identity.h"
#include "optimize/body_builder.h"
#include "optimize/loop_builder.h"

namespace tenon {
namespace {

using NodeSet = std::unordered_set<const Node*>;

// The boundary of a loop or conditional.
struct Flow {
  std::string name;
  std::vector<Node*> recurrences, iterators, inputs;  // what enters
  std::vector<Node*> limits;                          // trip limits, or conditions
  std::vector<Node*> exits;
  bool is_loop = false;
  NodeSet inside;  // the layers that depend on what enters

  std::string text() const {
    return fmt::format("{} '{}'", is_loop ? "loop" : "conditional", name);
  }
  std::vector<Node*> boundary() const {
    std::vector<Node*> all;
    for (const auto* list : {&recurrences, &iterators, &inputs, &limits, &exits})
      all.insert(all.end(), list->begin(), list->end());
    return all;
  }
};

const FlowBoundary* boundary_of(const Node& node) {
  return dynamic_cast<const FlowBoundary*>(node.op.get());
}

std::vector<Node*>& list_of(Flow& flow, const Node& node) {
  switch (node.kind()) {
    case LayerType::kRECURRENCE:
      return flow.recurrences;
    case LayerType::kITERATOR:
      return flow.iterators;
    case LayerType::kCONDITIONAL_INPUT:
      return flow.inputs;
    case LayerType::kTRIP_LIMIT:
    case LayerType::kCONDITION:
      return flow.limits;
    default:
      return flow.exits;
  }
}

std::map<int32_t, Flow> flows_of(const Network& network) {
  std::map<int32_t, Flow> flows;
  for (const auto& node : network.nodes()) {
    const FlowBoundary* boundary = boundary_of(*node);
    if (boundary == nullptr) continue;
    Flow& flow = flows[boundary->flow];
    flow.name = boundary->flow_name;
    list_of(flow, *node).push_back(node.get());
    flow.is_loop |= node->kind() <= LayerType::kLOOP_OUTPUT;
  }
  return flows;
}

class Nesting {
 public:
  explicit Nesting(Network& network) : network_(network) {}

  // Innermost first. Whether there was one.
  bool nest_one() {
    auto flows = flows_of(network_);
    if (flows.empty()) return false;
    const auto users = network_.users();
    for (auto& [id, flow] : flows) {
      find_inside(id, flow, users);
      if (std::any_of(flow.inside.begin(), flow.inside.end(),
                      [](const Node* n) { return boundary_of(*n) != nullptr; }))
        continue;
      with_context(flow.text(), [&] { nest(flow); });
      return true;
    }
    const Flow& first = flows.begin()->second;
    const Node* other = *std::find_if(first.inside.begin(), first.inside.end(),
                                      [](const Node* n) { return boundary_of(*n) != nullptr; });
    fail(ErrorCode::kINVALID_ARGUMENT,
         "{} and '{}' (layer {}) overlap: one must be inside the other, with outputs of its own",
         first.text(), boundary_of(*other)->flow_name, describe(*other));
  }

 private:
  // Everything that depends on what enters, up to the flow's own boundary.
  void find_inside(int32_t id, Flow& flow, const std::vector<std::vector<Node*>>& users) {
    std::vector<const Node*> stack;
    for (const auto* list : {&flow.recurrences, &flow.iterators, &flow.inputs})
      stack.insert(stack.end(), list->begin(), list->end());
    while (!stack.empty()) {
      const Node* node = stack.back();
      stack.pop_back();
      for (const Value* out : node->outputs)
        for (const Node* user : users[static_cast<size_t>(out->id)]) {
          const FlowBoundary* boundary = boundary_of(*user);
          if (boundary != nullptr && boundary->flow == id) continue;
          if (flow.inside.insert(user).second) stack.push_back(user);
        }
    }
  }

  // Made by the flow's layers, or what enters them.
  static bool is_inside(const Flow& flow, const Value& v) {
    if (v.producer == nullptr) return false;
    for (const auto* list : {&flow.recurrences, &flow.iterators, &flow.inputs})
      if (std::find(list->begin(), list->end(), v.producer) != list->end()) return true;
    return flow.inside.contains(v.producer);
  }

  static Value& outside(const Flow& flow, const Node& boundary, size_t input, const char* what) {
    Value& v = *boundary.inputs.at(input);
    require(!is_inside(flow, v),
            "layer {}: {} is tensor '{}', which is made inside; it must come from outside",
            describe(boundary), what, v.name);
    return v;
  }

  void nest(Flow& flow) {
    std::vector<const Node*> made(flow.inside.begin(), flow.inside.end());
    for (const auto* list : {&flow.recurrences, &flow.iterators, &flow.inputs})
      made.insert(made.end(), list->begin(), list->end());
    for (const Node* node : made) {
      if (const auto* debug = node->as<DebugTensor>())
        fail(
            ErrorCode::kUNSUPPORTED_STATE,
            "tensor '{}' is made inside and marked for debugging, which is not supported yet: mark "
            "what {} returns",
            debug->tensor, flow.is_loop ? "the loop" : "the conditional");
      for (const Value* out : node->outputs)
        require(!out->is_output,
                "tensor '{}' is made inside by layer {} and is an output of the network: return it "
                "by {}",
                out->name, describe(*node),
                flow.is_loop ? "ILoop::addLoopOutput" : "IIfConditional::addOutput");
    }
    if (flow.exits.empty())
      remove(flow);  // it gives nothing
    else if (flow.is_loop)
      nest_loop(flow);
    else
      nest_conditional(flow);
  }

  // The layers inside that `wanted` need, in order; all of them when it is null.
  std::vector<Node*> layers_of(const Flow& flow, const std::vector<Value*>* wanted) {
    NodeSet needed = flow.inside;
    if (wanted != nullptr) {
      needed.clear();
      std::vector<const Value*> stack(wanted->begin(), wanted->end());
      while (!stack.empty()) {
        const Node* node = stack.back()->producer;
        stack.pop_back();
        if (node == nullptr || !flow.inside.contains(node) || !needed.insert(node).second) continue;
        for (const Value* in : node->inputs)
          if (in != nullptr) stack.push_back(in);
      }
    }
    std::vector<Node*> layers;
    for (Node* node : network_.sorted())
      if (needed.contains(node)) layers.push_back(node);
    return layers;
  }

  void nest_loop(const Flow& flow);
  void nest_conditional(const Flow& flow);
  void finish(const Flow& flow, std::unique_ptr<Op> op, std::vector<Value*> inputs,
              const std::vector<size_t>& outputs);

  void remove(const Flow& flow);

  Network& network_;
};

// The layer takes the place of the flow; exit i is its output outputs[i].
void Nesting::finish(const Flow& flow, std::unique_ptr<Op> op, std::vector<Value*> inputs,
                     const std::vector<size_t>& outputs) {
  Node& layer = network_.add_node(std::move(op), std::move(inputs), flow.name);
  network_.infer(layer);
  std::unordered_map<Value*, Value*> replacements;
  std::unordered_set<const Value*> taken;
  for (size_t i = 0; i < flow.exits.size(); ++i) {
    Value* from = flow.exits[i]->outputs[0];
    Value* to = layer.outputs[outputs[i]];
    if (!taken.insert(to).second) {  // one value that leaves twice
      Node& copy = network_.add_node(std::make_unique<Identity>(), {to}, flow.exits[i]->name);
      network_.infer(copy);
      to = copy.outputs[0];
    }
    to->name = from->name;
    replacements.emplace(from, to);
  }
  network_.replace_uses(replacements);
  remove(flow);
}

void Nesting::remove(const Flow& flow) {
  NodeSet gone = flow.inside;
  for (const Node* node : flow.boundary()) gone.insert(node);
  network_.remove_nodes(gone);
  network_.remove_unused_weights();
  network_.infer();
}

void Nesting::nest_loop(const Flow& flow) {
  Value *count = nullptr, *condition = nullptr;
  for (Node* node : flow.limits) {
    const bool counts = node->as<LoopLimit>()->limit == nvinfer1::TripLimit::kCOUNT;
    Value*& limit = counts ? count : condition;
    require(limit == nullptr, "layer {}: the loop has such a trip limit already", describe(*node));
    limit = node->inputs.at(0);
    require(counts != is_inside(flow, *limit), "layer {}: tensor '{}' is made {}", describe(*node),
            limit->name,
            counts ? "inside; the number of iterations must come from outside"
                   : "outside, and so the loop would never end; the condition of kWHILE must "
                     "depend on a recurrence or iterator of the loop");
  }
  require(count != nullptr || condition != nullptr,
          "it has no trip limit: call ILoop::addTripLimit");
  LoopBuilder loop(flow.name);
  for (Node* node : flow.recurrences) loop.add_state(*node, outside(flow, *node, 0, "input 0"));
  for (Node* node : flow.iterators) loop.add_scan(*node, outside(flow, *node, 0, "input 0"));
  loop.body().copy(layers_of(flow, nullptr));
  loop.set_limits(count, condition);
  std::vector<Value*> next;
  for (const Node* node : flow.recurrences)
    with_context(fmt::format("layer {}", describe(*node)), [&] {
      require(node->inputs.size() > 1 && node->inputs[1] != nullptr,
              "the value for the next iteration is missing: call setInput(1, …)");
      next.push_back(&loop.next_value(*node->inputs[0], *node->inputs[1]));
    });
  std::vector<size_t> outputs;
  size_t collected = flow.recurrences.size();
  for (const Node* node : flow.exits) {
    if (node->as<LoopExit>()->collects()) {
      loop.add_slice(*node, *node->inputs[0], outside(flow, *node, 1, "the length"));
      outputs.push_back(collected++);
      continue;
    }
    const auto found =
        std::find(flow.recurrences.begin(), flow.recurrences.end(), node->inputs[0]->producer);
    require(found != flow.recurrences.end(),
            "layer {}: tensor '{}' is not the output of a recurrence of the loop, as kLAST_VALUE "
            "needs",
            describe(*node), node->inputs[0]->name);
    outputs.push_back(static_cast<size_t>(found - flow.recurrences.begin()));
  }
  loop.finish(next);
  finish(flow, std::move(loop.op), std::move(loop.inputs), outputs);
}

void Nesting::nest_conditional(const Flow& flow) {
  require(flow.limits.size() == 1,
          "it has {} conditions; expected one: call "
          "IIfConditional::setCondition",
          flow.limits.size());
  Value& condition = outside(flow, *flow.limits[0], 0, "the condition");
  BodyBuilder bodies[] = {BodyBuilder(flow.name + " [true]"), BodyBuilder(flow.name + " [false]")};
  std::vector<Value*> results[2];
  for (size_t k = 0; k < 2; ++k) {
    for (const Node* node : flow.inputs)
      bodies[k].alias(*node->outputs[0], outside(flow, *node, 0, "its input"));
    if (k == 1)  // both bodies have the same inputs
      for (Value* v : bodies[0].captured()) bodies[1].capture(*v);
    for (const Node* node : flow.exits) results[k].push_back(node->inputs.at(k));
    bodies[k].copy(layers_of(flow, &results[k]));
    for (Value*& v : results[k]) v = &bodies[k].of(*v);
  }
  for (Value* v : bodies[1].captured()) bodies[0].capture(*v);
  auto op = std::make_unique<Conditional>();
  std::map<const Value*, BodySource> sources[2];
  for (size_t k = 0; k < 2; ++k) {
    const auto& network = bodies[k].network();
    for (Value* v : results[k]) bodies[k].mark_output(*v);
    for (size_t i = 0; i < network->inputs().size(); ++i)
      sources[k][network->inputs()[i]] = {op->layer_input(i), -1};
    op->bodies.push_back(network);
  }
  std::vector<size_t> outputs;
  for (size_t i = 0; i < flow.exits.size(); ++i) {
    with_context(fmt::format("layer {}", describe(*flow.exits[i])), [&] {
      op->outputs.add(common(body_output(*op->bodies[0], i, sources[0]),
                             body_output(*op->bodies[1], i, sources[1])));
    });
    outputs.push_back(i);
  }
  std::vector<Value*> inputs{&condition};
  inputs.insert(inputs.end(), bodies[1].captured().begin(), bodies[1].captured().end());
  finish(flow, std::move(op), std::move(inputs), outputs);
}

}  // namespace

void nest_control_flow(Network& network) {
  Nesting nesting(network);
  while (nesting.nest_one()) {}
}

}  // namespace tenon
