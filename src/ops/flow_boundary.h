// Layers on the boundary of a loop or conditional whose body lies in the same network.
#pragma once

#include <string>

#include "network/op.h"

namespace tenon {

/// What the boundary layers of TensorRT's ILoop and IIfConditional share. They exist before a
/// network is optimised: nest_control_flow() makes layers with bodies of them, and only these run.
struct FlowBoundary {
  virtual ~FlowBoundary() = default;
  int32_t flow = 0;       // which loop or conditional; one numbering for both
  std::string flow_name;  // for messages
};

template <class Derived, LayerType Kind> struct FlowBoundaryOf : OpOf<Derived, Kind>, FlowBoundary {
  static constexpr Traits kTraits{.runs = Runs::kNever,
                                  .reduced_precision = ReducedPrecision::kNone,
                                  .magnitude = Magnitude::kOfInputs,
                                  .implicit_batch = ImplicitBatch::kUnsupported,
                                  .work = Work::kNone};
  void visit(FieldVisitor& v) override {
    v("flow", flow);
    v("flow_name", flow_name);
  }
  void reference(const ReferenceCall&) const override;
};

/// A value handed from one iteration to the next. Inputs: the first value, from outside; the next
/// one, from inside, which has the same type and shape. Semantics: TensorRT IRecurrenceLayer.
struct Recurrence final : FlowBoundaryOf<Recurrence, LayerType::kRECURRENCE> {
  static constexpr std::string_view kName = "Recurrence";
  void infer(Inference& c) const override;
};

/// One slice of a tensor per iteration, without the axis. Semantics: TensorRT IIteratorLayer.
struct LoopIterator final : FlowBoundaryOf<LoopIterator, LayerType::kITERATOR> {
  static constexpr std::string_view kName = "Iterator";
  int32_t axis = 0;
  bool reverse = false;
  void visit(FieldVisitor& v) override;
  void infer(Inference& c) const override;
};

/// What ends a loop: a number of iterations from outside, or a bool of the loop before an
/// iteration. It has no output. Semantics: TensorRT ITripLimitLayer.
struct LoopLimit final : FlowBoundaryOf<LoopLimit, LayerType::kTRIP_LIMIT> {
  static constexpr std::string_view kName = "TripLimit";
  nvinfer1::TripLimit limit = nvinfer1::TripLimit::kCOUNT;
  int output_count() const override { return 0; }
  void visit(FieldVisitor& v) override;
  void infer(Inference& c) const override;
};

/// A value that leaves a loop: the last one of a recurrence, or those of all iterations along a new
/// axis, whose extent is input 1 (one int32 or int64). Semantics: TensorRT ILoopOutputLayer.
struct LoopExit final : FlowBoundaryOf<LoopExit, LayerType::kLOOP_OUTPUT> {
  static constexpr std::string_view kName = "LoopOutput";
  nvinfer1::LoopOutput output = nvinfer1::LoopOutput::kLAST_VALUE;
  int32_t axis = 0;
  bool collects() const { return output != nvinfer1::LoopOutput::kLAST_VALUE; }
  void visit(FieldVisitor& v) override;
  void infer(Inference& c) const override;
};

/// What decides a conditional: one bool. It has no output. Semantics: TensorRT IConditionLayer.
struct BranchCondition final : FlowBoundaryOf<BranchCondition, LayerType::kCONDITION> {
  static constexpr std::string_view kName = "Condition";
  int output_count() const override { return 0; }
  void infer(Inference& c) const override;
};

/// A value that enters the branches. Semantics: TensorRT IIfConditionalInputLayer.
struct BranchInput final : FlowBoundaryOf<BranchInput, LayerType::kCONDITIONAL_INPUT> {
  static constexpr std::string_view kName = "ConditionalInput";
  void infer(Inference& c) const override;
};

/// Inputs: the value where the condition is true, and where it is false, of one type and rank.
/// Extents that differ are known when it ran. Semantics: TensorRT IIfConditionalOutputLayer.
struct BranchOutput final : FlowBoundaryOf<BranchOutput, LayerType::kCONDITIONAL_OUTPUT> {
  static constexpr std::string_view kName = "ConditionalOutput";
  void infer(Inference& c) const override;
};

}  // namespace tenon
