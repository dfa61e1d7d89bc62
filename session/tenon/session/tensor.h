// The inputs and outputs of an engine.
#ifndef TENON_SESSION_TENSOR_H
#define TENON_SESSION_TENSOR_H

#include <NvInferRuntime.h>

#include <string>
#include <vector>

#include "tenon/session/format.h"

namespace tenon::session {

/// An input or output of an engine, in one profile.
struct Tensor {
  std::string name;
  nvinfer1::DataType type = nvinfer1::DataType::kFLOAT;
  Format format;  ///< in which it lies in the engine's memory
  bool is_input = false;
  bool is_on_host = false;             ///< its address is one of the host's, on a GPU too
  bool decides_shapes = false;         ///< an input whose values shapes depend on
  nvinfer1::Dims shape{};              ///< -1 for extents that only a run has
  nvinfer1::Dims min{}, opt{}, max{};  ///< of inputs

  /// "input 'x'", for messages.
  std::string label() const;
};

/// All of an engine's, in its order.
/// @pre the engine has such a profile.
std::vector<Tensor> tensors_of(const nvinfer1::ICudaEngine& engine, int32_t profile);

}  // namespace tenon::session

#endif  // TENON_SESSION_TENSOR_H
