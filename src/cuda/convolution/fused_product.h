// A product of 16-bit matrices by tensor cores with what follows it. It pays with few channels,
// where moving the result costs more than making it.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "base/dtype.h"
#include "cuda/simple_epilogue.h"

namespace tenon::cuda {

/// result (rows, columns) = epilogue(data (rows, depth) weights (columns, depth)^T + bias). All lie
/// in rows at addresses that are multiples of 16 bytes; depth and columns are multiples of 8.
struct FusedProduct {
  /// Rows and columns of what a block makes.
  enum class Tile : uint8_t { k128x64, k64x64, k64x32, k32x32 };
  DataType type = DataType::kHALF;  // of all matrices: half or bfloat16
  const void* data = nullptr;
  const void* weights = nullptr;
  const void* bias = nullptr;   // one for each column; null: none
  const void* added = nullptr;  // like the result, if the epilogue adds
  void* result = nullptr;
  int64_t rows = 0;
  int columns = 0, depth = 0;
  Tile tile = Tile::k128x64;
  SimpleEpilogue epilogue;
};

/// Throws Error unless all tensors are at multiples of 16 bytes.
void check_alignment(const FusedProduct& p);
/// Not for empty matrices.
void launch_fused_product(const FusedProduct& p, cudaStream_t stream);

}  // namespace tenon::cuda
