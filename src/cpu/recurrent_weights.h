// The constants of a recurrent layer as its kernel reads them.
#pragma once

#include "backend/target.h"
#include "cpu/blocks.h"
#include "ops/recurrent.h"

namespace tenon::cpu {

/// The gates whose recurrent products have one factor: all, but of a GRU the state's own gate,
/// whose factor (or result) the reset gate scales, comes after the others.
struct GateGroups {
  int64_t first, second;  // numbers of gates
};
inline GateGroups groups_of(const Recurrent& op) {
  return op.kind_of_cell == RecurrentKind::kGru ? GateGroups{2, 1} : GateGroups{op.gates(), 0};
}

/// The constants of one direction. Each gate begins with a panel.
struct Parameters {
  const float *w, *r_first, *r_second;  // panels
  const float* bias;                    // of all gates
  const float* state_bias;              // GRU: of the state's gate, where that is scaled
  const float* peepholes;               // null for none
};

/// How a direction's constants lie in the packed memory.
struct Packing {
  int64_t w, r_first, r_second, bias, state_bias, peepholes, total;

  Packing(const Recurrent& op, int64_t inputs) {
    const int64_t units = op.hidden_size, gate = whole_panels(units);
    const GateGroups groups = groups_of(op);
    int64_t at = 0;
    const auto take = [&](int64_t floats) {
      const int64_t begin = at;
      at += whole_panels(floats);
      return begin;
    };
    w = take(op.gates() * gate * inputs);
    r_first = take(groups.first * gate * units);
    r_second = take(groups.second * gate * units);
    bias = take(op.gates() * gate);
    state_bias = take(units);
    peepholes = take(3 * units);
    total = at;
  }

  /// Of all directions.
  Shape shape(const Recurrent& op) const { return {op.directions(), total}; }

  Parameters at(const float* base, bool has_peepholes) const {
    return {base + w,    base + r_first,    base + r_second,
            base + bias, base + state_bias, has_peepholes ? base + peepholes : nullptr};
  }
};

/// All constants of the layer, as Packing says, for each direction.
Tensor pack_recurrent(const Recurrent& op, const KernelRequest& request);

}  // namespace tenon::cpu
