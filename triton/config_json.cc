#include "config_json.h"

#include <model/check_request.h>
#include <model/datatype.h>
#include <model/engine_file.h>
#include <tenon/printable.h>
#include <tenon/session/shape.h>

#include <algorithm>
#include <charconv>
#include <set>

namespace tenon::triton {
namespace {

using server::ModelConfig;
using server::ModelMetadata;
using server::TensorMetadata;
using session::Error;
using session::Shape;

constexpr std::string_view kTypePrefix = "TYPE_";

// A member, or an empty one.
const Json& member(const Json& of, const char* name) {
  static const Json kNone;
  const auto found = of.find(name);
  return found == of.end() ? kNone : *found;
}

bool flag(const Json& of, const char* name) {
  const Json& found = member(of, name);
  return found.is_boolean() && found.get<bool>();
}

int32_t number(const std::string& key, const std::string& text, int32_t min, int32_t max) {
  int32_t value = 0;
  const char* const end = text.data() + text.size();
  const auto [last, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc() || last != end || value < min || value > max)
    throw Error{key + ": expected " + std::to_string(min) + " to " + std::to_string(max)
                + ", found '" + printable(text) + "'"};
  return value;
}

std::vector<std::string> parts_of(const std::string& text) {
  std::vector<std::string> parts;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find(';', begin), text.size());
    if (end > begin) parts.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return parts;
}

// "FP32" of "TYPE_FP32"; empty where the configuration does not say, and the protocol's name of
// strings.
std::string datatype_text(const Json& tensor) {
  const std::string type = tensor.value("data_type", "TYPE_INVALID");
  if (type == "TYPE_INVALID") return "";
  if (type == "TYPE_STRING") return "BYTES";
  return type.starts_with(kTypePrefix) ? type.substr(kTypePrefix.size()) : type;
}

std::string label_of(bool is_input, const std::string& name) {
  return (is_input ? "input '" : "output '") + printable(name) + "'";
}

void take_tensors(const Json& json, bool is_input, ModelConfig& to) {
  for (const Json& tensor : member(json, is_input ? "input" : "output")) {
    ModelConfig::DeclaredTensor declared;
    declared.is_input = is_input;
    declared.name = tensor.value("name", "");
    for (const char* refused : {"optional", "allow_ragged_batch"})
      if (flag(tensor, refused))
        throw Error{label_of(is_input, declared.name) + ": " + refused
                    + " is not supported: every request has all inputs, and those of a batch the "
                      "same shapes"};
    declared.datatype = datatype_text(tensor);
    const Json& reshape = member(tensor, "reshape");
    const Json& dims = reshape.is_object() ? member(reshape, "shape") : member(tensor, "dims");
    for (const Json& extent : dims) declared.dims.push_back(extent.get<int64_t>());
    to.tensors.push_back(std::move(declared));
  }
}

void refuse(const Json& json) {
  for (const char* refused : {"batch_input", "batch_output"})
    if (!member(json, refused).empty()) throw Error{std::string(refused) + " is not supported yet"};
  if (!member(member(json, "sequence_batching"), "state").empty())
    throw Error{
        "sequence_batching.state is not supported yet: expected states among the inputs and "
        "outputs of requests, or control_input alone"};
  if (flag(member(json, "model_transaction_policy"), "decoupled"))
    throw Error{
        "model_transaction_policy: a model answers each request once; expected decoupled: "
        "false, found true"};
  for (const Json& group : member(json, "instance_group"))
    if (!member(group, "profile").empty())
      throw Error{"instance_group.profile is not supported yet: models run in the first profile"};
}

// What the server adds to requests itself.
std::set<std::string> control_inputs(const Json& json) {
  std::set<std::string> names;
  for (const Json& input : member(member(json, "sequence_batching"), "control_input"))
    names.insert(input.value("name", ""));
  return names;
}

// Without the axis of the batch.
Shape item_shape(const TensorMetadata& tensor, int32_t max_batch) {
  return {tensor.shape.begin() + (max_batch > 0 ? 1 : 0), tensor.shape.end()};
}

// Triton knows no tensors without extents, but those that are reshaped to it.
void set_shape(Json& tensor, const Shape& shape) {
  tensor["dims"] = shape;
  if (!shape.empty()) return;
  tensor["dims"] = Json::array({1});
  tensor["reshape"] = Json{{"shape", Json::array()}};
}

bool complete_tensors(Json& json, bool is_input, const std::vector<TensorMetadata>& tensors,
                      int32_t max_batch) {
  const std::set<std::string> controls = control_inputs(json);
  Json& list = json[is_input ? "input" : "output"];
  if (list.is_null()) list = Json::array();
  // Of the outputs a configuration may leave out some.
  const bool adds = is_input || list.empty();
  bool is_changed = false;
  for (const TensorMetadata& tensor : tensors) {
    auto found = std::ranges::find_if(
        list, [&](const Json& one) { return one.value("name", "") == tensor.name; });
    if (found == list.end()) {
      if (!adds || (is_input && controls.contains(tensor.name))) continue;
      list.push_back(Json{{"name", tensor.name}});
      found = std::prev(list.end());
    }
    if (datatype_text(*found).empty()) {
      (*found)["data_type"] = std::string(kTypePrefix).append(server::datatype_name(tensor.type));
      is_changed = true;
    }
    if (member(*found, "dims").empty()) {
      set_shape(*found, item_shape(tensor, max_batch));
      is_changed = true;
    }
  }
  return is_changed;
}

const TensorMetadata* find(const ModelConfig::DeclaredTensor& declared,
                           const ModelMetadata& model) {
  const auto& all = declared.is_input ? model.inputs : model.outputs;
  const auto found = std::ranges::find(all, declared.name, &TensorMetadata::name);
  return found == all.end() ? nullptr : &*found;
}

}  // namespace

BackendOptions read_backend_options(const Json& json) {
  // Those of the server itself, which it gives to all backends.
  static const std::set<std::string> kOfServer = {"auto-complete-config", "backend-directory",
                                                  "min-compute-capability"};
  constexpr int32_t kMaxThreads = 1024;
  BackendOptions options;
  for (const auto& [key, value] : member(json, "cmdline").items()) {
    const auto text = value.get<std::string>();
    if (key == "default-max-batch-size") {
      options.default_max_batch = number(key, text, 0, INT32_MAX);
    } else if (key == "threads") {
      options.threads = number(key, text, 0, kMaxThreads);
    } else if (key == "precision") {
      std::map<std::string, std::string> parameters = {{key, text}};
      ModelConfig checked;
      take_engine_parameters(parameters, checked);
      options.precision = text;
    } else if (key == "plugins") {
      options.plugins = parts_of(text);
    } else if (!kOfServer.contains(key)) {
      options.unused.push_back(key);
    }
  }
  return options;
}

ModelConfig config_of(const Json& json, const BackendOptions& options) {
  refuse(json);
  ModelConfig config;
  config.name = json.value("name", "");
  config.file = json.value("default_model_filename", "");
  config.max_batch_size = json.value("max_batch_size", 0);
  for (const auto& [key, value] : member(json, "parameters").items())
    config.parameters[key] = value.value("string_value", "");
  take_engine_parameters(config.parameters, config);
  if (config.precision.empty()) config.precision = options.precision;
  take_tensors(json, true, config);
  take_tensors(json, false, config);
  return config;
}

std::vector<std::string> plugins_of(const Json& json) {
  std::vector<std::string> libraries;
  for (const Json& library : member(member(json, "model_operations"), "op_library_filename"))
    libraries.push_back(library.get<std::string>());
  return libraries;
}

bool has_whole_shapes(const ModelConfig& config, const ModelMetadata& model) {
  return std::ranges::any_of(config.tensors, [&](const ModelConfig::DeclaredTensor& declared) {
    const TensorMetadata* const found = find(declared, model);
    return found != nullptr && !declared.dims.empty()
           && declared.dims.size() == found->shape.size();
  });
}

bool complete(Json& json, const ModelMetadata& model, int32_t max_batch) {
  bool is_changed = complete_tensors(json, true, model.inputs, max_batch);
  is_changed |= complete_tensors(json, false, model.outputs, max_batch);
  if (json.value("max_batch_size", 0) != max_batch) {
    json["max_batch_size"] = max_batch;
    is_changed = true;
  }
  if (max_batch > 1 && !json.contains("dynamic_batching") && !json.contains("sequence_batching")) {
    json["dynamic_batching"] = Json::object();
    is_changed = true;
  }
  return is_changed;
}

void check_tensors(const Json& json, const ModelMetadata& model, int32_t max_batch) {
  ModelConfig config;
  take_tensors(json, true, config);
  take_tensors(json, false, config);
  for (const ModelConfig::DeclaredTensor& declared : config.tensors) {
    const TensorMetadata* const found = find(declared, model);
    if (found == nullptr) continue;  // check_declared() says so
    const Shape shape = item_shape(*found, max_batch);
    if (!server::shapes_agree(declared.dims, shape))
      throw Error{label_of(declared.is_input, declared.name) + " is "
                  + session::shape_text(declared.dims) + " in the configuration, and "
                  + session::shape_text(shape) + " in the model"
                  + (max_batch > 0 ? ", without the axis of the batch" : "")};
  }
  const std::set<std::string> controls = control_inputs(json);
  for (const TensorMetadata& input : model.inputs)
    if (!controls.contains(input.name)
        && std::ranges::none_of(config.tensors, [&](const ModelConfig::DeclaredTensor& declared) {
             return declared.is_input && declared.name == input.name;
           }))
      throw Error{"the model has " + label_of(true, input.name)
                  + ", and the configuration not: add it, or let the server complete it"};
}

}  // namespace tenon::triton
