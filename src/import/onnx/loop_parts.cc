#include "import/onnx/loop_parts.h"

#include <algorithm>

#include "ops/support/infer.h"

namespace tenon {

const BodyInput kIteration{DataType::kINT64, Shape(), {}};
const BodyInput kCondition{DataType::kBOOL, Shape(), {}};

BodyInput known_input(const Value& v, const std::vector<bool>& varies) {
  BodyDims dims = body_dims(v.dims);
  for (size_t axis = 0; axis < varies.size(); ++axis) {
    if (!varies[axis]) continue;
    dims.declared[static_cast<int>(axis)] = -1;
    dims.names[axis].clear();
  }
  return {v.type, dims.declared, dims.names};
}

std::map<const Value*, BodySource> sources_of(const Network& body, const ControlFlow& layer) {
  std::map<const Value*, BodySource> sources;
  for (size_t i = 0; i < body.inputs().size(); ++i)
    if (const int from = layer.layer_input(i); from >= 0) sources[body.inputs()[i]] = {from, -1};
  return sources;
}

static bool is_read(const Network& body, const Value& v) {
  const auto reads = [&](const auto& node) {
    return std::find(node->inputs.begin(), node->inputs.end(), &v) != node->inputs.end();
  };
  return v.is_output || std::any_of(body.nodes().begin(), body.nodes().end(), reads);
}

// What takes the place of the initial value where an iteration gives the state more dimensions;
// null where nothing can.
static Value* initial_of_rank(NodeContext& n, const Network& body, const Value& before,
                              const Value& after, Value& initial) {
  const size_t rank = after.dims.size();
  if (before.dims.size() < rank && has_one_element(before.dims) && has_one_element(after.dims))
    return &n.reshape(initial, Dims(rank, n.number(1)));
  if (is_read(body, before)) return nullptr;
  return &n.constant(filled_tensor(after.type, Shape::filled(static_cast<int>(rank), 0), 0));
}

void settle(NodeContext& n, LoopParts& loop, const ImportLoopBody& import_body) {
  const auto states = static_cast<size_t>(loop.op->state_count);
  for (size_t i = 0; i < states; ++i)
    loop.varies.emplace_back(loop.inputs[Loop::kFirstState + i]->dims.size(), false);
  for (bool changed = true; changed;) {
    changed = false;
    std::vector<BodyInput> known;
    for (size_t i = 0; i < states; ++i)
      known.push_back(known_input(*loop.inputs[Loop::kFirstState + i], loop.varies[i]));
    loop.body = import_body(known, changed);
    for (size_t i = 0; i < states; ++i) {
      const Value& before = *loop.body.network->inputs()[Loop::kFirstState + i];
      const Value& after = *loop.body.network->outputs()[1 + i];
      require(before.type == after.type, "state {} is {} before an iteration and {} after it", i,
              name_of(before.type), name_of(after.type));
      Value*& initial = loop.inputs[Loop::kFirstState + i];
      Value* other = before.dims.size() == after.dims.size()
                         ? nullptr
                         : initial_of_rank(n, *loop.body.network, before, after, *initial);
      if (other != nullptr) {
        initial = other;
        loop.varies[i].assign(after.dims.size(), !has_one_element(after.dims));
        changed = true;
        continue;
      }
      require(before.dims.size() == after.dims.size(),
              "state {} has {} dimensions before an iteration and {} after it: states that change "
              "their rank are not supported yet",
              i, before.dims.size(), after.dims.size());
      for (size_t axis = 0; axis < before.dims.size(); ++axis) {
        if (before.dims[axis] == after.dims[axis] || loop.varies[i][axis]) continue;
        loop.varies[i][axis] = changed = true;
      }
    }
  }
}

Node& add_loop(NodeContext& n, LoopParts& loop, const std::vector<BodySource>& scans,
               BodyExtent trips) {
  auto sources = sources_of(*loop.body.network, *loop.op);
  const auto states = static_cast<size_t>(loop.op->state_count);
  for (size_t i = 0; i < scans.size(); ++i)
    sources[loop.body.network->inputs()[Loop::kFirstState + states + i]] = scans[i];
  for (size_t i = 0; i < states; ++i) {
    const Value& initial = *loop.inputs[Loop::kFirstState + i];
    BodyOutput output{initial.type, {}};
    for (size_t axis = 0; axis < initial.dims.size(); ++axis)
      output.extents.push_back(loop.varies[i][axis]
                                   ? BodyExtent()
                                   : BodyExtent::of_input(static_cast<int>(Loop::kFirstState + i),
                                                          static_cast<int>(axis)));
    loop.op->outputs.add(output);
  }
  for (size_t i = 0; i < loop.op->collect_axes.size(); ++i) {
    BodyOutput output = body_output(*loop.body.network, 1 + states + i, sources);
    int64_t& axis = loop.op->collect_axes[i];
    const auto rank = static_cast<int>(output.extents.size()) + 1;
    axis = normalized_axis(axis, rank);
    output.extents.insert(output.extents.begin() + axis, trips);
    loop.op->outputs.add(output);
  }
  loop.op->bodies.push_back(loop.body.network);
  loop.inputs.insert(loop.inputs.end(), loop.body.captured.begin(), loop.body.captured.end());
  return n.add_node(std::move(loop.op), std::move(loop.inputs));
}

}  // namespace tenon
