// What is computed of the scaled sums of a layer of integers before they are rounded to bytes.
#pragma once

#include <memory>

#include "cpu/pointwise.h"
#include "cpu/simd/byte_product.h"
#include "ops/quantized_convolution.h"

namespace tenon::cpu {

/// Numbers lie in a task's workspace, while they are in a cache, and behind them those of the
/// operand, if there is one.
class ByteEpilogue {
 public:
  /// For that many numbers at a time, at most; an empty epilogue is none.
  /// @param operand the type of its bytes, if there are any.
  ByteEpilogue(const QuantizedConvolution& op, DataType operand, int64_t numbers);

  bool used() const { return loop_ != nullptr; }
  bool has_operand() const { return inputs_ > 1; }
  /// Floats that a task needs for them.
  int64_t floats() const { return static_cast<int64_t>(inputs_) * numbers_; }
  /// Bytes of the operand become the numbers that belong to those from `numbers[at]` on.
  void read_operand(const ByteProductKernels& kernels, const PixelRow<uint8_t>& bytes,
                    float* numbers, int64_t at) const {
    kernels.dequantize(bytes, operand_scale_, numbers + numbers_ + at);
  }
  /// The epilogue over so many of them, but for what round() does.
  void run(float* numbers, int64_t count) const;
  /// What comes of it as bytes.
  void round(const ByteProductKernels& kernels, const PixelRow<float>& numbers,
             const ByteRounding& rounding, uint8_t* to) const {
    kernels.round(numbers, divisor_, rounding, to);
  }

 private:
  int64_t numbers_;
  size_t inputs_;  // 0 without an epilogue
  ByteScale operand_scale_;
  float divisor_ = 1;  // the epilogue's last step, by which numbers are divided as they are rounded
  std::unique_ptr<PointwiseLoop> loop_;
};

/// The same as floats.
ByteResult as_floats(const ByteResult& result);

}  // namespace tenon::cpu
