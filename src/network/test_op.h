// A layer kind for tests of the network itself, which know none of the real ones.
#pragma once

#include "network/network.h"

namespace tenon::testing {

/// Gives its first input, `outputs` times.
struct Repeat final : OpOf<Repeat, LayerType::kIDENTITY> {
  static constexpr std::string_view kName = "Repeat";
  static constexpr Traits kTraits{.runs = Runs::kKernel,
                                  .reduced_precision = ReducedPrecision::kNone,
                                  .magnitude = Magnitude::kOfInputs,
                                  .implicit_batch = ImplicitBatch::kUnsupported,
                                  .work = Work::kNone};
  int outputs = 1;
  double factor = 1;
  Shape shape;

  explicit Repeat(int count = 1) : outputs(count) {}
  void visit(FieldVisitor& v) override {
    v("outputs", outputs);
    v("factor", factor);
    v("shape", shape);
  }
  int output_count() const override { return outputs; }
  void infer(Inference& c) const override {
    for (int i = 0; i < outputs; ++i) c.set_output(i, c.type(0), c.dims(0));
  }
  void reference(const ReferenceCall&) const override {}
};

/// A layer whose outputs are inferred.
inline Node& add(Network& network, std::vector<Value*> inputs, std::string name, int outputs = 1) {
  Node& node =
      network.add_node(std::make_unique<Repeat>(outputs), std::move(inputs), std::move(name));
  network.infer(node);
  return node;
}

inline Tensor floats(std::vector<float> values) {
  return Tensor::of<float>(DataType::kFLOAT, {static_cast<int64_t>(values.size())}, values);
}

}  // namespace tenon::testing
