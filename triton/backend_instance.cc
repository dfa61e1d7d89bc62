#include "backend_instance.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "api.h"
#include "request_tensors.h"

namespace tenon::triton {

using server::Failure;
using server::NamedTensor;
using server::RequestError;
using server::TensorMetadata;

namespace {

uint64_t now() {
  const auto since = std::chrono::steady_clock::now().time_since_epoch();
  return static_cast<uint64_t>(std::chrono::nanoseconds(since).count());
}

TRITONSERVER_Error_Code code_of(Failure failure) {
  switch (failure) {
    case Failure::kInvalid:
      return TRITONSERVER_ERROR_INVALID_ARG;
    case Failure::kNotFound:
      return TRITONSERVER_ERROR_NOT_FOUND;
    case Failure::kFull:
    case Failure::kUnavailable:
      return TRITONSERVER_ERROR_UNAVAILABLE;
    case Failure::kCancelled:
      return TRITONSERVER_ERROR_CANCELLED;
    case Failure::kExpired:
    case Failure::kInternal:
      break;
  }
  return TRITONSERVER_ERROR_INTERNAL;
}

}  // namespace

/// A request from when it came to its answer.
struct BackendInstance::Job {
  TRITONBACKEND_Request* request = nullptr;
  std::vector<std::string> outputs;  // that are wanted; empty for all
  serve::Tensors tensors;            // the model's inputs, and after its run the outputs
  std::optional<RequestError> error;
  uint64_t compute_begin = 0, compute_end = 0;
};

/// Requests that ran together.
struct BackendInstance::Run {
  uint64_t items = 0, compute_begin = 0, compute_end = 0;
};

BackendInstance::BackendInstance(BackendModel& model, TRITONSERVER_InstanceGroupKind kind,
                                 int device)
    : model_(model),
      instances_(server::make_instances(model.engine(kind, device), model.config(),
                                        model.metadata().max_batch)) {
  if (instances_[0].warm_up) session::value_of(instances_[0].warm_up());
}

void BackendInstance::read(Job& job) const {
  if (get(TRITONBACKEND_RequestIsCancelled, job.request)) {
    job.error = {Failure::kCancelled, "the request was cancelled before it ran"};
    return;
  }
  server::InferRequest request = read_request(job.request);
  check_request(model_.metadata(), request, [&](size_t input, const serve::Tensor& tensor) {
    check_shape(model_.metadata(), input, model_.ranges()[input], tensor);
  });
  job.outputs = std::move(request.outputs);
  job.tensors = inputs_of(model_.metadata(), request);
}

size_t BackendInstance::items_of(const Job& job) const {
  return model_.metadata().max_batch > 1 ? static_cast<size_t>(job.tensors[0].size(0)) : 1;
}

// Requests of the same shapes go together, as far as a batch reaches. Triton has seen to both, so
// that there is mostly one.
std::vector<BackendInstance::Batch> BackendInstance::batches_of(std::vector<Job>& jobs) const {
  struct Open {
    Batch batch;
    size_t items = 0;
  };
  std::vector<Batch> batches;
  std::map<uint64_t, Open> open;
  for (Job& job : jobs) {
    if (job.error) continue;
    auto& [batch, items] = open[serve::shape_key(job.tensors)];
    if (items + items_of(job) > model_.metadata().max_batch && !batch.empty()) {
      batches.push_back(std::exchange(batch, {}));
      items = 0;
    }
    batch.push_back(&job);
    items += items_of(job);
  }
  for (auto& [key, last] : open) batches.push_back(std::move(last.batch));
  return batches;
}

// A batch that fails is run again request by request: others are not to fail for one of them.
void BackendInstance::run(const Batch& batch, std::vector<Run>& runs) {
  std::vector<serve::Tensors*> inputs;
  Run run;
  for (Job* const job : batch) {
    inputs.push_back(&job->tensors);
    run.items += items_of(*job);
  }
  run.compute_begin = now();
  auto made = instances_[0].run(inputs);
  run.compute_end = now();
  if (made.is_instance_dead) is_dead_ = true;
  if (!made.result && batch.size() > 1) {
    for (Job* const job : batch) this->run({job}, runs);
    return;
  }
  for (size_t i = 0; i < batch.size(); ++i) {
    Job& job = *batch[i];
    job.compute_begin = run.compute_begin;
    job.compute_end = run.compute_end;
    if (made.result)
      job.tensors = std::move((*made.result)[i]);
    else
      job.error = {is_dead_ ? Failure::kUnavailable : Failure::kInternal, made.result.error()};
  }
  if (made.result) runs.push_back(run);
}

void BackendInstance::respond(Job& job) const {
  TRITONBACKEND_Response* response = nullptr;
  check(TRITONBACKEND_ResponseNew(&response, job.request));
  const auto& outputs = model_.metadata().outputs;
  const auto written = session::guard([&] {
    for (size_t i = 0; i < outputs.size() && !job.error; ++i)
      if (job.outputs.empty() || std::ranges::count(job.outputs, outputs[i].name) > 0)
        write_output(response, outputs[i].name, job.tensors[i]);
  });
  if (!written) job.error = {Failure::kInternal, written.error()};
  TRITONSERVER_Error* const error =
      job.error ? TRITONSERVER_ErrorNew(code_of(job.error->failure), job.error->text.c_str())
                : nullptr;
  TRITONSERVER_Error* const sent =
      TRITONBACKEND_ResponseSend(response, TRITONSERVER_RESPONSE_COMPLETE_FINAL, error);
  if (error != nullptr) TRITONSERVER_ErrorDelete(error);
  check(sent);
}

void BackendInstance::execute(TRITONBACKEND_ModelInstance* instance,
                              std::span<TRITONBACKEND_Request* const> requests) {
  const uint64_t begin = now();
  std::vector<Job> jobs(requests.size());
  std::vector<Run> runs;
  for (size_t i = 0; i < requests.size(); ++i) {
    jobs[i].request = requests[i];
    if (const auto is_read = session::guard([&] { read(jobs[i]); }); !is_read)
      jobs[i].error = {Failure::kInvalid, is_read.error()};
  }
  const auto ran = session::guard([&] {
    for (const Batch& batch : batches_of(jobs)) run(batch, runs);
  });
  for (Job& job : jobs) {
    or_log([&] {
      const bool is_left = !ran && !job.error && job.compute_end == 0;
      if (is_left) job.error = {Failure::kInternal, ran.error()};
      respond(job);
    });
  }
  const uint64_t end = now();
  for (const Run& run : runs)
    or_log([&] {
      check(TRITONBACKEND_ModelInstanceReportBatchStatistics(
          instance, run.items, begin, run.compute_begin, run.compute_end, end));
    });
  for (const Job& job : jobs) {
    or_log([&] {
      check(TRITONBACKEND_ModelInstanceReportStatistics(instance, job.request, !job.error, begin,
                                                        job.compute_begin, job.compute_end, end));
    });
    or_log([&] {
      check(TRITONBACKEND_RequestRelease(job.request, TRITONSERVER_REQUEST_RELEASE_ALL));
    });
  }
}

}  // namespace tenon::triton
