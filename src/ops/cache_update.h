// Writes new keys or values into a cache.
#pragma once

#include "network/op.h"

namespace tenon {

/// Inputs: a cache of any type, an update of its type and of its shape but for the axis, where it
/// is no longer; and the place of the first new element for each index of axis 0, int32 or int64
/// (optional: 0). Output: the cache with the update in it. A place outside the cache is an error,
/// or, when circular, counted from the other end.
/// Semantics: ONNX TensorScatter; TensorRT IKVCacheUpdateLayer for caches (N, heads, length, size).
struct CacheUpdate final : OpOf<CacheUpdate, LayerType::kKVCACHE_UPDATE> {
  static constexpr std::string_view kName = "CacheUpdate";
  static constexpr Traits kTraits{.runs = Runs::kKernel,
                                  .reduced_precision = ReducedPrecision::kAllInputs,
                                  .magnitude = Magnitude::kOfInputs,
                                  .implicit_batch = ImplicitBatch::kUnsupported,
                                  .work = Work::kNone};
  int64_t axis = 2;
  bool circular = false;

  void visit(FieldVisitor& v) override;
  void infer(Inference& c) const override;
  void reference(const ReferenceCall& call) const override;
};

}  // namespace tenon
