#include "cpu/recurrent_weights.h"

#include <algorithm>

namespace tenon::cpu {
namespace {

/// Matrices (units, depth) of so many gates as panels of their transposes.
void pack_gates(const float* rows, int64_t gates, int64_t units, int64_t depth, float* packed) {
  for (int64_t g = 0; g < gates; ++g, rows += units * depth, packed += whole_panels(units) * depth)
    for (int64_t j = 0; j < units; ++j)
      for (int64_t k = 0; k < depth; ++k)
        packed[(j / kProductPanel * depth + k) * kProductPanel + j % kProductPanel] =
            rows[j * depth + k];
}

}  // namespace

Tensor pack_recurrent(const Recurrent& op, const KernelRequest& request) {
  const auto constant = [&](size_t i) {
    return i < request.constants.size() && request.constants[i] != nullptr
               ? request.constants[i]->data<float>()
               : nullptr;
  };
  const int64_t units = op.hidden_size, all = op.gates() * units;
  const int64_t inputs = request.inputs[Recurrent::kW].shape.back();
  const Packing packing(op, inputs);
  const GateGroups groups = groups_of(op);
  Tensor packed(DataType::kFLOAT, packing.shape(op));
  std::fill_n(packed.mutable_data<float>(), packed.count(), 0.f);
  for (int d = 0; d < op.directions(); ++d) {
    float* to = packed.mutable_data<float>() + d * packing.total;
    const float* r = constant(Recurrent::kR) + d * all * units;
    pack_gates(constant(Recurrent::kW) + d * all * inputs, op.gates(), units, inputs,
               to + packing.w);
    pack_gates(r, groups.first, units, units, to + packing.r_first);
    pack_gates(r + groups.first * units * units, groups.second, units, units,
               to + packing.r_second);
    if (const float* b = constant(Recurrent::kB)) {
      b += d * 2 * all;
      // Only a GRU has a second group, whose bias is scaled with the state.
      const bool apart = op.linear_before_reset && groups.second > 0;
      const int64_t scaled = apart ? groups.first * units : all;
      for (int64_t i = 0; i < all; ++i)
        to[packing.bias + i / units * whole_panels(units) + i % units] =
            b[i] + (i < scaled ? b[all + i] : 0);
      if (apart) std::copy_n(b + all + scaled, units, to + packing.state_bias);
    }
    if (const float* p = constant(Recurrent::kPeepholes))
      std::copy_n(p + d * 3 * units, 3 * units, to + packing.peepholes);
  }
  return packed;
}

}  // namespace tenon::cpu
