#include "pipeline_model.h"

#include <tenon/printable.h>

#include <algorithm>
#include <utility>

#include "guard.h"

namespace tenon::server {
namespace {

using serve::Tensors;
using session::value_of;
using Pipeline = serve::Pipeline<InferRequest, InferResponse>;

RequestError request_error(const serve::JobError& error, bool fails_by_requests) {
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
      if (fails_by_requests) failure = Failure::kInvalid;
      break;
  }
  return {failure, error.text()};
}

// What a request's part of a batch is, and when the batch ran.
struct RanTensors {
  Tensors tensors;
  Clock::time_point begin, end;
};

serve::Instance<Tensors, RanTensors> timed(serve::Instance<Tensors, Tensors> instance) {
  auto run = [run = std::move(instance.run)](
                 std::span<Tensors* const> batch) -> serve::BatchResult<RanTensors> {
    const auto begin = Clock::now();
    auto made = run(batch);
    if (!made.result) return {Error{made.result.error()}, made.is_instance_dead};
    const auto end = Clock::now();
    std::vector<RanTensors> ran;
    ran.reserve(made.result->size());
    for (Tensors& tensors : *made.result) ran.push_back({std::move(tensors), begin, end});
    return ran;
  };
  return {std::move(run), std::move(instance.warm_up)};
}

class PipelineModel final : public Model {
 public:
  PipelineModel(PipelineParts parts, const ModelConfig& config, const QueueLimits& limits)
      : config_(config),
        limits_(limits),
        metadata_(std::move(parts.metadata)),
        ranges_(std::move(parts.ranges)),
        fails_by_requests_(parts.fails_by_requests) {
    serve::Stages<InferRequest, InferResponse, Tensors, RanTensors> stages;
    for (auto& instance : parts.instances) stages.instances.push_back(timed(std::move(instance)));
    stages.preprocess = [this](InferRequest& request, const serve::JobContext&) {
      return Result<Tensors>(inputs_of(metadata_, request));
    };
    stages.postprocess = [this](InferRequest& request, RanTensors& made, const serve::JobContext&) {
      InferResponse response = response_of(request, made.tensors);
      response.times = {request.begin, made.begin, made.end};
      return Result<InferResponse>(std::move(response));
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
                      [receive = std::move(receive),
                       fails_by_requests = fails_by_requests_](Pipeline::Answered answer) {
                        if (answer)
                          receive(*std::move(answer));
                        else
                          receive(request_error(answer.error(), fails_by_requests));
                      });
  }

 private:
  bool has_small_outputs() const {
    constexpr int64_t kSmall = 4096;  // elements of an item
    return std::ranges::all_of(metadata_.outputs, [](const TensorMetadata& output) {
      int64_t elements = 1;
      for (size_t axis = 0; axis < output.shape.size() && elements <= kSmall; ++axis)
        if (const int64_t extent = output.shape[axis]; axis > 0 || extent >= 0)
          elements = extent < 0 || extent > kSmall ? kSmall + 1 : elements * extent;
      return elements <= kSmall;
    });
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
    // Tensors are moved, and waking up a thread takes longer. Who answers writes the response,
    // though, and an instance is not to wait while that makes a text of many numbers.
    options.preprocess_workers = 0;
    options.postprocess_workers = has_small_outputs() ? 0 : 1;
    // Requests of sequences come one after the other, and one thread would run them all.
    if (!config_.sequence) options.inline_below = std::chrono::microseconds(50);
    if (config_.max_queue_delay) {
      options.max_wait = *config_.max_queue_delay;
      options.adaptive = false;
    }
    return options;
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
    check_request(metadata_, request, [this](size_t input, const Tensor& tensor) {
      check_shape(metadata_, input, ranges_[input], tensor);
    });
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
  const ModelMetadata metadata_;
  const std::vector<InputRange> ranges_;
  const bool fails_by_requests_;
  std::unique_ptr<Pipeline> pipeline_;  // last: its threads use what is above
};

}  // namespace

std::shared_ptr<Model> start_pipeline_model(PipelineParts parts, const ModelConfig& config,
                                            const QueueLimits& limits) {
  return std::make_shared<PipelineModel>(std::move(parts), config, limits);
}

}  // namespace tenon::server
