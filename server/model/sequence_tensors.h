// What a model with sequences gets besides a request's inputs: controls and states.
#pragma once

#include <string>
#include <vector>

#include "model.h"
#include "model_config.h"

namespace tenon::server {

/// Where a request is in its sequence; a model's states, by the order of the configuration.
struct SequenceStep {
  SequencePlace place;
  std::vector<Tensor>& states;
};

class SequenceTensors {
 public:
  /// @param model of which the sequence's tensors are a part.
  /// Throws an Error where the model does not have them as the configuration says, and where a file
  /// of an initial state cannot be read or has other bytes.
  SequenceTensors(const ModelConfig& config, const ModelMetadata& model);

  /// What clients see: without controls and states. A state that the configuration lists as an
  /// output is one.
  const ModelMetadata& visible() const { return visible_; }
  /// Throws an Error where the client gives what the server does, or several items.
  void check(const InferRequest& request) const;

  std::vector<Tensor> initial_states() const;
  /// Adds controls and states to the inputs, and states to the outputs. Throws an Error.
  void add_to(InferRequest& request, const SequenceStep& step) const;
  /// Takes the states out of the response, for the next request; what `outputs` asked for stays.
  /// Throws an Error, with the states as before, where one has another shape or type.
  void take_from(InferResponse& response, const std::vector<std::string>& outputs,
                 std::vector<Tensor>& states) const;

 private:
  struct State {
    std::string input, output;
    DataType type;
    Shape shape;
    std::vector<char> initial;  // empty for zeros
  };
  struct Control {
    SequenceConfig::Control control;
    Shape shape;  // of one element
  };

  bool has(const std::string& input) const;

  ModelMetadata visible_;
  std::vector<State> states_;
  std::vector<Control> controls_;
};

}  // namespace tenon::server
