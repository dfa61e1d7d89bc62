// What kernels of layers of 8-bit integers share: a convolution and a product of matrices have the
// same inputs and epilogues.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "backend/target.h"
#include "base/cuda_stream.h"
#include "cuda/check.h"
#include "cuda/quantized_epilogue.h"
#include "ops/quantized_convolution.h"
#include "ops/quantized_matrix_multiply.h"

namespace tenon::cuda {

/// What follows the sums, without addresses; nothing where the program is not one of the simple
/// ones. Without inputs only to ask whether there is one.
std::optional<QuantizedEpilogue> quantized_epilogue(const QuantizedConvolution& op,
                                                    std::span<const TensorSpec> inputs = {});
std::optional<QuantizedEpilogue> quantized_epilogue(const QuantizedMatrixMultiply& op,
                                                    std::span<const TensorSpec> inputs = {});
/// Whether the GPU's tensor cores multiply fp8.
bool multiplies_float8();
/// Where its operands are.
void set_operands(QuantizedEpilogue& e, const RunArguments& arguments);
/// An input of one number, or one for each of so many output channels. Throws for others.
QuantizedEpilogue::List list_of(std::span<const TensorSpec> inputs, size_t input, int64_t channels);

/// Where weights lie: of an output channel and a position in its depth, in the layer's weights and
/// in those that a kernel keeps: int8, less their zero points, zeros between.
struct WeightPacking {
  using Index = std::function<int64_t(int64_t output_channel, int64_t position)>;
  int64_t output_channels = 0, depth = 0, bytes = 0;
  Index source, target;
};

/// What is known of the weights, the bias and the data's zero point while a plan is built.
class PackedWeights {
 public:
  enum : size_t { kWeights, kBias, kWeightsSum, kPadding, kCount };

  /// Constants of the request, as tensors in that order: the weights, int32 lists for all output
  /// channels of the bias and of the sums of the weights, and 16 bytes of the data's zero point.
  /// Or why there are none.
  static Variant<std::vector<Tensor>, std::string> pack(const KernelRequest& request,
                                                        const WeightPacking& packing);
  /// Throws unless a plan's are such tensors.
  static void check(std::span<const Tensor> stored, const WeightPacking& packing);
  /// Marks the inputs that a kernel need not read then, and sets the layouts of the others and of
  /// the result: of pictures, channels last.
  static void describe(Kernel& kernel, const KernelRequest& request, bool are_pictures);
};

/// `Parameters` are those of one launch of a kernel that reads all operands; its addresses are set
/// here.
template <class Parameters> class QuantizedExecution final : public Execution {
 public:
  using Launch = void (*)(const Parameters& parameters, cudaStream_t stream);
  QuantizedExecution(const Parameters& parameters, Launch launch, const char* what)
      : parameters_(parameters), launch_(launch), what_(what) {}

  void run(const RunArguments& arguments) override {
    using In = QuantizedInputs;
    Parameters p = parameters_;
    p.data = arguments.input(In::kData);
    p.weights = arguments.input(In::kWeights);
    p.data_zero.data = arguments.input(In::kDataZero);
    p.weights_zero.data = arguments.input(In::kWeightsZero);
    p.bias.data = arguments.input(In::kBias);
    set_operands(p.epilogue, arguments);
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
