// What a request says of its tensors besides their elements: inputs and outputs in shared memory,
// and outputs that are classes.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "model.h"
#include "shared_memory.h"

namespace tenon::server {

struct RequestedOutput {
  size_t classes = 0;              ///< in the place of elements; 0 for elements
  std::optional<RegionPart> part;  ///< where the elements are to be
};
struct RequestedTensors {
  std::map<size_t, RegionPart> inputs;             ///< by their place in the request
  std::map<std::string, RequestedOutput> outputs;  ///< by name
};

/// An output as it is sent.
struct OutputTensor {
  std::string name;
  Tensor tensor;
  std::optional<RegionPart> part = {};  ///< where the elements are: they are not sent then
  /// Of BYTES, which are in the tensor one behind the other, each after its length.
  std::optional<Shape> of_strings = {};

  std::string_view datatype() const;
  const Shape& shape() const { return of_strings ? *of_strings : tensor.shape(); }
};
struct OutputResponse {
  std::string model, version, id;
  std::vector<OutputTensor> outputs;
  InferTimes times = {};
};

/// Gives inputs that are in shared memory their elements. An error names the input.
/// @param memory null where there is none.
std::optional<RequestError> prepare_inputs(const RequestedTensors& wanted,
                                           const SharedMemory* memory, InferRequest& request);

/// Makes the outputs what is wanted of them. An error names the output.
/// @param metadata of the model that responded.
std::variant<OutputResponse, RequestError> prepare_outputs(const RequestedTensors& wanted,
                                                           const ModelMetadata& metadata,
                                                           const SharedMemory* memory,
                                                           InferResponse response);

}  // namespace tenon::server
