#include "ensemble.h"

#include <tenon/printable.h>

#include <algorithm>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <optional>
#include <utility>

#include "check_request.h"
#include "ensemble_graph.h"
#include "guard.h"
#include "inference_statistics.h"
#include "tensor_memory.h"

namespace tenon::server {
namespace {

using Members = std::vector<std::shared_ptr<Model>>;
using Step = EnsembleGraph::Step;
using Edge = EnsembleGraph::Edge;

// A request under way: it lives as long as one of its steps runs. Members answer in threads of
// their own, also before infer() returns.
class Run final : public std::enable_shared_from_this<Run> {
 public:
  Run(const EnsembleGraph& graph, Members members, InferRequest request, Receive receive)
      : graph_(graph),
        members_(std::move(members)),
        request_(std::move(request)),
        receive_(std::move(receive)),
        tensors_(graph.readers.size()),
        uses_(graph.readers.size()) {
    for (size_t i = 0; i < uses_.size(); ++i) uses_[i] = graph.readers[i].size();
    for (const Edge& output : graph.outputs) ++uses_[output.tensor];
    for (const Step& step : graph.steps) missing_.push_back(step.inputs.size());
  }

  void start() {
    on_stop_.emplace(request_.stop, [this] { stop_.request_stop(); });
    std::vector<size_t> ready;
    {
      const std::lock_guard lock(mutex_);
      for (size_t step = 0; step < missing_.size(); ++step)
        if (missing_[step] == 0) ready.push_back(step);
      for (NamedTensor& input : request_.inputs)
        put(tensor_of(graph_.inputs, input.name), std::move(input.tensor), ready);
      running_ = ready.size();
    }
    run(ready);
  }

 private:
  static size_t tensor_of(const std::vector<Edge>& edges, const std::string& name) {
    return std::ranges::find(edges, name, &Edge::name)->tensor;
  }

  // Under the lock.
  void put(size_t number, Tensor tensor, std::vector<size_t>& ready) {
    tensors_[number] = std::move(tensor);
    for (const size_t step : graph_.readers[number])
      if (--missing_[step] == 0) ready.push_back(step);
  }

  // Its last reader takes it. Under the lock.
  Tensor take(size_t number) {
    return --uses_[number] > 0 ? shared_view(tensors_[number]) : std::move(tensors_[number]);
  }

  void run(const std::vector<size_t>& ready) {
    for (const size_t step : ready) {
      auto taken = session::guard([&] { return request_of(graph_.steps[step]); });
      if (!taken) {
        answered(step, RequestError{Failure::kInternal, taken.error()});
        continue;
      }
      members_[step]->infer(*std::move(taken),
                            [self = shared_from_this(), step](InferAnswer answer) {
                              self->answered(step, std::move(answer));
                            });
    }
  }

  InferRequest request_of(const Step& step) {
    InferRequest request;
    request.id = request_.id;
    request.deadline = request_.deadline;
    request.priority = request_.priority;
    request.stop = stop_.get_token();
    request.sequence = request_.sequence;
    request.trace = request_.trace;
    for (const Edge& output : step.outputs) request.outputs.push_back(output.name);
    const std::lock_guard lock(mutex_);
    for (const Edge& input : step.inputs)
      request.inputs.push_back({input.name, take(input.tensor)});
    return request;
  }

  // Takes the outputs of a step; steps that were waiting for them are ready.
  std::optional<RequestError> take_outputs(const Step& step, InferResponse& response,
                                           std::vector<size_t>& ready) {
    for (const Edge& output : step.outputs) {
      const auto found = std::ranges::find(response.outputs, output.name, &NamedTensor::name);
      if (found == response.outputs.end())
        return RequestError{Failure::kInternal, "has no output '" + printable(output.name) + "'"};
      put(output.tensor, std::move(found->tensor), ready);
    }
    return std::nullopt;
  }

  void answered(size_t number, InferAnswer answer) {
    const Step& step = graph_.steps[number];
    std::vector<size_t> ready;
    bool is_over = false, has_failed = false;
    {
      const std::lock_guard lock(mutex_);
      std::optional<RequestError> error;
      if (auto* const response = std::get_if<InferResponse>(&answer))
        error = take_outputs(step, *response, ready);
      else
        error = std::get<RequestError>(std::move(answer));
      if (error && !error_) {
        error_ = {error->failure,
                  printable(graph_.metadata.name) + ", " + step.label + ": " + error->text};
        has_failed = true;
      }
      if (error_) ready.clear();  // nothing more is begun
      running_ += ready.size();
      is_over = --running_ == 0;
    }
    if (has_failed) stop_.request_stop();
    run(ready);
    if (is_over) finish();
  }

  void finish() {
    on_stop_.reset();
    if (error_) return receive_(*std::move(error_));
    InferResponse response{graph_.metadata.name, graph_.metadata.version, request_.id, {}};
    const auto add = [&](const std::string& name) {
      response.outputs.push_back({name, std::move(tensors_[tensor_of(graph_.outputs, name)])});
    };
    if (request_.outputs.empty())
      for (const Edge& output : graph_.outputs) add(output.name);
    for (const std::string& name : request_.outputs) add(name);
    receive_(std::move(response));
  }

  const EnsembleGraph& graph_;
  const Members members_;  // one for each step
  InferRequest request_;
  const Receive receive_;
  std::stop_source stop_;  // of the steps
  std::optional<std::stop_callback<std::function<void()>>> on_stop_;

  std::mutex mutex_;
  std::vector<Tensor> tensors_;
  std::vector<size_t> uses_;     // of each tensor, by steps that have not begun, and as an output
  std::vector<size_t> missing_;  // inputs of each step that are not there yet
  size_t running_ = 0;
  std::optional<RequestError> error_;  // the first one
};

class Ensemble final : public Model {
 public:
  Ensemble(const Models& models, EnsembleGraph graph) : models_(models), graph_(std::move(graph)) {
    statistics_.model = graph_.metadata.name;
    statistics_.version = graph_.metadata.version;
    statistics_.instances = 1;
  }
  ~Ensemble() override { drain(); }

  const ModelMetadata& metadata() const override { return graph_.metadata; }

  void infer(InferRequest request, Receive receive) override {
    const auto begin = Clock::now();
    const size_t items = items_of(request);
    const bool is_taken = enter();
    Receive counted = [this, begin, items, is_taken,
                       receive = std::move(receive)](InferAnswer answer) {
      count(answer, begin, items);
      receive(std::move(answer));
      if (is_taken) leave();
    };
    if (!is_taken)
      return counted(RequestError{Failure::kUnavailable,
                                  printable(graph_.metadata.name) + ": is being unloaded"});
    Members members;
    if (auto error = check(request, members)) return counted(*std::move(error));
    std::make_shared<Run>(graph_, std::move(members), std::move(request), std::move(counted))
        ->start();
  }

  serve::Statistics statistics() const override {
    const std::lock_guard lock(mutex_);
    return statistics_;
  }

  void drain() noexcept override {
    std::unique_lock lock(mutex_);
    is_draining_ = true;
    empty_.wait(lock, [this] { return statistics_.jobs == 0; });
  }

 private:
  size_t items_of(const InferRequest& request) const {
    if (graph_.metadata.max_batch <= 1 || request.inputs.empty()) return 1;
    return static_cast<size_t>(std::max<int64_t>(request.inputs[0].tensor.size(0), 1));
  }

  bool enter() {
    const std::lock_guard lock(mutex_);
    ++statistics_.committed;
    if (is_draining_) return false;
    statistics_.peak_jobs = std::max(statistics_.peak_jobs, ++statistics_.jobs);
    return true;
  }

  void leave() {
    const std::lock_guard lock(mutex_);
    if (--statistics_.jobs == 0) empty_.notify_all();  // under the lock: then this may be gone
  }

  void count(const InferAnswer& answer, Clock::time_point begin, size_t items) {
    const double seconds = std::chrono::duration<double>(Clock::now() - begin).count();
    const std::lock_guard lock(mutex_);
    statistics_.total.add(seconds);
    if (const auto* const error = std::get_if<RequestError>(&answer)) {
      ++statistics_.failed[static_cast<size_t>(pipeline_failure(error->failure))];
      return;
    }
    ++statistics_.succeeded;
    statistics_.batch.add(static_cast<double>(items));
    auto& infer = statistics_.stages[static_cast<size_t>(serve::Stage::kInfer)];
    ++infer.done;
    infer.work.add(seconds);
  }

  std::optional<RequestError> check(const InferRequest& request, Members& members) const {
    const std::string name = printable(graph_.metadata.name);
    try {
      check_request(graph_.metadata, request, [this](size_t input, const Tensor& tensor) {
        const TensorMetadata& info = graph_.metadata.inputs[input];
        if (!shapes_agree(tensor.shape(), info.shape))
          throw Error{"input '" + printable(info.name) + "' has the shape " + tensor.shape_string()
                      + "; expected " + session::shape_text(info.shape)};
      });
    } catch (Error& error) {
      return RequestError{Failure::kInvalid, name + ": " + error.text};
    }
    for (const Step& step : graph_.steps) {
      auto found = models_.find(step.model, step.version);
      if (const auto* const error = std::get_if<RequestError>(&found))
        return RequestError{Failure::kUnavailable, name + ", " + step.label + ": " + error->text};
      members.push_back(std::get<std::shared_ptr<Model>>(std::move(found)));
    }
    return std::nullopt;
  }

  const Models& models_;
  const EnsembleGraph graph_;
  mutable std::mutex mutex_;
  std::condition_variable empty_;
  serve::Statistics statistics_;
  bool is_draining_ = false;
};

}  // namespace

Result<std::shared_ptr<Model>> make_ensemble(const Models& models, const std::string& version,
                                             const ModelConfig& config) noexcept {
  return session::guard([&]() -> std::shared_ptr<Model> {
    try {
      return std::make_shared<Ensemble>(models, ensemble_graph(models, version, config));
    } catch (const Error& cause) {
      throw Error{printable(config.name) + ": " + cause.text};
    }
  });
}

}  // namespace tenon::server
