// CUDA C++ for sums, products, extremes and averages along axes.
#pragma once

#include <string>

#include "cuda/nvrtc/axes.h"
#include "ops/reduce.h"

namespace tenon::cuda {

/// Elements that a thread reads at a time: 16 bytes.
int reduce_width(DataType type);
/// Bytes of an partial result: floats are added in float32, integers in int64.
int partial_bytes(DataType type);

/// Kernels that take ReduceParameters. `rows` and `rows1` read along reduced axes, reduce_width()
/// elements or one at a time; `columns` and `columns1` along kept ones; `finalize` combines what
/// they left partial. Each adds in one order, whatever the device.
std::string reduce_source(nvinfer1::ReduceOperation operation, DataType type);

struct ReduceParameters {
  const void* in;
  void* out;            // finalized results
  void* partial;        // or partial ones, [splits][results]; null: finalized ones
  int64_t elements;     // reduced to one result
  uint32_t results;     // all of them
  uint32_t kept_steps;  // what threads are numbered along: results, or vectors of them
  uint32_t steps;       // along reduced axes: elements, or vectors of them
  uint32_t chunk;       // steps of a block: block y does those from y * chunk on
  uint32_t lanes;       // threads for a result, or a vector of them; a power of 2 up to 256
  uint32_t splits;      // partial results for each
  AxesParameters kept, reduced;
};

}  // namespace tenon::cuda
