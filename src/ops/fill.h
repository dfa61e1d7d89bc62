// Tensors made from nothing: evenly spaced numbers, and random ones.
#pragma once

#include "network/op.h"

namespace tenon {

/// Inputs, all optional: dimensions (int32 or int64, read before the layer runs), alpha, beta.
/// Attributes stand for those left out.
///
/// kLINSPACE: alpha + sum over the axes of coordinate * beta; beta is one number (for one axis) or
/// one for each axis. Any numeric type. kRANDOM_UNIFORM: in [alpha, beta). kRANDOM_NORMAL: mean
/// alpha, standard deviation beta. Random tensors are of float types, and the same each time: they
/// follow from the seed. Semantics: TensorRT IFillLayer.
struct Fill final : OpOf<Fill, LayerType::kFILL> {
  static constexpr std::string_view kName = "Fill";
  static constexpr Traits kTraits{.runs = Runs::kKernel,
                                  .reduced_precision = ReducedPrecision::kNone,
                                  .magnitude = Magnitude::kByAttributes,
                                  .implicit_batch = ImplicitBatch::kUnsupported,
                                  .work = Work::kNone};
  nvinfer1::FillOperation operation = nvinfer1::FillOperation::kLINSPACE;
  Shape dimensions;
  double alpha = 0, beta = 1;
  int64_t alpha_integer = 0, beta_integer = 1;
  bool integers = false;  // alpha_integer and beta_integer count
  /// Of the output. Where alpha or beta are inputs, their type is taken instead.
  DataType type = DataType::kFLOAT;
  int64_t seed = 0;

  void visit(FieldVisitor& v) override;
  void infer(Inference& c) const override;
  Magnitude magnitude(const Node& node, DataType type) const override;
  void reference(const ReferenceCall& call) const override;
};

/// Philox4x32-10 (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", 2011): four random
/// words for each counter and key.
struct RandomWords {
  uint32_t word[4];
};
RandomWords philox(uint64_t counter, uint64_t stream, uint64_t key);

}  // namespace tenon
