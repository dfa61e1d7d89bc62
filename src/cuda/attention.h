// Attention in one kernel: scores are never stored.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "base/dtype.h"
#include "cuda/byte_quantization.h"

namespace tenon::cuda {

/// result = softmax(cap(scale * query key^T) + mask) value, as the layer Attention defines it.
struct AttentionParameters {
  /// Vectors of a tensor, each in one piece; steps in elements.
  struct Vectors {
    const void* data = nullptr;
    int64_t offset = 0, batch_step = 0, head_step = 0, row_step = 0;
  };
  /// int32 or int64, one for each batch or (step 0) for all; null data: none.
  struct Numbers {
    const void* data = nullptr;
    DataType type = DataType::kINT64;
    int step = 0;
  };
  DataType type = DataType::kFLOAT;
  Vectors query, key, value, result;  // the result is written
  int64_t batch = 0;
  int heads = 0, shared = 1;  // of queries; so many share a head of keys
  int queries = 0, keys = 0, size = 0, width = 0;
  float scale = 1, softcap = 0;
  bool softmax = true, causal = false;
  int64_t left_window = -1, right_window = -1;
  const void* mask = nullptr;
  DataType mask_type = DataType::kBOOL;  // or `type`
  int64_t mask_steps[4] = {};            // along (batch, head, query, key)
  int mask_keys = 0;                     // keys beyond are not seen
  Numbers lengths, offsets;
  /// Whether the result is of bytes: its numbers, rounded to `type`, by `byte_rule`.
  bool gives_bytes = false;
  ByteQuantization byte_rule;
};

/// Whether tensor cores can do it: 16-bit vectors of at most 128 elements, a multiple of 8, that
/// lie at multiples of 16 bytes.
bool tensor_cores_attend(const AttentionParameters& parameters);
void launch_tensor_core_attention(const AttentionParameters& parameters, cudaStream_t stream);

/// The same by wgmma and TMA, where neither lengths nor offsets bound the keys. False where
/// tensor_cores_attend() is, on other architectures, and where TMA does not take the vectors: bytes
/// of the result whose rows, heads or batches do not lie at multiples of 16.
bool launch_warpgroup_attention(const AttentionParameters& parameters, cudaStream_t stream);

/// Vectors of at most so many elements, of any floating-point type.
constexpr int kMaxPlainAttention = 256;
void launch_plain_attention(const AttentionParameters& parameters, cudaStream_t stream);

}  // namespace tenon::cuda
