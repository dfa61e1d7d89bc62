// How a model of the repository is to be served.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "model.h"

namespace tenon::server {

enum class VersionPolicy { kLatest, kAll, kSpecific };

enum class SequenceControl { kStart, kReady, kEnd, kId };

/// What a model with sequences gets besides the inputs of a request.
struct SequenceConfig {
  struct Control {
    std::string input;
    SequenceControl kind = SequenceControl::kStart;
    DataType type = DataType::kFLOAT;
    double values[2] = {0, 1};  ///< for false and true; not of kId
  };
  /// An output that is the input of the sequence's next request.
  struct State {
    std::string input, output;
    DataType type = DataType::kFLOAT;
    Shape dims;                ///< without the axis of the batch
    std::string initial_file;  ///< in the model's folder initial_state; empty for zeros
  };

  std::vector<Control> controls;
  std::vector<State> states;
  std::chrono::microseconds max_idle = std::chrono::seconds(1);
  size_t max_sequences = 0;  ///< at the same time; 0 for as many as all instances take in a batch
};

/// A model of an ensemble, and how its tensors are called there.
struct EnsembleStep {
  std::string model;
  int64_t version = -1;                                ///< the newest
  std::map<std::string, std::string> inputs, outputs;  ///< the ensemble's name by the model's
};

/// What config.pbtxt or config.json says, with the defaults of Triton Inference Server, whose
/// fields they are.
struct ModelConfig {
  std::string name;
  std::string backend;
  std::string folder;  ///< where the file is; set by who reads it
  std::string file;    ///< in the folder of a version; empty for model.plan or model.onnx

  VersionPolicy version_policy = VersionPolicy::kLatest;
  uint32_t latest_versions = 1;   ///< of kLatest
  std::vector<int64_t> versions;  ///< of kSpecific

  /// Of requests that are put together; 0 for none. Nothing where the file does not say: then what
  /// the plan takes, or 4 for an ONNX model whose batch varies.
  std::optional<int32_t> max_batch_size;
  std::vector<size_t> preferred_batch_sizes;
  std::optional<std::chrono::microseconds> max_queue_delay;  ///< nothing: while waiting pays

  int instances = 1;         ///< on each device
  std::vector<int> devices;  ///< empty for the current one

  uint32_t priority_levels = 0, default_priority = 0;
  std::optional<std::chrono::microseconds> default_timeout;
  size_t max_queue_size = 0;  ///< 0 for the server's own bound

  /// Of an ONNX model, as `tenon build` takes them: "x:1x3x224x224,y:1x4", and "fp16" or "int8".
  std::string min_shapes, opt_shapes, max_shapes, precision;
  bool is_warm = true;  ///< whether it runs with zeros before requests find it

  /// What the file says of inputs and outputs, which the model has to have.
  struct DeclaredTensor {
    bool is_input = true;
    std::string name, datatype;  ///< "FP32"; empty where the file does not say
    Shape dims;                  ///< without the axis of the batch; empty where it does not say
    std::string label_file;      ///< in the model's folder: a line for each class; may be empty
    std::vector<std::string> labels = {};  ///< its lines; set by who reads it
  };
  std::vector<DeclaredTensor> tensors;

  std::vector<EnsembleStep> steps;  ///< of an ensemble; others have none
  std::optional<SequenceConfig> sequence;
  bool caches_responses = false;
  std::map<std::string, std::string> parameters;  ///< but for those above

  /// A backend of the server's own, without a model file: a stage in front of a network or behind
  /// it.
  bool is_stage() const { return backend.starts_with("tenon_"); }

  std::vector<std::string> unused;  ///< fields that have no effect, for the log
  std::string message;  ///< all that the file says: Triton's message ModelConfig, serialized

  /// Says in the metadata which model, version and configuration they are of.
  void identify(ModelMetadata& metadata, const std::string& version,
                const std::string& platform) const {
    metadata.name = name;
    metadata.version = version;
    metadata.platform = platform;
    metadata.config = message;
  }
};

/// Of config.pbtxt, in protobuf's text format, or config.json, its JSON. Fields of Triton that have
/// no meaning here are listed as unused; names that it does not have are an error.
Result<ModelConfig> parse_model_config(const std::string& text, bool is_json) noexcept;

}  // namespace tenon::server
