// One step of a recurrent layer for all directions, sequences and units.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "base/dtype.h"

namespace tenon::cuda {

enum class RecurrentCell : int32_t { kPlain, kLstm, kGru };

/// The layer Recurrent, with the products of its inputs already in `gates`. States are float32, by
/// direction, sequence and unit; gates by direction, row (as those of x lie) and gate.
struct RecurrentTask {
  struct Activation {
    int32_t function = 0;  // an ActivationType, or kAffine
    float alpha = 0, beta = 0;
  };
  RecurrentCell cell = RecurrentCell::kLstm;
  DataType type = DataType::kFLOAT;  // of weights and results
  int directions = 1, gates = 4;
  int64_t steps = 0, batch = 0, units = 0;
  bool reverse[2] = {}, batch_first = false, linear_before_reset = false, input_forget = false;
  float clip = 0;
  Activation activations[2][3];
  const float* gate_sums = nullptr;                                      // x W^T
  const void *weights = nullptr, *bias = nullptr, *peepholes = nullptr;  // R, B, P
  const void *first_h = nullptr, *first_c = nullptr;
  const void* lengths = nullptr;  // int32 or int64
  DataType length_type = DataType::kINT32;
  /// States before and after a step; `c` is changed in place. `reset` and `update` are work of a
  /// GRU whose reset gate scales the state.
  float *h[2] = {}, *c = nullptr, *reset = nullptr, *update = nullptr;
  void *y = nullptr, *last_h = nullptr, *last_c = nullptr;
};

void launch_recurrent_start(const RecurrentTask& task, cudaStream_t stream);
/// Step `i` of each sequence, from its beginning or, reversed, its end.
void launch_recurrent_step(const RecurrentTask& task, int64_t i, cudaStream_t stream);
void launch_recurrent_end(const RecurrentTask& task, cudaStream_t stream);

}  // namespace tenon::cuda
