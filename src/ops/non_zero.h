// Where the elements of a tensor are not zero.
#pragma once

#include "network/scratch_kernel.h"

namespace tenon {

/// Input: data of any type. Output: (rank, count) indices in rows-first order, a column for each
/// element that is not zero; `count` is known once the layer ran. Semantics: TensorRT
/// INonZeroLayer, ONNX NonZero.
struct NonZero final : OpOf<NonZero, LayerType::kNON_ZERO>, ScratchKernel {
  static constexpr std::string_view kName = "NonZero";
  static constexpr Traits kTraits{.runs = Runs::kKernel,
                                  .reduced_precision = ReducedPrecision::kNone,
                                  .magnitude = Magnitude::kOfInputs,
                                  .implicit_batch = ImplicitBatch::kUnsupported,
                                  .work = Work::kNone};
  DataType index_type = DataType::kINT32;

  void visit(FieldVisitor& v) override;
  void infer(Inference& c) const override;
  void reference(const ReferenceCall& call) const override { run_with_own_scratch(call); }
  size_t scratch_bytes(const ReferenceCall& call) const override;
  void run(const ReferenceCall& call, std::byte* scratch) const override;
};

}  // namespace tenon
