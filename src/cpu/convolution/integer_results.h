// What becomes of the sums of a layer of 8-bit integers, from the operands of each run.
#pragma once

#include <optional>
#include <vector>

#include "cpu/run_operands.h"
#include "cpu/simd/byte_product.h"
#include "ops/quantized_convolution.h"

namespace tenon::cpu {

/// Signed bytes become unsigned ones by an exclusive-or with this.
inline uint8_t flip_of(DataType type) {
  return type == DataType::kINT8 ? 128 : 0;
}

/// The steps of a sum that comes behind, fast where that gives the same bytes.
ByteSum byte_sum(const QuantizedSum& sum, DataType addend);

/// Data count as unsigned bytes, and padding is their zero point.
class IntegerResults {
 public:
  /// `weight_sums` are as IntegerPanels has them, and outlive this.
  IntegerResults(const QuantizedConvolution& op, const Tensor& weight_sums,
                 const std::optional<ByteSum>& sum, std::span<const TensorSpec> inputs);

  void begin(const RunArguments& arguments);

  /// Signed bytes become unsigned ones by this exclusive-or, which adds 128.
  uint8_t flip() const { return flip_; }
  /// An unsigned byte.
  uint8_t padding() const { return padding_; }
  /// The bytes that belong to the result's element `at`: an addend's, or an epilogue's operand.
  const uint8_t* addend(int64_t at) const { return addend_ + at; }
  /// Calls with(result, out) for output channels from `output channel` on; the first result is
  /// element `at`.
  template <class With> void of(int64_t at, int64_t output_channel, const With& with) const {
    ByteResult result = result_;
    std::optional<ByteSum> sum = sum_;
    if (sum) {
      sum->addend = addend(at);
      result.sum = &*sum;
    }
    result.add += output_channel;
    result.scale += output_channel;
    result.shift += output_channel;
    with(result, static_cast<void*>(out_ + bytes_of(to_, at)));
  }

 private:
  const Tensor& weight_sums_;
  RunOperands operands_;
  std::vector<int32_t> add_;
  DataType to_;
  ResultBounds bounds_;
  uint8_t flip_, padding_ = 0;
  std::byte* out_ = nullptr;
  const uint8_t* addend_ = nullptr;
  ByteResult result_{};
  std::optional<ByteSum> sum_;
};

}  // namespace tenon::cpu
