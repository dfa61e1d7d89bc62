// One way to run a plugin: tensors of certain shapes, types and formats that it accepts.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "check/guarded.h"
#include "check/subject.h"
#include "check/trial.h"

namespace tenon::check {

struct Setup {
  std::string label;              // "inside, float16", "2x4x6x8, float32, kHWC"
  DataType t = DataType::kFLOAT;  // what the trial's type variable stands for
  Tensors inputs, outputs;
  std::vector<std::string> input_bytes;
  std::vector<int> aliased;      // for each output, the input whose memory it has, or -1
  bool is_linear = true;         // all tensors are
  const Trial* trial = nullptr;  // its expected outputs, if it has any; null where they do not hold

  /// How many elements output `o` has; none where only running tells it.
  std::optional<size_t> elements(size_t o) const;
};

/// The shapes of a trial's inputs.
std::vector<nvinfer1::Dims> dims_of(const Trial& trial);
/// "2x4x6x8 float32, 5 int32".
std::string describe(const Trial& trial, DataType t);

/// Types that the type variable of a trial may stand for.
std::vector<DataType> types_of(const Trial& trial);

/// Asks the plugin for its outputs, and for a combination of formats: `format` where that suits a
/// tensor and the plugin takes it, or linear; null is linear everywhere. None when it refuses, or
/// no tensor has `format`. Throws Broken where its answers make no sense.
std::optional<Setup> make_setup(const Subject& subject, const Trial& trial,
                                const std::vector<nvinfer1::Dims>& dims, DataType t,
                                const kit::testing::VectorFormat* format);

/// The memory of one run.
class Buffers {
 public:
  Buffers(const Setup& setup, size_t workspace_bytes);
  /// Writes the inputs; everything else becomes `fill`.
  void reset(unsigned char fill);
  /// Runs and waits. Throws Broken when it fails, NotHere when it launches CUDA kernels and this
  /// machine has no GPU.
  void enqueue(const Subject& subject, cudaStream_t stream);
  /// Their elements in linear order, without padding.
  std::vector<std::string> outputs() const;
  /// Throw Broken.
  void require_bounds() const;
  void require_inputs_kept() const;

 private:
  const Guarded& output(size_t o) const;

  const Setup& setup_;
  std::vector<Guarded> inputs_, outputs_;
  Guarded workspace_;
};

}  // namespace tenon::check
