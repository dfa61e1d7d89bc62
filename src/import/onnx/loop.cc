// Loop: a body until a count is reached or a condition fails.
#include "ops/loop.h"

#include <onnx_schema.pb.h>

#include <algorithm>
#include <utility>

#include "import/node.h"
#include "import/onnx/loop_parts.h"
#include "ops/identity.h"
#include "ops/shuffle.h"

namespace tenon {
namespace {

// A sequence among the states, to which iterations may append.
struct SequenceState {
  int position = 0;  // among the states
  Sequence initial;
  bool grows = false;
  Value* appended = nullptr;  // what one iteration appends, in the body
  bool stacked = false;       // it is several elements
};

// Some exporters declare the iteration and the condition as tensors of one element.
void fit_rank(onnx::GraphProto& graph, int i, BodyInput& input) {
  if (i >= graph.input_size()) return;
  const auto& type = graph.input(i).type().tensor_type();
  input.is_vector = type.has_shape() && type.shape().dim_size() == 1;
}

// Whether the condition that the body makes is the one it was given, or always true.
bool never_stops(const Body& body) {
  const Value* v = body.network->outputs()[0];
  while (v->producer != nullptr && (v->producer->as<Identity>() || v->producer->as<Shuffle>()))
    v = v->producer->inputs[0];
  if (v == body.network->inputs()[1]) return true;
  return v->constant && v->constant->count() == 1 && v->constant->numbers()[0] != 0;
}

// Whether only the count ends the loop.
bool is_endless(NodeContext& n, const Body& body) {
  const Tensor* first = n.has_input(1) ? n.constant_input(1) : nullptr;
  const bool endless =
      never_stops(body) && (!n.has_input(1) || (first != nullptr && first->numbers().at(0) != 0));
  require(n.has_input(0) || !endless,
          "the loop never ends: it has no trip count, and its condition is always true");
  return endless;
}

// States are tensors, which the layer has, and sequences, which it does not have.
std::vector<SequenceState> take_states(NodeContext& n, LoopParts& loop) {
  std::vector<SequenceState> sequences;
  for (int i = 0; i < 2; ++i) loop.inputs.push_back(n.optional_input(i));
  for (int i = 2; i < n.input_count(); ++i) {
    if (n.is_sequence(i))
      sequences.push_back({i - 2, n.sequence_input(i)});
    else
      loop.inputs.push_back(&n.input(i));
  }
  loop.op->state_count = static_cast<int32_t>(loop.inputs.size() - Loop::kFirstState);
  return sequences;
}

// What the graph's inputs are, in their order.
std::vector<BodyInput> body_inputs(onnx::GraphProto& graph, const std::vector<BodyInput>& tensors,
                                   const std::vector<SequenceState>& sequences) {
  std::vector<BodyInput> inputs{kIteration, kCondition};
  fit_rank(graph, 0, inputs[0]);
  fit_rank(graph, 1, inputs[1]);
  inputs.insert(inputs.end(), tensors.begin(), tensors.end());
  for (const SequenceState& s : sequences) {
    BodyInput input;
    input.sequence = s.grows ? Sequence{{nullptr, false, s.position}} : s.initial;
    inputs.insert(inputs.begin() + 2 + s.position, input);
  }
  return inputs;
}

// What an iteration appends to a sequence; it may do nothing else with it. True if the body has to
// be imported again, with a sequence that grows.
bool find_appended(const Body& body, SequenceState& s) {
  const auto at = static_cast<size_t>(s.position);
  const Sequence& before = *as_sequence(body.inputs[2 + at]);
  const Sequence* after = as_sequence(body.outputs[1 + at]);
  require(after != nullptr, "state {} is a sequence before an iteration and a tensor after it", at);
  if (after->size() < before.size() || !std::equal(before.begin(), before.end(), after->begin()))
    fail_import(nvonnxparser::ErrorCode::kUNSUPPORTED_NODE,
                "state {} is a sequence: a loop that does more with one than append to it, or "
                "leave it, is not supported yet",
                at);
  const Sequence added(after->begin() + static_cast<std::ptrdiff_t>(before.size()), after->end());
  if (added.empty()) return false;
  require_readable(added);  // not what another state grew by
  Layers layers(*body.state, fmt::format("{} [appended {}]", body.network->name, at));
  s.stacked = added.size() > 1 || added[0].stacked;
  s.appended = s.stacked ? &stack(layers, added, 0) : added[0].tensor;
  return !std::exchange(s.grows, true);
}

// Its outputs: the condition, states that are tensors, what is collected, then what is appended to
// sequences.
Body import_loop_body(NodeContext& n, const onnx::GraphProto& graph,
                      const std::vector<BodyInput>& tensors, std::vector<SequenceState>& sequences,
                      bool& again) {
  onnx::GraphProto copy = graph;  // importing uses it up
  Body body = n.bodies().import_body(copy, {}, body_inputs(copy, tensors, sequences), {});
  const size_t states = tensors.size() + sequences.size();
  require(body.outputs.size() > states,
          "the body has {} outputs; expected a condition, {} states, and what is collected",
          body.outputs.size(), states);
  for (SequenceState& s : sequences) again |= find_appended(body, s);
  std::vector<Item> outputs = body.outputs;
  for (size_t i = sequences.size(); i-- > 0;)
    outputs.erase(outputs.begin() + 1 + sequences[i].position);
  for (const SequenceState& s : sequences)
    if (s.grows) outputs.push_back(s.appended);
  for (const Item& item : outputs)
    mark_body_output(body, *as_tensor(item, "what an iteration makes"));
  return body;
}

// A sequence after the loop: what all iterations appended lies in one tensor.
Sequence grown(NodeContext& n, const SequenceState& s, Value& collected) {
  Sequence after = s.initial;
  after.push_back({s.stacked ? &merge_axes(n, collected, 0) : &collected, true});
  return after;
}

}  // namespace

TENON_IMPORT(Loop, 1, "states keep their rank; a sequence among them may only be appended to") {
  const onnx::GraphProto& graph = n.graph_in("body");
  LoopParts loop;
  std::vector<SequenceState> sequences = take_states(n, loop);
  settle(n, loop, [&](const std::vector<BodyInput>& tensors, bool& again) {
    return import_loop_body(n, graph, tensors, sequences, again);
  });
  const auto tensors = static_cast<size_t>(loop.op->state_count);
  const size_t collected = loop.body.network->outputs().size() - 1 - tensors;
  loop.op->collect_axes.assign(collected, 0);
  loop.op->collect_reverse.assign(collected, 0);
  const Tensor* trips = n.has_input(0) ? n.constant_input(0) : nullptr;
  const bool counted = is_endless(n, loop.body) && trips != nullptr;
  std::vector<Item> outputs;
  if (tensors + collected > 0) {  // else it leaves its sequences as they are
    const auto length =
        counted ? BodyExtent::of(std::max<int64_t>(0, trips->integers().at(0))) : BodyExtent();
    const Node& node = add_loop(n, loop, {}, length);
    outputs.assign(node.outputs.begin(), node.outputs.end());
  }
  for (size_t i = sequences.size(); i-- > 0;)
    if (sequences[i].grows) {
      sequences[i].initial = grown(n, sequences[i], *std::get<Value*>(outputs.back()));
      outputs.pop_back();
    }
  for (const SequenceState& s : sequences) outputs.insert(outputs.begin() + s.position, s.initial);
  for (size_t i = 0; i < outputs.size(); ++i) n.set_output(static_cast<int>(i), outputs[i]);
}

}  // namespace tenon
