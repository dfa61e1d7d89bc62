#include "engine_model.h"

#include <tenon/printable.h>
#include <tenon/serve/compile.h>
#include <tenon/serve/engine_instances.h>
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
using serve::Tensors;
using session::value_of;
using Pipeline = serve::Pipeline<InferRequest, InferResponse>;

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

std::shared_ptr<EngineContext> open_engine(const std::string& path, const ModelConfig& config,
                                           int device) {
  // Read, not mapped: a new plan may be written over the file while this one serves.
  if (!path.ends_with(".onnx"))
    return value_of(EngineContext::load(session::read_file(path), device));
  const serve::AutoDevice current(device);
  serve::CompileOptions options;
  options.profiles = profiles_of(config);
  options.max_batch_size = std::max(config.max_batch_size.value_or(kDefaultMaxBatch), 1);
  serve::CompileOutput plan;
  const serve::Mode mode = config.precision == "fp16"   ? serve::Mode::FP16
                           : config.precision == "int8" ? serve::Mode::INT8
                                                        : serve::Mode::FP32;
  value_of(compile(mode, path, plan, options));
  return value_of(EngineContext::load(plan.data(), device));
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

RequestError request_error(const serve::JobError& error) {
  using From = serve::Failure;
  Failure failure = Failure::kInternal;
  switch (error.failure) {
    case From::kRefused:
    case From::kDropped:
      failure = Failure::kFull;
      break;
    case From::kExpired:
      failure = Failure::kExpired;
      break;
    case From::kCancelled:
      failure = Failure::kCancelled;
      break;
    case From::kStopped:
    case From::kInstance:
      failure = Failure::kUnavailable;
      break;
    case From::kStage:
      break;
  }
  return {failure, error.text()};
}

class EngineModel final : public Model {
 public:
  EngineModel(const std::string& path, const std::string& version, const ModelConfig& config,
              const QueueLimits& limits)
      : config_(config), limits_(limits) {
    std::vector<int> devices = config.devices;
    if (devices.empty()) devices.push_back(serve::kCurrentDevice);
    serve::Stages<InferRequest, InferResponse, Tensors, Tensors> stages;
    for (const int device : devices) {
      const auto engine = open_engine(path, config, device);
      if (tensors_.empty()) describe(engine->engine(), version);
      serve::EngineInstanceOptions options;
      options.count = config.instances;
      options.max_batch = metadata_.max_batch;
      for (auto& instance : value_of(engine_instances(engine, options)))
        stages.instances.push_back(std::move(instance));
    }
    stages.preprocess = [this](InferRequest& request, const serve::JobContext&) {
      return Result<Tensors>(tensors_of(request));
    };
    stages.postprocess = [this](InferRequest& request, Tensors& made, const serve::JobContext&) {
      return Result<InferResponse>(response_of(request, made));
    };
    stages.batch_key = serve::shape_key;
    pipeline_ = value_of(Pipeline::start(pipeline_options(), std::move(stages)));
  }

  const ModelMetadata& metadata() const override { return metadata_; }
  serve::Statistics statistics() const override { return pipeline_->statistics(); }
  void drain() noexcept override { (void)pipeline_->stop(); }

  void infer(InferRequest request, Receive receive) override {
    serve::JobOptions options;
    try {
      check(request);
      options = job_options(request);
    } catch (Error& error) {
      receive(RequestError{Failure::kInvalid, metadata_.name + ": " + error.text});
      return;
    }
    pipeline_->submit(std::move(request), std::move(options),
                      [receive = std::move(receive)](Pipeline::Answered answer) {
                        if (answer)
                          receive(*std::move(answer));
                        else
                          receive(request_error(answer.error()));
                      });
  }

 private:
  void describe(const nvinfer1::ICudaEngine& engine, const std::string& version) {
    tensors_ = session::tensors_of(engine, 0);
    metadata_.name = config_.name;
    metadata_.version = version;
    metadata_.platform = "tensorrt_plan";
    for (const session::Tensor& tensor : tensors_) {
      if (datatype_name(tensor.type).empty())
        throw Error{tensor.label() + " is of " + session::type_name(tensor.type)
                    + ", which the Open Inference Protocol does not have"};
      auto& to = tensor.is_input ? metadata_.inputs : metadata_.outputs;
      to.push_back({tensor.name, tensor.type, session::to_shape(tensor.shape)});
    }
    check_declared();
    metadata_.max_batch = max_batch_of(config_, tensors_);
  }

  // What the configuration says of inputs and outputs is so.
  void check_declared() const {
    for (const ModelConfig::DeclaredTensor& declared : config_.tensors) {
      const auto& all = declared.is_input ? metadata_.inputs : metadata_.outputs;
      const std::string label =
          (declared.is_input ? "input '" : "output '") + printable(declared.name) + "'";
      const auto found = std::ranges::find(all, declared.name, &TensorMetadata::name);
      if (found == all.end()) throw Error{"the configuration has " + label + ", and the model not"};
      if (!declared.datatype.empty() && declared.datatype != datatype_name(found->type))
        throw Error{label + " is " + declared.datatype + " in the configuration, and "
                    + std::string(datatype_name(found->type)) + " in the model"};
    }
  }

  serve::PipelineOptions pipeline_options() const {
    serve::PipelineOptions options;
    options.model = metadata_.name;
    options.version = metadata_.version;
    options.max_jobs = config_.max_queue_size > 0 ? config_.max_queue_size : limits_.max_requests;
    options.max_bytes = limits_.max_bytes;
    options.when_full = serve::WhenFull::kRefuse;
    options.max_batch = metadata_.max_batch;
    options.preferred_batches = config_.preferred_batch_sizes;
    if (config_.max_queue_delay) {
      options.max_wait = *config_.max_queue_delay;
      options.adaptive = false;
    }
    return options;
  }

  const session::Tensor* find_input(const std::string& name) const {
    for (const session::Tensor& tensor : tensors_)
      if (tensor.is_input && tensor.name == name) return &tensor;
    return nullptr;
  }

  // Whether a batch's extent of axis 0 may be this one, is the pipeline's concern.
  bool is_batch_axis(int32_t axis) const { return axis == 0 && metadata_.max_batch > 1; }

  void check_shape(const session::Tensor& info, const Tensor& tensor) const {
    bool fits = tensor.ndims() == info.shape.nbDims;
    for (int32_t axis = 0; fits && axis < tensor.ndims(); ++axis) {
      const int64_t extent = tensor.size(axis);
      fits = is_batch_axis(axis)
                 ? extent >= 1 && extent <= static_cast<int64_t>(metadata_.max_batch)
                 : extent >= info.min.d[axis] && extent <= info.max.d[axis];
    }
    if (fits) return;
    Shape max = session::to_shape(info.max);
    if (!max.empty() && metadata_.max_batch > 1) max[0] = static_cast<int64_t>(metadata_.max_batch);
    throw Error{"input '" + printable(info.name) + "' has the shape " + tensor.shape_string()
                + "; expected " + session::shape_text(session::to_shape(info.min)) + " to "
                + session::shape_text(max)};
  }

  static size_t bytes_of(const InferRequest& request) {
    size_t bytes = 0;
    for (const NamedTensor& input : request.inputs) bytes += input.tensor.bytes();
    return std::max(bytes, request.bytes);
  }

  void check(const InferRequest& request) const {
    if (bytes_of(request) > limits_.max_bytes)
      throw Error{"the request has " + std::to_string(bytes_of(request))
                  + " bytes, and all that a model holds may have "
                  + std::to_string(limits_.max_bytes)};
    for (size_t i = 0; i < request.inputs.size(); ++i) {
      const auto& [name, tensor] = request.inputs[i];
      const session::Tensor* const info = find_input(name);
      if (info == nullptr) throw Error{"there is no input '" + printable(name) + "'"};
      for (size_t other = 0; other < i; ++other)
        if (request.inputs[other].name == name)
          throw Error{"input '" + printable(name) + "' is given twice"};
      if (tensor.type() != info->type)
        throw Error{"input '" + printable(name) + "' has the datatype "
                    + std::string(datatype_name(tensor.type())) + "; expected "
                    + std::string(datatype_name(info->type))};
      check_shape(*info, tensor);
      if (metadata_.max_batch > 1 && tensor.size(0) != request.inputs[0].tensor.size(0))
        throw Error{"inputs have batches of " + std::to_string(tensor.size(0)) + " and "
                    + std::to_string(request.inputs[0].tensor.size(0)) + "; expected the same"};
    }
    for (const TensorMetadata& input : metadata_.inputs)
      if (std::ranges::find(request.inputs, input.name, &NamedTensor::name) == request.inputs.end())
        throw Error{"input '" + printable(input.name) + "' is missing"};
    for (const std::string& name : request.outputs) {
      if (std::ranges::find(metadata_.outputs, name, &TensorMetadata::name)
          == metadata_.outputs.end())
        throw Error{"there is no output '" + printable(name) + "'"};
      if (std::ranges::count(request.outputs, name) > 1)
        throw Error{"output '" + printable(name) + "' is asked for twice"};
    }
  }

  serve::JobOptions job_options(const InferRequest& request) const {
    serve::JobOptions options;
    options.deadline = request.deadline;
    if (!options.deadline && config_.default_timeout)
      options.deadline = Clock::now() + *config_.default_timeout;
    options.priority =
        request.priority == 0 ? -static_cast<int>(config_.default_priority) : request.priority;
    options.stop = request.stop;
    if (metadata_.max_batch > 1)
      options.cost = static_cast<size_t>(request.inputs[0].tensor.size(0));
    options.bytes = bytes_of(request);
    options.correlation_id = request.trace.empty() ? request.id : request.trace;
    return options;
  }

  // The inputs in the engine's order.
  Tensors tensors_of(InferRequest& request) const {
    Tensors tensors;
    for (const TensorMetadata& input : metadata_.inputs)
      tensors.push_back(
          std::move(std::ranges::find(request.inputs, input.name, &NamedTensor::name)->tensor));
    return tensors;
  }

  InferResponse response_of(const InferRequest& request, Tensors& made) const {
    InferResponse response{metadata_.name, metadata_.version, request.id, {}};
    const auto add = [&](size_t i) {
      response.outputs.push_back({metadata_.outputs[i].name, std::move(made[i])});
    };
    if (request.outputs.empty())
      for (size_t i = 0; i < made.size(); ++i) add(i);
    for (const std::string& name : request.outputs)
      add(static_cast<size_t>(std::ranges::find(metadata_.outputs, name, &TensorMetadata::name)
                              - metadata_.outputs.begin()));
    return response;
  }

  const ModelConfig config_;
  const QueueLimits limits_;
  ModelMetadata metadata_;
  std::vector<session::Tensor> tensors_;
  std::unique_ptr<Pipeline> pipeline_;  // last: its threads use what is above
};

}  // namespace

Result<std::shared_ptr<Model>> load_engine_model(const std::string& path,
                                                 const std::string& version,
                                                 const ModelConfig& config,
                                                 const QueueLimits& limits) noexcept {
  return session::guard([&]() -> std::shared_ptr<Model> {
    try {
      return std::make_shared<EngineModel>(path, version, config, limits);
    } catch (const Error& cause) {
      throw Error{printable(config.name) + ": " + cause.text};
    }
  });
}

}  // namespace tenon::server
