// The small inputs of a layer of integers, read at each run.
#pragma once

#include <span>
#include <vector>

#include "backend/target.h"
#include "ops/support/quantized_operands.h"

namespace tenon::cpu {

class RunOperands {
 public:
  RunOperands(std::span<const TensorSpec> inputs, int64_t channels) : operands_(channels) {
    for (const TensorSpec& s : inputs) views_.push_back({nullptr, s.type, s.shape});
  }

  /// Allocates nothing. What it gives may be changed until the next call.
  QuantizedOperands& read(const RunArguments& arguments) {
    for (size_t i = 0; i < views_.size(); ++i)
      views_[i].data = const_cast<void*>(arguments.inputs[i]);
    operands_.read(views_);
    return operands_;
  }

 private:
  std::vector<TensorView> views_;
  QuantizedOperands operands_;
};

}  // namespace tenon::cpu
