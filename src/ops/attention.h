// Scaled dot-product attention.
#pragma once

#include "network/op.h"
#include "ops/support/quantized_bytes.h"

namespace tenon {

/// What is shown beside the result, for ONNX's qk_matmul_output_mode.
enum class AttentionScores : int32_t { kNone = -1, kScaled, kCapped, kMasked, kShares };

/// Where vectors lie within a tensor: element i of axes (N, H, L, E) has the number offset + sum of
/// i[k] * steps[k] among the tensor's elements. Without extents the tensor itself has these axes.
struct AttentionVectors {
  Shape extents, steps;
  int64_t offset = 0;

  bool is_tensor() const { return extents.rank() == 0; }
  void visit(FieldVisitor& v, const std::string& prefix);
  /// Throws unless all elements lie within a tensor of that many, and are no more than those.
  void check(int64_t elements) const;
};

/// Inputs: query (N, Hq, L, E); key (N, H, S, E) and value (N, H, S, V), where Hq is a multiple of
/// H and each key serves Hq/H neighbouring heads; and, each optional: a mask that broadcasts to (N,
/// Hq, L, S), bool (true: may be seen) or of the query's type (added), whose last axis may be
/// shorter, then the keys beyond it are not seen; the number of valid keys (N), int64; and the
/// offset of the first query among the keys, int64 (1 or N), 0 without.
/// Outputs: (N, Hq, L, V), as bytes with `bytes`, and with `scores` also (N, Hq, L, S).
/// The optimizer may have vectors read from within tensors of other (constant) shapes, and written
/// into one of shape `result_shape`, all of whose elements they are.
/// shares = softmax(cap(scale * q k^T) + mask); result = shares * v. A query that sees no key has
/// shares of 0. With `causal` query i sees keys up to i + offset; windows bound how far keys may be
/// before or after it. Computes in float32.
/// Semantics: ONNX Attention; TensorRT IAttention, which may leave the softmax out.
struct Attention final : OpOf<Attention, LayerType::kATTENTION_OUTPUT> {
  static constexpr std::string_view kName = "Attention";
  static constexpr Traits kTraits{.runs = Runs::kKernel,
                                  .reduced_precision = ReducedPrecision::kAllInputs,
                                  .magnitude = Magnitude::kOrdinary,
                                  .implicit_batch = ImplicitBatch::kUnsupported,
                                  .work = Work::kCounted};
  nvinfer1::AttentionNormalizationOp normalization = nvinfer1::AttentionNormalizationOp::kSOFTMAX;
  float scale = 1;
  float softcap = 0;  // s becomes cap * tanh(s / cap); 0: not at all
  bool causal = false;
  int64_t left_window = -1, right_window = -1;  // -1: unbounded
  AttentionScores scores = AttentionScores::kNone;
  bool decomposable = false;    // TensorRT's hint; nothing depends on it
  AttentionVectors vectors[4];  // of query, key, value and the result
  Shape result_shape;
  QuantizedBytes bytes;

  enum Input { kQuery, kKey, kValue, kMask, kLengths, kOffsets, kInputCount };
  static constexpr size_t kResult = 3;  // in `vectors`

  bool has_own_strides() const;
  /// Where the vectors of an operand (kResult for the result's) lie, whether they are a tensor or
  /// within one. Throws unless they lie within a tensor of that shape.
  AttentionVectors vectors_of(size_t operand, const Shape& tensor) const;

  int output_count() const override { return scores == AttentionScores::kNone ? 1 : 2; }
  void visit(FieldVisitor& v) override;
  void infer(Inference& c) const override;
  double operations(std::span<const Shape> inputs, std::span<const Shape> outputs) const override;
  void reference(const ReferenceCall& call) const override;

 private:
  void reference_strided(const ReferenceCall& call) const;
};

/// Windows that are longer are as long: further than any key, and small enough to be added.
constexpr int64_t kMaxWindow = int64_t{1} << 40;

/// What a query may see, for concrete shapes; shared by all kernels of the layer.
class AttentionMask {
 public:
  /// `inputs` are those of the layer, with their data. Throws when they do not fit.
  AttentionMask(const Attention& op, std::span<const TensorView> inputs);

  /// What one query may see.
  struct Row {
    int64_t first, end;  // of the keys
    DataType type;       // of the mask
    const void* mask;    // its element for the first key, null without a mask
    int64_t step;        // and elements from a key to the next: 0 or 1
    bool is_adjacent(DataType t) const { return mask != nullptr && type == t && step == 1; }
  };
  Row row(int64_t batch, int64_t head, int64_t query) const;
  /// How many keys the batch has. What lies behind them may be anything, NaN too.
  int64_t valid_keys(int64_t batch) const { return lengths_[static_cast<size_t>(batch)]; }

  /// Makes the scores of keys beyond those of the row -infinity.
  void hide_others(const Row& row, float* scores) const;
  /// The same, and adds the mask, -infinity for keys that are not seen. False when the query sees
  /// none.
  bool apply(const Row& row, float* scores) const;

 private:
  const Attention& op_;
  int64_t keys_;
  TensorView mask_;
  Shape mask_steps_;  // along (N, Hq, L)
  int64_t mask_keys_ = 0;
  int64_t mask_key_step_ = 1;
  std::vector<int64_t> lengths_, offsets_;
};

}  // namespace tenon
