// One of two bodies runs, as a condition says.
#pragma once

#include <string>

#include "network/control_flow.h"
#include "ops/support/body_outputs.h"

namespace tenon {

/// Input 0: the condition, one bool. The others are inputs of both bodies, in their order. Body 0
/// runs when it is true, body 1 when it is false. Semantics: ONNX If, TensorRT IIfConditional.
///
/// A tensor has one rank. Where the bodies' outputs differ in theirs, `otherwise` says what body 1
/// makes, and choose_branches() (src/optimize) decides when the network is built: as long as the
/// condition is not known, it is taken to be false.
struct Conditional final : OpOf<Conditional, layer_type(PrivateLayer::kConditional)>, ControlFlow {
  static constexpr std::string_view kName = "Conditional";
  static constexpr Traits kTraits{.runs = Runs::kBodies,
                                  .reduced_precision = ReducedPrecision::kNone,
                                  .magnitude = Magnitude::kOfInputs,
                                  .implicit_batch = ImplicitBatch::kUnsupported,
                                  .work = Work::kNone};
  BodyOutputs outputs;    // of both bodies, or of body 0
  BodyOutputs otherwise;  // of body 1, where it is decided at build; else empty
  std::string refusal;    // likewise: what is wrong when the condition is true after all

  void visit(FieldVisitor& v) override {
    outputs.visit(v);
    otherwise.visit(v, "otherwise_types", "otherwise_ranks", "otherwise_extents");
    v("refusal", refusal);
  }
  bool is_decided_at_build() const { return otherwise.count() > 0; }
  int output_count() const override { return static_cast<int>(outputs.count()); }
  void infer(Inference& c) const override;
  void reference(const ReferenceCall& call) const override;
  std::unique_ptr<Runner> make_runner(TensorMemory& memory) const override;
  size_t body_count() const override { return 2; }
  int layer_input(size_t body_input) const override { return static_cast<int>(body_input) + 1; }
};

}  // namespace tenon
