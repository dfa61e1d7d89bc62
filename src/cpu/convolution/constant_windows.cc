#include "cpu/convolution/constant_windows.h"

#include <algorithm>

#include "base/error.h"
#include "ops/support/quantized_operands.h"

namespace tenon::cpu {
namespace {

using In = QuantizedInputs;

/// The zero points that constants give, one for each output channel; empty where they are not
/// known.
std::vector<int32_t> weights_zeros(const KernelRequest& request, int64_t output_channels) {
  const auto all = static_cast<size_t>(output_channels);
  constexpr size_t kZero = In::kWeightsZero;
  if (kZero >= request.inputs.size() || !request.inputs[kZero].present)
    return std::vector<int32_t>(all, 0);
  const Tensor* constant = request.constants[kZero];
  if (constant == nullptr) return {};
  const auto given = constant->integers();
  require(given.size() == 1 || given.size() == all, "{} zero points of {} output channels",
          given.size(), all);
  std::vector<int32_t> zeros(all);
  for (size_t m = 0; m < all; ++m)
    zeros[m] = static_cast<int32_t>(given[given.size() == 1 ? 0 : m]);
  return zeros;
}

}  // namespace

Variant<ConstantWindows, std::string> ConstantWindows::take(const KernelRequest& request,
                                                            const Shape& shape,
                                                            const Shape& steps) {
  const Tensor* constant = request.constants[In::kWeights];
  if (constant == nullptr) return "weights that are not constant are not supported";
  require(constant->count() == shape.volume(), "{} weights, expected {}", constant->shape(), shape);
  ConstantWindows made;
  made.shape = shape;
  made.steps_ = steps;
  made.data_ = constant->data<uint8_t>();
  made.is_signed_ = constant->type() == DataType::kINT8;
  made.zeros_ = weights_zeros(request, shape[0]);
  if (static_cast<int64_t>(made.zeros_.size()) < shape[0])
    return "zero points of weights that are not constant are not supported";
  return made;
}

Tensor ConstantWindows::sums() const {
  Tensor sums(DataType::kINT32, {2, shape[0]});
  for (int64_t m = 0; m < shape[0]; ++m) {
    uint32_t sum = 0;  // of many terms it wraps, as in the loops
    for (int64_t c = 0; c < shape[1]; ++c)
      for (int64_t y = 0; y < shape[2]; ++y)
        for (int64_t x = 0; x < shape[3]; ++x) sum += static_cast<uint32_t>(weight(m, c, y, x));
    sums.mutable_data<int32_t>()[m] = static_cast<int32_t>(sum);
    sums.mutable_data<int32_t>()[shape[0] + m] = 0;
  }
  return sums;
}

bool ConstantWindows::are_bytes() const {
  return is_signed_ && std::all_of(zeros_.begin(), zeros_.end(), [](int32_t z) { return z == 0; });
}

}  // namespace tenon::cpu
