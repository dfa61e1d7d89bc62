// What is sent to a model: arrays for its inputs, by its metadata.
#pragma once

#include <tenon/session/array.h>

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace tenon::load {

/// An input or output, as the server's metadata say it.
struct TensorDescription {
  std::string name, datatype;  ///< "FP32"
  session::Shape shape;        ///< -1 for extents that vary
};

struct ModelDescription {
  std::string name, version;
  std::vector<TensorDescription> inputs;
};

struct NamedInput {
  std::string name, datatype;
  session::Array array;
};

enum class InputData : uint8_t {
  kRandom,  ///< floats in [0, 1), integers of 8 bits of any value, others in 0 to 99
  kZero,
};

struct InputOptions {
  int64_t batch = 1;  ///< axis 0, where it varies
  std::map<std::string, session::Shape>
      shapes;  ///< with axis 0, or without where that is the batch
  InputData data = InputData::kRandom;
  std::string file;  ///< .npz with an array for each input; empty for `data`
  uint64_t seed = 1;
};

/// "x:3,224,224" or "x:3x224x224". Throws session::Error.
std::pair<std::string, session::Shape> parse_shape(const std::string& text);

/// In the model's order. Throws session::Error for shapes that do not fit the model or that are
/// missing, names that it does not have, types that are not sent, and files without an input or
/// with values that its type does not hold.
std::vector<NamedInput> make_inputs(const ModelDescription& model, const InputOptions& options);

}  // namespace tenon::load
