#include "ops/flow_boundary.h"

#include "ops/support/infer.h"

namespace tenon {

template <class Derived, LayerType Kind>
void FlowBoundaryOf<Derived, Kind>::reference(const ReferenceCall&) const {
  fail(ErrorCode::kINTERNAL_ERROR, "a layer of kind {} runs as part of its loop or conditional",
       Derived::kName);
}

template struct FlowBoundaryOf<Recurrence, LayerType::kRECURRENCE>;
template struct FlowBoundaryOf<LoopIterator, LayerType::kITERATOR>;
template struct FlowBoundaryOf<LoopLimit, LayerType::kTRIP_LIMIT>;
template struct FlowBoundaryOf<LoopExit, LayerType::kLOOP_OUTPUT>;
template struct FlowBoundaryOf<BranchCondition, LayerType::kCONDITION>;
template struct FlowBoundaryOf<BranchInput, LayerType::kCONDITIONAL_INPUT>;
template struct FlowBoundaryOf<BranchOutput, LayerType::kCONDITIONAL_OUTPUT>;

void Recurrence::infer(Inference& c) const {
  c.set_output(0, c.type(0), c.dims(0));  // input 1 may not be there yet
}

void LoopIterator::visit(FieldVisitor& v) {
  FlowBoundaryOf::visit(v);
  v("axis", axis);
  v("reverse", reverse);
}

void LoopIterator::infer(Inference& c) const {
  require_inputs(c, 1, 1);
  require(axis >= 0 && axis < c.rank(0), "expected an axis from 0 to {}, found {}", c.rank(0) - 1,
          axis);
  Dims dims = c.dims(0);
  dims.erase(dims.begin() + axis);
  c.set_output(0, c.type(0), std::move(dims));
}

void LoopLimit::visit(FieldVisitor& v) {
  FlowBoundaryOf::visit(v);
  v("limit", limit);
}

void LoopLimit::infer(Inference& c) const {
  require_inputs(c, 1, 1);
  if (limit == nvinfer1::TripLimit::kCOUNT)
    require_index(c, 0, "the number of iterations");
  else
    require(c.type(0) == DataType::kBOOL, "expected a condition of type bool, found {}",
            name_of(c.type(0)));
  require_count(c, 0, "the trip limit", 1);
}

void LoopExit::visit(FieldVisitor& v) {
  FlowBoundaryOf::visit(v);
  v("output", output);
  v("axis", axis);
}

void LoopExit::infer(Inference& c) const {
  require_inputs(c, 1, 2);
  Dims dims = c.dims(0);
  if (collects()) {
    require(axis >= 0 && axis <= c.rank(0), "expected an axis from 0 to {}, found {}", c.rank(0),
            axis);
    require(c.has_input(1),
            "it collects what iterations make, and how many slices its output has is missing: call "
            "setInput(1, …)");
    require_index(c, 1, "the length");
    require_count(c, 1, "the length", 1);
    const Content& length = c.known_content(1, "the length");
    dims.insert(dims.begin() + axis, c.pool().max(length.at(0), c.pool().constant(0)));
  }
  c.set_output(0, c.type(0), std::move(dims));
}

void BranchCondition::infer(Inference& c) const {
  require_inputs(c, 1, 1);
  require(c.type(0) == DataType::kBOOL, "expected a condition of type bool, found {}",
          name_of(c.type(0)));
  require_count(c, 0, "the condition", 1);
}

void BranchInput::infer(Inference& c) const {
  require_inputs(c, 1, 1);
  c.set_output(0, c.type(0), c.dims(0));
  if (const Content* content = c.content(0)) c.set_content(0, *content);
}

void BranchOutput::infer(Inference& c) const {
  require_inputs(c, 2, 2);
  require(c.type(0) == c.type(1), "one branch makes {}, the other {}", name_of(c.type(0)),
          name_of(c.type(1)));
  require(c.rank(0) == c.rank(1),
          "one branch makes {} dimensions, the other {}: a tensor has one "
          "rank",
          c.rank(0), c.rank(1));
  Dims dims = c.dims(0);
  for (size_t axis = 0; axis < dims.size(); ++axis)
    if (dims[axis] != c.dims(1)[axis])
      dims[axis] = c.data_dependent_extent(0, static_cast<int>(axis));
  c.set_output(0, c.type(0), std::move(dims));
}

}  // namespace tenon
