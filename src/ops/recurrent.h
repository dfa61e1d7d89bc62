// LSTM, GRU and plain recurrent layers over a sequence.
#pragma once

#include <array>

#include "network/op.h"

namespace tenon {

enum class RecurrentKind : int32_t { kPlain, kLstm, kGru };
enum class RecurrentDirection : int32_t { kForward, kReverse, kBidirectional };

/// An activation of TensorRT's, or kAffine: alpha * x + beta.
constexpr int32_t kAffine = 1000;

/// Inputs, with S steps, N sequences, D directions (1 or 2), I features, H units and G gates (1, 4
/// or 3): X (S, N, I); W (D, G*H, I); R (D, G*H, H); and, each optional, B (D, 2*G*H); the lengths
/// of the sequences (N), int32 or int64, 0 to S; the first H (D, N, H); the first C (D, N, H) and
/// the peepholes (D, 3*H) of an LSTM. The order of gates is i, o, f, c and z, r, h.
/// Outputs: Y (S, D, N, H), zero after a sequence's end; the last H and, of an LSTM, the last C
/// (D, N, H), zero for a sequence of length 0. With batch_first the axis of sequences comes first
/// everywhere: X (N, S, I), H and C (N, D, H), Y (N, S, D, H). Semantics: ONNX RNN, LSTM, GRU; what
/// they leave open is as ONNX Runtime has it.
struct Recurrent final : OpOf<Recurrent, layer_type(PrivateLayer::kRecurrent)> {
  static constexpr std::string_view kName = "Recurrent";
  static constexpr Traits kTraits{.runs = Runs::kKernel,
                                  .reduced_precision = ReducedPrecision::kAllInputs,
                                  .magnitude = Magnitude::kOrdinary,
                                  .implicit_batch = ImplicitBatch::kUnsupported,
                                  .work = Work::kCounted};
  RecurrentKind kind_of_cell = RecurrentKind::kLstm;
  RecurrentDirection direction = RecurrentDirection::kForward;
  int64_t hidden_size = 0;
  /// f, g, h (as many as the cell has: 1, 3, 2) of the first direction, then of the second.
  std::vector<int32_t> activations;
  std::vector<float> alpha, beta;    // one for each
  float clip = 0;                    // bounds the gates before their activation; 0: none
  bool linear_before_reset = false;  // GRU: the reset gate scales the product, not the state
  bool input_forget = false;         // LSTM: the forget gate is 1 - the input gate
  bool batch_first = false;

  enum Input { kX, kW, kR, kB, kLengths, kFirstH, kFirstC, kPeepholes, kInputCount };

  int directions() const { return direction == RecurrentDirection::kBidirectional ? 2 : 1; }
  bool is_reverse(int d) const { return direction == RecurrentDirection::kReverse || d == 1; }
  int gates() const;
  int activations_per_direction() const;

  int output_count() const override { return kind_of_cell == RecurrentKind::kLstm ? 3 : 2; }
  void visit(FieldVisitor& v) override;
  void infer(Inference& c) const override;
  double operations(std::span<const Shape> inputs, std::span<const Shape> outputs) const override;
  void reference(const ReferenceCall& call) const override;
};

/// Where a recurrent layer's elements lie, for concrete shapes. Throws when they do not fit.
struct RecurrentSizes {
  int64_t steps, batch, inputs, units, gates;
  int directions;
  bool batch_first;

  RecurrentSizes(const Recurrent& op, const Shape& x, const Shape& w, const Shape& r);
  int64_t x(int64_t step, int64_t b) const {
    return (batch_first ? b * steps + step : step * batch + b) * inputs;
  }
  int64_t y(int64_t step, int d, int64_t b) const {
    return (batch_first ? (b * steps + step) * directions + d : (step * directions + d) * batch + b)
           * units;
  }
  int64_t state(int d, int64_t b) const {
    return (batch_first ? b * directions + d : d * batch + b) * units;
  }
};

/// The length of each sequence; throws when one is not in [0, steps].
std::vector<int64_t> sequence_lengths(const TensorView* lengths, const RecurrentSizes& sizes);

}  // namespace tenon
