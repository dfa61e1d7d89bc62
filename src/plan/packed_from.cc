#include "plan/packed_from.h"

#include <algorithm>

namespace tenon {

PackedFrom::PackedFrom(const KernelRequest& request, const Kernel& answer)
    : inputs_(request.inputs.begin(), request.inputs.end()),
      outputs_(request.outputs.begin(), request.outputs.end()),
      tf32_(request.tf32),
      cold_weights_(request.cold_weights),
      bf16_(request.bf16),
      input_layouts_(answer.input_layouts),
      output_layouts_(answer.output_layouts) {
  for (const Tensor* t : request.constants) {
    auto& constant = constants_.emplace_back();
    if (t != nullptr) constant = {t->memory(), t->data(), t->type(), t->shape()};
  }
}

bool PackedFrom::is(const KernelRequest& request) const {
  return std::ranges::equal(inputs_, request.inputs)
         && std::ranges::equal(outputs_, request.outputs) && tf32_ == request.tf32
         && cold_weights_ == request.cold_weights && bf16_ == request.bf16
         && std::ranges::equal(constants_, request.constants,
                               [](const std::optional<Constant>& before, const Tensor* now) {
                                 return before ? now != nullptr && before->is(*now)
                                               : now == nullptr;
                               });
}

}  // namespace tenon
