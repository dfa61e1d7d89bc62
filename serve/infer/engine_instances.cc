#include "tenon/serve/engine_instances.h"

#include <algorithm>
#include <utility>

#include "guard.h"

namespace tenon::serve {

using session::value_of;

namespace {

// A context, and the memory of the batches that it runs.
class EngineInstance {
 public:
  explicit EngineInstance(std::shared_ptr<Infer> infer) : infer_(std::move(infer)) {
    for (int i = 0; i < infer_->num_input(); ++i) stacked_.push_back(infer_->input(i));
  }

  std::vector<Tensors> run(std::span<Tensors* const> batch) {
    for (int i = 0; i < infer_->num_input(); ++i) set_input(i, batch);
    for (int i = 0; i < infer_->num_output(); ++i) {
      auto output = std::make_shared<Tensor>(Shape{0}, infer_->output(i)->type(), free_memory());
      output->set_stream(infer_->get_stream());
      value_of(infer_->set_output(i, std::move(output)));
    }
    value_of(infer_->forward(false));
    for (int i = 0; i < infer_->num_output(); ++i) value_of(infer_->output(i)->to_cpu());
    value_of(infer_->synchronize());
    std::vector<Tensors> results(batch.size());
    for (int i = 0; i < infer_->num_output(); ++i) split(i, results);
    return results;
  }

  // One run prepares the context for the shapes, the second is measured.
  Clock::duration time_of(size_t batch) {
    Tensors job = any_job();
    const std::vector<Tensors*> jobs(batch, &job);
    run(jobs);
    const auto begin = Clock::now();
    run(jobs);
    return Clock::now() - begin;
  }

  // A fault of the device stays: whatever is tried next fails, too.
  bool is_dead() const {
    if (infer_->engine()->runs_on_cpu()) return false;
    const AutoDevice current(infer_->device());
    const bool is_dead =
        cudaDeviceSynchronize() != cudaSuccess && cudaDeviceSynchronize() != cudaSuccess;
    cudaGetLastError();
    return is_dead;
  }

 private:
  // Zeros of the shapes of the profile's optimum, for one job.
  Tensors any_job() const {
    Tensors job;
    for (int i = 0; i < infer_->num_input(); ++i) {
      const auto& info =
          infer_->context()
              .tensors()[static_cast<size_t>(infer_->context().find(infer_->get_input_name(i)))];
      Shape shape = session::to_shape(session::is_known(info.shape) ? info.shape : info.opt);
      if (!shape.empty()) shape[0] = 1;
      Tensor& tensor = job.emplace_back(std::move(shape), info.type, infer_->device());
      value_of(tensor.cpu());
    }
    return job;
  }

  void set_input(int i, std::span<Tensors* const> batch) {
    const auto at = static_cast<size_t>(i);
    for (const Tensors* const job : batch)
      if (job->size() != stacked_.size())
        throw Error{"the engine has " + std::to_string(stacked_.size()) + " inputs, and a job "
                    + std::to_string(job->size()) + " tensors"};
    Tensor& first = (*batch[0])[at];
    if (batch.size() == 1) {  // in the job's own memory
      auto whole =
          std::make_shared<Tensor>(first.shape(), first.type(), first.memory(), first.head());
      whole->set_stream(first.stream());
      return value_of(infer_->set_input(i, std::move(whole)));
    }
    Tensor& stacked = *stacked_[at];
    if (first.size(0) != 1)
      throw Error{"input '" + infer_->get_input_name(i)
                  + "' of a batch takes tensors whose axis 0 has extent 1, and one is of shape "
                  + first.shape_string()};
    Shape shape = first.shape();
    shape[0] = static_cast<int64_t>(batch.size());
    value_of(stacked.resize(shape));
    for (size_t j = 0; j < batch.size(); ++j) {
      Tensor& item = (*batch[j])[at];
      if (item.shape() != first.shape() || item.type() != stacked.type())
        throw Error{"input '" + infer_->get_input_name(i) + "' of a batch takes tensors of "
                    + session::type_name(stacked.type()) + " " + first.shape_string()
                    + ", and one is of " + session::type_name(item.type()) + " "
                    + item.shape_string()};
      const auto from = static_cast<int64_t>(j) * item.numel();
      if (item.head() == DataHead::kDevice)
        value_of(stacked.copy_from_gpu(from, value_of(item.gpu()), item.numel(), item.device()));
      else
        value_of(stacked.copy_from_cpu(from, value_of(item.cpu()), item.numel()));
    }
    value_of(infer_->set_input(i, stacked_[at]));
  }

  // Of an output of a batch that nobody looks at any more, else new.
  std::shared_ptr<MixMemory> free_memory() {
    const auto free = std::find_if(memories_.begin(), memories_.end(),
                                   [](const auto& memory) { return memory.use_count() == 1; });
    if (free != memories_.end()) return *free;
    return memories_.emplace_back(std::make_shared<MixMemory>(infer_->device()));
  }

  void split(int i, std::vector<Tensors>& results) {
    Tensor& output = *infer_->output(i);
    const auto jobs = static_cast<int64_t>(results.size());
    if (jobs == 1) {
      results[0].emplace_back(output.shape(), output.type(), output.memory(), output.head());
      return;
    }
    if (output.size(0) != jobs)
      throw Error{"output '" + infer_->get_output_name(i) + "' of shape " + output.shape_string()
                  + " has no part for each of " + std::to_string(jobs) + " jobs"};
    Shape shape = output.shape();
    shape[0] = 1;
    for (int64_t job = 0; job < jobs; ++job) {
      Tensor item = value_of(output.item(job));
      value_of(item.resize(shape));
      results[static_cast<size_t>(job)].push_back(std::move(item));
    }
  }

  std::shared_ptr<Infer> infer_;
  std::vector<std::shared_ptr<Tensor>> stacked_;
  std::vector<std::shared_ptr<MixMemory>> memories_;
};

Instance<Tensors, Tensors> instance_of(std::shared_ptr<Infer> infer,
                                       const EngineInstanceOptions& options) {
  auto instance = std::make_shared<EngineInstance>(std::move(infer));
  Instance<Tensors, Tensors> made;
  made.run = [instance](std::span<Tensors* const> batch) -> BatchResult<Tensors> {
    auto results = session::guard([&] { return instance->run(batch); });
    if (results) return *std::move(results);
    return {Error{results.error()}, instance->is_dead()};
  };
  if (options.is_warm)
    made.warm_up = [instance, max = options.max_batch]() -> Result<std::vector<BatchTime>> {
      return session::guard([&] {
        std::vector<BatchTime> times{{1, instance->time_of(1)}};
        if (max > 1) times.push_back({max, instance->time_of(max)});
        return times;
      });
    };
  return made;
}

}  // namespace

Result<std::vector<Instance<Tensors, Tensors>>> engine_instances(
    const std::shared_ptr<EngineContext>& engine, const EngineInstanceOptions& options) noexcept {
  return session::guard([&] {
    if (options.count < 1 || options.count > 1024)
      throw Error{"an engine can have 1 to 1024 instances, not " + std::to_string(options.count)};
    Infer::Options of_infer;
    of_infer.profile = options.profile;
    of_infer.cuda_graph = options.cuda_graph;
    std::vector<Instance<Tensors, Tensors>> instances;
    for (int i = 0; i < options.count; ++i) {
      auto infer = value_of(Infer::make(engine, of_infer));
      if (static_cast<int64_t>(options.max_batch) > infer->get_max_batch_size())
        throw Error{"batches of " + std::to_string(options.max_batch)
                    + " do not fit the engine, which takes at most "
                    + std::to_string(infer->get_max_batch_size())};
      instances.push_back(instance_of(std::move(infer), options));
    }
    return instances;
  });
}

uint64_t shape_key(const Tensors& tensors) {
  uint64_t key = 14695981039346656037u;  // FNV-1a
  const auto add = [&](uint64_t value) { key = (key ^ value) * 1099511628211u; };
  for (const Tensor& tensor : tensors) {
    add(static_cast<uint64_t>(tensor.type()));
    add(tensor.shape().size());
    for (const int64_t extent : tensor.shape()) add(static_cast<uint64_t>(extent));
  }
  return key;
}

}  // namespace tenon::serve
