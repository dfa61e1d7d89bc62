// Operations over tensors for which cuDNN has kernels: a convolution and what follows it.
#pragma once

#include <limits>
#include <string>
#include <vector>

#include "base/fields.h"
#include "base/layout.h"
#include "cuda/cudnn/descriptor.h"
#include "ops/support/window.h"

namespace tenon::cuda::cudnn {

/// One of cuDNN's kernels, as a plan of ours keeps it: an engine of the graph, and its settings.
struct EngineChoice {
  int64_t engine = 0;
  std::vector<int64_t> knobs;  // type and value of each setting in turn

  std::string str() const;

  friend bool operator==(const EngineChoice&, const EngineChoice&) = default;
};

/// A kernel made ready. Used by one thread at a time.
class GraphPlan {
 public:
  GraphPlan() = default;
  GraphPlan(Descriptor plan, Descriptor configuration, std::vector<int64_t> tensors);
  size_t workspace_bytes() const { return workspace_bytes_; }
  /// Puts the work into the stream; `addresses` has one for each tensor that the graph reads or
  /// writes, in the order in which they were made.
  void run(std::span<void* const> addresses, void* workspace, cudaStream_t stream);

 private:
  Descriptor plan_, configuration_, pack_;
  std::vector<int64_t> tensors_;
  std::vector<void*> pack_addresses_;  // those in pack_, and the workspace
  size_t workspace_bytes_ = 0;
};

enum class Kind : uint8_t { kForward, kTransposed };

class Graph {
 public:
  /// A tensor in memory, at an address that is a multiple of 16 bytes. Returns its number.
  int64_t tensor(DataType type, const Shape& shape, Layout layout);
  /// A tensor between operations, of float32.
  int64_t between(const Shape& shape, Layout layout);

  void convolve(Kind kind, int64_t data, int64_t weights, int64_t result,
                std::span<const Window> windows);
  /// Attributes of an element-wise operation, those that are not given at cuDNN's defaults.
  struct Pointwise {
    cudnnPointwiseMode_t mode = CUDNN_POINTWISE_IDENTITY;
    double lower_slope = 0, upper = std::numeric_limits<float>::max();  // of RELU_FWD
    double elu_alpha = 1, softplus_beta = 1;
  };
  /// `b` is -1 where the operation has one operand.
  void pointwise(const Pointwise& operation, int64_t a, int64_t b, int64_t result);
  /// No operations after this.
  void finalize();

  /// The kernels that cuDNN thinks fastest first, at most `max_count`, by measurement or rule; they
  /// may prove not to work. Deterministic ones only, and such as keep float32 unless `tf32`.
  std::vector<EngineChoice> engines(bool tf32, size_t max_count) const;
  /// Throws when the engine does not do these shapes.
  GraphPlan plan(const EngineChoice& choice) const;

 private:
  Descriptor configuration_of(const EngineChoice& choice) const;
  Descriptor& add(int64_t number, cudnnDataType_t type, const Shape& shape, Layout layout,
                  bool is_between);

  std::vector<Descriptor> tensors_, parts_, operations_;
  std::vector<int64_t> in_memory_;
  bool is_float_ = true;  // all tensors in memory are float32
  Descriptor graph_;
  std::string text_;  // tells graphs apart
};

}  // namespace tenon::cuda::cudnn
