#include "engine_file.h"

#include <tenon/build.h>
#include <tenon/printable.h>
#include <tenon/serve/compile.h>
#include <tenon/session/tensor.h>

#include <algorithm>
#include <charconv>
#include <utility>

#include "datatype.h"
#include "guard.h"
#include "read_file.h"

namespace tenon::server {
namespace {

using serve::EngineContext;
using session::value_of;

constexpr int32_t kDefaultMaxBatch = 4;  // of ONNX models, as Triton's

// "x:1x3x224x224,y:8".
session::Shapes parse_shapes(const std::string& field, const std::string& text) {
  session::Shapes shapes;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find(',', begin), text.size());
    const std::string one = text.substr(begin, end - begin);
    begin = end + 1;
    const size_t colon = one.rfind(':');
    Shape shape;
    bool is_good = colon != std::string::npos && colon > 0 && colon + 1 < one.size();
    for (const char *at = one.data() + colon + 1, *last = one.data() + one.size(); is_good;) {
      const auto [next, error] = std::from_chars(at, last, shape.emplace_back());
      is_good = error == std::errc() && shape.back() >= 0 && (next == last || *next == 'x');
      if (next == last) break;
      at = next + 1;
    }
    if (!is_good)
      throw Error{field + ": expected input:1x3x224x224, found '" + printable(one) + "'"};
    shapes[one.substr(0, colon)] = std::move(shape);
  }
  return shapes;
}

std::vector<session::Ranges> profiles_of(const ModelConfig& config) {
  const session::Shapes max = parse_shapes("max_shapes", config.max_shapes);
  const session::Shapes min = parse_shapes("min_shapes", config.min_shapes);
  const session::Shapes opt = parse_shapes("opt_shapes", config.opt_shapes);
  session::Ranges ranges;
  for (const auto* given : {&max, &opt, &min})
    for (const auto& [name, shape] : *given) {
      const auto or_else = [&, &name = name, &shape = shape](const session::Shapes& from) {
        const auto found = from.find(name);
        return found == from.end() ? shape : found->second;
      };
      ranges.try_emplace(name, session::Range{or_else(min), or_else(opt), or_else(max)});
    }
  if (ranges.empty()) return {};
  return {std::move(ranges)};
}

// What the requests of a batch are put together along: 1 where axis 0 of some tensor is fixed, or
// there is none.
size_t max_batch_of(const std::vector<session::Tensor>& tensors) {
  int64_t max = INT64_MAX;
  for (const session::Tensor& tensor : tensors) {
    if (tensor.shape.nbDims < 1 || tensor.shape.d[0] >= 0 || tensor.decides_shapes) return 1;
    if (tensor.is_input) max = std::min(max, tensor.max.d[0]);
  }
  return max == INT64_MAX ? 1 : static_cast<size_t>(std::max<int64_t>(max, 1));
}

size_t max_batch_of(const ModelConfig& config, const std::vector<session::Tensor>& tensors) {
  const size_t possible = max_batch_of(tensors);
  if (!config.max_batch_size) return possible;
  const auto wanted = static_cast<size_t>(std::max(*config.max_batch_size, 1));
  if (wanted > possible)
    throw Error{"max_batch_size: the engine takes batches of at most " + std::to_string(possible)
                + ", found " + std::to_string(wanted)};
  return wanted;
}

// Some models take no zeros, as a rate of samples.
serve::Instance<serve::Tensors, serve::Tensors> with_advice(
    serve::Instance<serve::Tensors, serve::Tensors> instance) {
  if (!instance.warm_up) return instance;
  instance.warm_up = [warm_up =
                          std::move(instance.warm_up)]() -> Result<std::vector<serve::BatchTime>> {
    auto times = warm_up();
    if (times) return times;
    return Error{times.error()
                 + "; this was its run with zeros before requests, which a model that takes none "
                   "goes without by the parameter warm_up: \"off\""};
  };
  return instance;
}

}  // namespace

void take_engine_parameters(std::map<std::string, std::string>& from, ModelConfig& to) {
  const auto take = [&](const char* name) {
    const auto found = from.extract(name);
    return found ? found.mapped() : std::string();
  };
  to.min_shapes = take("min_shapes");
  to.opt_shapes = take("opt_shapes");
  to.max_shapes = take("max_shapes");
  to.precision = take("precision");
  const std::string warm_up = take("warm_up");
  if (!to.precision.empty() && to.precision != "fp32" && to.precision != "fp16"
      && to.precision != "int8")
    throw Error{"precision: expected fp32, fp16 or int8, found '" + printable(to.precision) + "'"};
  if (!warm_up.empty() && warm_up != "on" && warm_up != "off")
    throw Error{"warm_up: expected on or off, found '" + printable(warm_up) + "'"};
  to.is_warm = warm_up != "off";
}

std::shared_ptr<EngineContext> open_engine(const std::string& path, const ModelConfig& config,
                                           const EnginePlace& place) {
  // Read, not mapped: a new plan may be written over the file while this one serves.
  if (!path.ends_with(".onnx"))
    return value_of(EngineContext::load(session::read_file(path), place.device));
  const serve::AutoDevice current(place.device);
  serve::CompileOptions options;
  options.profiles = profiles_of(config);
  options.max_batch_size = std::max(config.max_batch_size.value_or(kDefaultMaxBatch), 1);
  options.hook = [&](nvinfer1::INetworkDefinition&, nvinfer1::IBuilderConfig& of_build) {
    if (!place.target.empty() && !set_target(of_build, place.target.c_str()))
      throw Error{"there is no target '" + place.target + "'"};
  };
  serve::CompileOutput plan;
  const serve::Mode mode = config.precision == "fp16"   ? serve::Mode::FP16
                           : config.precision == "int8" ? serve::Mode::INT8
                                                        : serve::Mode::FP32;
  value_of(compile(mode, path, plan, options));
  return value_of(EngineContext::load(plan.data(), place.device));
}

EngineDescription describe_engine(const nvinfer1::ICudaEngine& engine, const std::string& version,
                                  const ModelConfig& config) {
  EngineDescription description;
  ModelMetadata& metadata = description.metadata;
  config.identify(metadata, version, "tensorrt_plan");
  const std::vector<session::Tensor> tensors = session::tensors_of(engine, 0);
  for (const session::Tensor& tensor : tensors) {
    if (datatype_name(tensor.type).empty())
      throw Error{tensor.label() + " is of " + session::type_name(tensor.type)
                  + ", which the Open Inference Protocol does not have"};
    auto& to = tensor.is_input ? metadata.inputs : metadata.outputs;
    to.push_back({tensor.name, tensor.type, session::to_shape(tensor.shape)});
    if (tensor.is_input)
      description.ranges.push_back({session::to_shape(tensor.min), session::to_shape(tensor.max)});
  }
  check_declared(config, metadata);
  take_labels(config, metadata);
  metadata.max_batch = max_batch_of(config, tensors);
  return description;
}

EngineInstances make_instances(const std::shared_ptr<EngineContext>& engine,
                               const ModelConfig& config, size_t max_batch) {
  serve::EngineInstanceOptions options;
  options.count = config.instances;
  options.max_batch = max_batch;
  options.is_warm = config.is_warm;
  EngineInstances instances = value_of(engine_instances(engine, options));
  for (auto& instance : instances) instance = with_advice(std::move(instance));
  return instances;
}

}  // namespace tenon::server
