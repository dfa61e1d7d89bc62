// What the CPU target's kernels share.
#include "cpu/kernels.h"

#include <algorithm>

namespace tenon::cpu {

std::unique_ptr<Execution> prepare_for(const KernelRequest& request, const Kernel& kernel) {
  std::vector<TensorSpec> inputs(request.inputs.begin(), request.inputs.end());
  for (size_t i = 0; i < inputs.size(); ++i) inputs[i].layout = kernel.input_layouts[i];
  TensorSpec output = request.outputs[0];
  output.layout = kernel.output_layouts[0];
  return kernel.prepare(inputs, {&output, 1});
}

bool all_of_type(const KernelRequest& request, DataType type) {
  const auto matches = [&](const TensorSpec& s) { return !s.present || s.type == type; };
  return std::all_of(request.inputs.begin(), request.inputs.end(), matches)
         && std::all_of(request.outputs.begin(), request.outputs.end(), matches);
}

}  // namespace tenon::cpu
