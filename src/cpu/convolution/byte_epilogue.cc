#include "cpu/convolution/byte_epilogue.h"

#include "cpu/simd/kernels.h"

namespace tenon::cpu {

ByteEpilogue::ByteEpilogue(const PointwiseProgram& program, int64_t numbers) : numbers_(numbers) {
  if (program.empty()) return;
  const TensorSpec row{DataType::kFLOAT, Layout::kLinear, {numbers}, true};
  loop_ = prepare_pointwise(program, {&row, 1}, row);
}

void ByteEpilogue::run(float* numbers, int64_t count) const {
  const void* const input = numbers;
  loop_->run_range({&input, 1}, numbers, 0, count);
}

ByteResult as_floats(const ByteResult& result) {
  ByteResult floats = result;
  floats.to = ByteResult::To::kFloat;
  return floats;
}

void round_numbers(const ByteRounding& rounding, const float* numbers, int64_t count, uint8_t* to) {
  simd_kernels().round_to_bytes(numbers, rounding.low, rounding.high, rounding.zero, to, count);
}

}  // namespace tenon::cpu
