// What Loop and Scan share: a body with states, and the layer that runs it.
#pragma once

#include <functional>

#include "import/node.h"
#include "ops/loop.h"
#include "ops/support/body_outputs.h"

namespace tenon {

/// A loop whose body is known, before its outputs are described.
struct LoopParts {
  std::unique_ptr<Loop> op = std::make_unique<Loop>();
  Body body;
  std::vector<Value*> inputs;             // of the layer, without what the body captures
  std::vector<std::vector<bool>> varies;  // per state, per axis
};

/// The iteration and the condition, as bodies get them.
extern const BodyInput kIteration, kCondition;

/// What a body may know of a tensor that it is given: nothing of the axes that vary from one
/// iteration to the next.
BodyInput known_input(const Value& v, const std::vector<bool>& varies);

/// Where the inputs of a body come from.
std::map<const Value*, BodySource> sources_of(const Network& body, const ControlFlow& layer);

/// Imports a body whose states are as given, with all its outputs marked; sets the flag if it has
/// to be imported again.
using ImportLoopBody = std::function<Body(const std::vector<BodyInput>& states, bool& again)>;

/// Imports the body with what holds for its states in every iteration: an extent that an iteration
/// changes is not known in the body, which may change others. PaddlePaddle makes [1] of a scalar,
/// and has a scalar for what only iterations define: a state of one element, and one that the body
/// does not read, have as many dimensions from the start as an iteration gives them.
void settle(NodeContext& n, LoopParts& loop, const ImportLoopBody& import_body);

/// Adds the layer: the last states, then what is collected over `trips` iterations.
/// @param scans where the slices come from that the body gets behind its states
Node& add_loop(NodeContext& n, LoopParts& loop, const std::vector<BodySource>& scans,
               BodyExtent trips);

}  // namespace tenon
