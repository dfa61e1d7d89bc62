#include "requested_tensors.h"

#include <tenon/printable.h>

#include <algorithm>
#include <utility>

#include "classification.h"
#include "datatype.h"

namespace tenon::server {
namespace {

RequestError at(const char* kind, const std::string& name, RequestError error) {
  error.text = std::string(kind) + " '" + printable(name) + "': " + error.text;
  return error;
}

// Of the output of that name; none for one that the metadata do not have.
const std::vector<std::string>& labels_of(const ModelMetadata& metadata, const std::string& name) {
  static const std::vector<std::string> kNone;
  const auto found = std::ranges::find(metadata.outputs, name, &TensorMetadata::name);
  return found == metadata.outputs.end() ? kNone : found->labels;
}

std::optional<RequestError> prepare(const RequestedOutput& wanted, const ModelMetadata& metadata,
                                    const SharedMemory* memory, OutputTensor& output) {
  if (wanted.classes > 0) try {
      output.of_strings = classify(output.tensor, wanted.classes, metadata.max_batch > 1,
                                   labels_of(metadata, output.name));
    } catch (const Error& error) {
      return RequestError{Failure::kInvalid, error.text};
    }
  if (!wanted.part) return std::nullopt;
  if (memory == nullptr) return no_shared_memory();
  output.part = wanted.part;
  return memory->write(output.tensor, *output.part);
}

}  // namespace

std::string_view OutputTensor::datatype() const {
  return of_strings ? "BYTES" : datatype_name(tensor.type());
}

std::optional<RequestError> prepare_inputs(const RequestedTensors& wanted,
                                           const SharedMemory* memory, InferRequest& request) {
  for (const auto& [index, part] : wanted.inputs) {
    NamedTensor& input = request.inputs[index];
    auto error =
        memory == nullptr ? std::optional(no_shared_memory()) : memory->read(part, input.tensor);
    if (error) return at("input", input.name, *std::move(error));
  }
  return std::nullopt;
}

std::variant<OutputResponse, RequestError> prepare_outputs(const RequestedTensors& wanted,
                                                           const ModelMetadata& metadata,
                                                           const SharedMemory* memory,
                                                           InferResponse response) {
  OutputResponse prepared{std::move(response.model),
                          std::move(response.version),
                          std::move(response.id),
                          {},
                          response.times};
  for (NamedTensor& named : response.outputs) {
    OutputTensor output{std::move(named.name), std::move(named.tensor)};
    const auto found = wanted.outputs.find(output.name);
    if (found != wanted.outputs.end())
      if (auto error = prepare(found->second, metadata, memory, output))
        return at("output", output.name, *std::move(error));
    prepared.outputs.push_back(std::move(output));
  }
  return prepared;
}

}  // namespace tenon::server
