// Layers of 8-bit integers at certain shapes: a convolution and a product of matrices have the same
// inputs.
#pragma once

#include "backend/target.h"
#include "base/cuda_stream.h"
#include "cuda/check.h"
#include "ops/support/integer_operands.h"

namespace tenon::cuda {

/// `Parameters` are those of one launch; its addresses are set here.
template <class Parameters> class IntegerExecution final : public Execution {
 public:
  using Launch = void (*)(const Parameters& parameters, cudaStream_t stream);
  IntegerExecution(const Parameters& parameters, Launch launch, const char* what)
      : parameters_(parameters), launch_(launch), what_(what) {}

  void run(const RunArguments& arguments) override {
    using In = IntegerInputs;
    Parameters p = parameters_;
    p.data = arguments.input(In::kData);
    p.weights = arguments.input(In::kWeights);
    p.data_zero.data = arguments.input(In::kDataZero);
    p.weights_zero.data = arguments.input(In::kWeightsZero);
    p.bias.data = arguments.input(In::kBias);
    p.scale.data = arguments.input(In::kResultScale);
    p.shift.data = arguments.input(In::kResultShift);
    p.result_zero.data = arguments.input(In::kResultZero);
    p.result = arguments.outputs[0];
    launch_(p, to_cuda(arguments.stream));
    check_launch(what_);
  }

 private:
  Parameters parameters_;
  Launch launch_;
  const char* what_;
};

}  // namespace tenon::cuda
