#include "sequence_tensors.h"

#include <tenon/printable.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "check_request.h"
#include "datatype.h"
#include "guard.h"
#include "read_file.h"
#include "tensor_memory.h"

namespace tenon::server {
namespace {

using session::value_of;

const TensorMetadata& tensor_named(const std::vector<TensorMetadata>& all, const std::string& name,
                                   const char* kind) {
  const auto found = std::ranges::find(all, name, &TensorMetadata::name);
  if (found == all.end())
    throw Error{"sequence_batching: the model has no " + std::string(kind) + " '" + printable(name)
                + "'"};
  return *found;
}

void check_tensor(const TensorMetadata& tensor, DataType type, const Shape& shape) {
  if (tensor.type == type && shapes_agree(tensor.shape, shape)) return;
  throw Error{"sequence_batching: '" + printable(tensor.name) + "' is "
              + std::string(datatype_name(type)) + " " + session::shape_text(shape)
              + " in the configuration, and " + std::string(datatype_name(tensor.type)) + " "
              + session::shape_text(tensor.shape) + " in the model"};
}

std::vector<char> initial_bytes(const ModelConfig& config, const std::string& file, size_t bytes) {
  if (file.empty()) return {};
  const std::string path = config.folder + "/initial_state/" + file;
  const auto read = session::read_file(path);
  if (read.size() != bytes)
    throw Error{printable(path) + ": expected the " + std::to_string(bytes)
                + " bytes of the state, found " + std::to_string(read.size())};
  const auto* const data = reinterpret_cast<const char*>(read.data());
  return {data, data + read.size()};
}

template <class T> void fill(Tensor& tensor, T value) {
  *value_of(tensor.cpu<T>()) = value;
}

// An identifier that is text has no number.
Tensor control_tensor(const SequenceConfig::Control& control, const Shape& shape,
                      const SequencePlace& place) {
  Tensor tensor = heap_tensor(shape, control.type);
  if (control.kind == SequenceControl::kId) {
    const auto* const number = std::get_if<uint64_t>(&place.id);
    const uint64_t most = control.type == DataType::kINT32 ? INT32_MAX : INT64_MAX;
    if (number == nullptr || *number > most)
      throw Error{"sequence_id: the model takes numbers up to " + std::to_string(most)};
    control.type == DataType::kINT32 ? fill(tensor, static_cast<int32_t>(*number))
                                     : fill(tensor, static_cast<int64_t>(*number));
    return tensor;
  }
  const bool is_so = control.kind == SequenceControl::kStart ? place.is_start
                     : control.kind == SequenceControl::kEnd ? place.is_end
                                                             : true;
  const double value = control.values[is_so ? 1 : 0];
  if (control.type == DataType::kINT32)
    fill(tensor, static_cast<int32_t>(value));
  else if (control.type == DataType::kBOOL)
    fill(tensor, value != 0);
  else
    fill(tensor, static_cast<float>(value));
  return tensor;
}

}  // namespace

SequenceTensors::SequenceTensors(const ModelConfig& config, const ModelMetadata& model)
    : visible_(model) {
  const SequenceConfig& sequence = *config.sequence;
  for (const SequenceConfig::Control& control : sequence.controls) {
    const TensorMetadata& tensor = tensor_named(model.inputs, control.input, "input");
    Shape shape = tensor.shape;
    std::ranges::fill(shape, 1);
    check_tensor(tensor, control.type, shape);
    controls_.push_back({control, shape});
  }
  for (const SequenceConfig::State& state : sequence.states) {
    Shape shape = state.dims;
    if (model.max_batch > 1) shape.insert(shape.begin(), 1);
    check_tensor(tensor_named(model.inputs, state.input, "input"), state.type, shape);
    check_tensor(tensor_named(model.outputs, state.output, "output"), state.type, shape);
    const size_t bytes = Tensor(shape, state.type).bytes();
    states_.push_back({state.input, state.output, state.type, shape,
                       initial_bytes(config, state.initial_file, bytes)});
  }
  std::erase_if(visible_.inputs, [this](const TensorMetadata& input) { return has(input.name); });
  std::erase_if(visible_.outputs, [&](const TensorMetadata& output) {
    const bool is_listed = std::ranges::any_of(config.tensors, [&](const auto& declared) {
      return !declared.is_input && declared.name == output.name;
    });
    return !is_listed && std::ranges::find(states_, output.name, &State::output) != states_.end();
  });
}

bool SequenceTensors::has(const std::string& input) const {
  return std::ranges::find(states_, input, &State::input) != states_.end()
         || std::ranges::any_of(controls_,
                                [&](const auto& each) { return each.control.input == input; });
}

void SequenceTensors::check(const InferRequest& request) const {
  for (const NamedTensor& input : request.inputs) {
    if (has(input.name))
      throw Error{"there is no input '" + printable(input.name)
                  + "' for clients: it is the sequence's"};
    if (visible_.max_batch > 1 && input.tensor.size(0) != 1)
      throw Error{"input '" + printable(input.name) + "' has a batch of "
                  + std::to_string(input.tensor.size(0))
                  + "; a request of a sequence has a batch of 1"};
  }
  for (const std::string& name : request.outputs)
    if (std::ranges::find(visible_.outputs, name, &TensorMetadata::name) == visible_.outputs.end())
      throw Error{"there is no output '" + printable(name) + "'"};
}

std::vector<Tensor> SequenceTensors::initial_states() const {
  std::vector<Tensor> states;
  for (const State& state : states_) {
    Tensor& tensor = states.emplace_back(heap_tensor(state.shape, state.type));
    if (!state.initial.empty())
      value_of(tensor.copy_from_cpu(0, state.initial.data(), tensor.numel()));
  }
  return states;
}

void SequenceTensors::add_to(InferRequest& request, const SequenceStep& step) const {
  for (const auto& [control, shape] : controls_)
    request.inputs.push_back({control.input, control_tensor(control, shape, step.place)});
  for (size_t i = 0; i < states_.size(); ++i)
    request.inputs.push_back({states_[i].input, shared_view(step.states[i])});
  if (request.outputs.empty())
    for (const TensorMetadata& output : visible_.outputs) request.outputs.push_back(output.name);
  for (const State& state : states_)
    if (std::ranges::find(request.outputs, state.output) == request.outputs.end())
      request.outputs.push_back(state.output);
}

void SequenceTensors::take_from(InferResponse& response, const std::vector<std::string>& outputs,
                                std::vector<Tensor>& states) const {
  std::vector<Tensor> next;
  for (const State& state : states_) {
    const auto found = std::ranges::find(response.outputs, state.output, &NamedTensor::name);
    if (found == response.outputs.end() || found->tensor.shape() != state.shape)
      throw Error{"state '" + printable(state.output) + "' has the shape "
                  + (found == response.outputs.end() ? "of nothing" : found->tensor.shape_string())
                  + "; expected " + session::shape_text(state.shape)};
    // Of a batch's output it is a part, which would keep the whole.
    next.push_back(heap_copy(found->tensor));
  }
  states = std::move(next);
  std::erase_if(response.outputs, [&](const NamedTensor& output) {
    const bool is_asked =
        outputs.empty() ? std::ranges::find(visible_.outputs, output.name, &TensorMetadata::name)
                              != visible_.outputs.end()
                        : std::ranges::find(outputs, output.name) != outputs.end();
    return !is_asked;
  });
}

}  // namespace tenon::server
