// Models that answer by arithmetic, for tests of what is in front of models.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "datatype.h"
#include "models.h"

namespace tenon::server {

/// What a model saw of a request.
struct SeenRequest {
  std::string id, trace;
  int priority = 0;
  std::optional<Clock::time_point> deadline;
  const void* input = nullptr;  ///< where the first one's elements are
  size_t bytes = 0;
};

/// What the fake models do, and what they saw.
struct FakeSwitches {
  std::mutex mutex;
  std::condition_variable_any changed;
  std::optional<RequestError> failure;  ///< of all requests, so long as it is there
  bool holds = false;   ///< requests wait until it is false, they are cancelled or they expire
  size_t waiting = 0;   ///< requests that wait now
  size_t requests = 0;  ///< that came
  SeenRequest last;     ///< the one that came last

  /// Waits for `count` requests that wait at the same time; false after ten seconds.
  bool wait_for_waiting(size_t count) {
    std::unique_lock lock(mutex);
    return changed.wait_for(lock, std::chrono::seconds(10), [&] { return waiting == count; });
  }
  /// The request that came last.
  SeenRequest seen() {
    const std::scoped_lock lock(mutex);
    return last;
  }
  /// How many came.
  size_t count() {
    const std::scoped_lock lock(mutex);
    return requests;
  }
  void fail_with(std::optional<RequestError> error) {
    const std::scoped_lock lock(mutex);
    failure = std::move(error);
  }
  void hold(bool on) {
    {
      const std::scoped_lock lock(mutex);
      holds = on;
    }
    changed.notify_all();
  }
};

/// An input "x"; "double" has outputs "y", twice its elements, and "sum", that of each row. Others
/// have "y", which is "x".
class FakeModel final : public Model {
 public:
  FakeModel(ModelMetadata metadata, FakeSwitches& switches)
      : metadata_(std::move(metadata)), switches_(switches) {
    statistics_.model = metadata_.name;
  }
  ~FakeModel() override {
    for (std::thread& thread : threads_) thread.join();
  }

  const ModelMetadata& metadata() const override { return metadata_; }

  void infer(InferRequest request, Receive receive) override {
    std::unique_lock lock(switches_.mutex);
    ++switches_.requests;
    ++statistics_.committed;
    switches_.last = {request.id,
                      request.trace,
                      request.priority,
                      request.deadline,
                      request.inputs.empty() ? nullptr : *request.inputs[0].tensor.cpu(),
                      request.bytes};
    if (!switches_.holds) {
      InferAnswer answer = counted(this->answer(request));
      lock.unlock();
      receive(std::move(answer));
      return;
    }
    threads_.emplace_back(
        [this, request = std::move(request), receive = std::move(receive)]() mutable {
          std::unique_lock lock(switches_.mutex);
          ++switches_.waiting;
          switches_.changed.notify_all();
          const auto end = request.deadline.value_or(Clock::now() + std::chrono::hours(1));
          const bool is_free = switches_.changed.wait_until(lock, request.stop, end,
                                                            [this] { return !switches_.holds; });
          --switches_.waiting;
          InferAnswer answer = RequestError{Failure::kExpired, "its deadline passed"};
          if (request.stop.stop_requested()) {
            answer = RequestError{Failure::kCancelled, "it was cancelled"};
          } else if (is_free) {
            answer = this->answer(request);
          }
          answer = counted(std::move(answer));
          switches_.changed.notify_all();
          lock.unlock();
          receive(std::move(answer));
        });
  }

  serve::Statistics statistics() const override {
    const std::scoped_lock lock(switches_.mutex);
    return statistics_;
  }
  void drain() noexcept override {}

 private:
  InferAnswer counted(InferAnswer answer) {
    const bool is_response = std::holds_alternative<InferResponse>(answer);
    ++(is_response ? statistics_.succeeded : statistics_.failed[0]);
    if (is_response) {
      statistics_.batch.add(1);
      statistics_.total.add(0.001);
    }
    return answer;
  }

  InferAnswer answer(InferRequest& request) const {
    if (switches_.failure) return *switches_.failure;
    const auto invalid = [](std::string text) {
      return RequestError{Failure::kInvalid, std::move(text)};
    };
    if (request.inputs.size() != 1 || request.inputs[0].name != "x") {
      return invalid(fmt::format("model '{}' takes one input, 'x'", metadata_.name));
    }
    Tensor& x = request.inputs[0].tensor;
    const TensorMetadata& expected = metadata_.inputs[0];
    if (x.type() != expected.type || x.shape().size() != expected.shape.size()
        || (x.shape().size() == 2 && x.shape()[1] != expected.shape[1])) {
      return invalid(fmt::format(
          "input 'x' of model '{}' is {} {}, not {} {}", metadata_.name, datatype_name(x.type()),
          x.shape_string(), datatype_name(expected.type), session::shape_text(expected.shape)));
    }
    InferResponse response{metadata_.name, metadata_.version, request.id, {}};
    for (const std::string& name : request.outputs.empty() ? output_names_ : request.outputs) {
      if (std::ranges::find(output_names_, name) == output_names_.end()) {
        return invalid(fmt::format("model '{}' has no output '{}'", metadata_.name, name));
      }
      response.outputs.push_back({name, output(name, x)});
    }
    return response;
  }

  Tensor output(const std::string& name, Tensor& x) const {
    if (name == "sum") {
      Tensor sum(Shape{x.size(0)}, DataType::kFLOAT);
      for (int64_t i = 0; i < x.size(0); ++i) {
        float total = 0;
        for (int64_t j = 0; j < x.size(1); ++j) total += *x.at<float>({i, j});
        **sum.cpu<float>({i}) = total;
      }
      return sum;
    }
    Tensor y = *x.clone();
    if (metadata_.name == "double") {
      float* elements = *y.cpu<float>();
      for (int64_t i = 0; i < y.numel(); ++i) elements[i] *= 2;
    }
    return y;
  }

  ModelMetadata metadata_;
  FakeSwitches& switches_;
  serve::Statistics statistics_;
  std::vector<std::string> output_names_ = [this] {
    std::vector<std::string> names;
    for (const TensorMetadata& output : metadata_.outputs) names.push_back(output.name);
    return names;
  }();
  std::vector<std::thread> threads_;
};

/// "double" in versions 1 and 2, and "echo_FP32", "echo_BOOL" and so on for each data type, all
/// loaded; "broken" is in the repository, and cannot be.
class FakeModels final : public Models {
 public:
  FakeModels() {
    for (const char* version : {"1", "2"}) {
      add({"double",
           version,
           "tenon_plan",
           {{"x", DataType::kFLOAT, {-1, 4}}},
           {{"y", DataType::kFLOAT, {-1, 4}}, {"sum", DataType::kFLOAT, {-1}}},
           8});
    }
    for (const auto name : {"FP32", "FP16", "BF16", "INT8", "UINT8", "INT32", "INT64", "BOOL"}) {
      const DataType type = *datatype_of(name);
      add({fmt::format("echo_{}", name),
           "1",
           "tenon_plan",
           {{"x", type, {-1}}},
           {{"y", type, {-1}}},
           1});
    }
  }

  FakeSwitches& switches() { return switches_; }
  void set_ready(bool ready) { is_ready_ = ready; }

  std::variant<std::shared_ptr<Model>, RequestError> find(
      const std::string& name, const std::string& version) const override {
    const std::scoped_lock lock(mutex_);
    std::shared_ptr<Model> newest;
    if (!unloaded_.contains(name)) {
      for (const auto& model : models_) {
        const ModelMetadata& metadata = model->metadata();
        if (metadata.name == name && (version.empty() || metadata.version == version)) {
          newest = model;
        }
      }
    }
    if (newest != nullptr) return newest;
    return RequestError{Failure::kNotFound,
                        version.empty()
                            ? fmt::format("there is no model '{}'", name)
                            : fmt::format("model '{}' has no version '{}'", name, version)};
  }

  std::vector<std::string> versions(const std::string& name) const override {
    const std::scoped_lock lock(mutex_);
    std::vector<std::string> found;
    for (const auto& model : models_) {
      if (model->metadata().name == name && !unloaded_.contains(name)) {
        found.push_back(model->metadata().version);
      }
    }
    return found;
  }

  std::vector<ModelStatus> index() const override {
    const std::scoped_lock lock(mutex_);
    std::vector<ModelStatus> all;
    for (const auto& model : models_) {
      const ModelMetadata& metadata = model->metadata();
      const bool is_unloaded = unloaded_.contains(metadata.name);
      all.push_back({metadata.name, metadata.version,
                     is_unloaded ? ModelState::kUnloaded : ModelState::kReady,
                     is_unloaded ? "unloaded" : ""});
    }
    all.push_back({"broken", "1", ModelState::kFailed, "its plan is damaged"});
    return all;
  }

  bool is_ready() const override { return is_ready_; }
  /// Of the last load(); empty without one.
  std::string last_config() const {
    const std::scoped_lock lock(mutex_);
    return last_config_;
  }

  Result<void> load(const std::string& name,
                    const std::optional<std::string>& config = {}) override {
    if (name == "broken") return Error{"model 'broken': its plan is damaged"};
    const std::scoped_lock lock(mutex_);
    last_config_ = config.value_or("");
    if (!is_known(name)) return Error{fmt::format("the repository has no model '{}'", name)};
    unloaded_.erase(name);
    return {};
  }

  Result<void> unload(const std::string& name, bool = false) override {
    const std::scoped_lock lock(mutex_);
    if (!is_known(name)) return Error{fmt::format("the repository has no model '{}'", name)};
    unloaded_.insert(name);
    return {};
  }

 private:
  void add(ModelMetadata metadata) {
    models_.push_back(std::make_shared<FakeModel>(std::move(metadata), switches_));
  }
  bool is_known(const std::string& name) const {
    return std::ranges::any_of(models_,
                               [&](const auto& model) { return model->metadata().name == name; });
  }

  FakeSwitches switches_;
  std::vector<std::shared_ptr<Model>> models_;
  mutable std::mutex mutex_;
  std::set<std::string> unloaded_;
  std::string last_config_;
  std::atomic<bool> is_ready_ = true;
};

}  // namespace tenon::server
