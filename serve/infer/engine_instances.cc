#include "tenon/serve/engine_instances.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <utility>

#include "guard.h"
#include "tensor/memory_pool.h"

namespace tenon::serve {

using session::value_of;

namespace {

const session::Tensor& info_of(Infer& infer, const std::string& name) {
  const session::Context& context = infer.context();
  return context.tensors()[static_cast<size_t>(context.find(name))];
}

// The extent of axis 0 if all tensors of the job have the same one, else 0.
size_t items_of(const Tensors& job) {
  for (const Tensor& tensor : job)
    if (tensor.size(0) != job[0].size(0)) return 0;
  return job.empty() ? 0 : static_cast<size_t>(job[0].size(0));
}

// How the jobs of a batch lie along axis 0.
struct Stack {
  std::vector<size_t> items;  // of each job
  size_t used = 0, size = 0;  // their sum, and what the engine runs
  bool is_job = false;        // it is the tensors of one job as they are
};

// A context, and the memory of the batches that it runs.
class EngineInstance {
 public:
  /// @param sizes of the batches that the engine runs; empty for any.
  EngineInstance(std::shared_ptr<Infer> infer, std::vector<size_t> sizes)
      : infer_(std::move(infer)),
        sizes_(std::move(sizes)),
        memories_(std::make_shared<MemoryPool>(infer_->device())) {
    for (int i = 0; i < infer_->num_input(); ++i) stacked_.push_back(infer_->input(i));
    for (int i = 0; i < infer_->num_output(); ++i)
      is_on_host_.push_back(engine_runs_on_cpu()
                            || info_of(*infer_, infer_->get_output_name(i)).is_on_host);
  }

  // After an error, too, nothing reads or writes tensors any more.
  std::vector<Tensors> run(std::span<Tensors* const> batch) {
    try {
      auto results = try_to_run(batch);
      give_back_inputs();
      return results;
    } catch (...) {
      (void)infer_->synchronize();
      give_back_inputs();
      throw;
    }
  }

  // One run prepares the context for the shapes, the second is measured.
  Clock::duration time_of(size_t batch) {
    Tensors job = any_job();
    const std::vector<Tensors*> jobs(has_items() ? batch : 1, &job);
    run(jobs);
    const auto begin = Clock::now();
    run(jobs);
    return Clock::now() - begin;
  }

  // A fault of the device stays: whatever is tried next fails, too.
  bool is_dead() const {
    if (infer_->engine()->runs_on_cpu()) return false;
    const AutoDevice current(infer_->device());
    // Of its own stream: others may be captured meanwhile.
    const cudaStream_t stream = infer_->get_stream();
    const bool is_dead = cudaStreamSynchronize(stream) != cudaSuccess
                         && cudaStreamSynchronize(stream) != cudaSuccess;
    cudaGetLastError();
    return is_dead;
  }

 private:
  bool engine_runs_on_cpu() const { return infer_->engine()->runs_on_cpu(); }

  // Jobs' memory is theirs again.
  void give_back_inputs() {
    for (int i = 0; i < infer_->num_input(); ++i)
      (void)infer_->set_input(i, stacked_[static_cast<size_t>(i)]);
  }

  size_t size_of_run(size_t items) const {
    const auto next = std::lower_bound(sizes_.begin(), sizes_.end(), items);
    return next == sizes_.end() ? items : *next;
  }

  Stack stack_of(std::span<Tensors* const> batch) const {
    Stack stack;
    for (const Tensors* const job : batch) {
      if (job->size() != stacked_.size())
        throw Error{"the engine has " + std::to_string(stacked_.size()) + " inputs, and a job "
                    + std::to_string(job->size()) + " tensors"};
      stack.used += stack.items.emplace_back(items_of(*job));
    }
    stack.size = size_of_run(stack.used);
    stack.is_job = batch.size() == 1 && (stack.used == 0 || stack.size == stack.used);
    if (!stack.is_job && std::ranges::count(stack.items, 0) > 0)
      throw Error{
          "a batch takes jobs whose tensors have the same extent of axis 0, 1 or more, and those "
          "of one have not"};
    return stack;
  }

  std::vector<Tensors> try_to_run(std::span<Tensors* const> batch) {
    const Stack stack = stack_of(batch);
    for (int i = 0; i < infer_->num_input(); ++i) set_input(i, batch, stack);
    std::vector<Tensor> outputs;
    for (int i = 0; i < infer_->num_output(); ++i)
      if (is_on_host_[static_cast<size_t>(i)])
        value_of(infer_->set_output(
            i, std::make_shared<Tensor>(Shape{0}, infer_->output(i)->type(), memories_->take())));
    value_of(infer_->forward(/*sync=*/engine_runs_on_cpu()));
    for (int i = 0; i < infer_->num_output(); ++i) outputs.push_back(on_host(*infer_->output(i)));
    value_of(infer_->synchronize());
    std::vector<Tensors> results(batch.size());
    for (int i = 0; i < infer_->num_output(); ++i)
      split(infer_->get_output_name(i), outputs[static_cast<size_t>(i)], stack, results);
    return results;
  }

  // Whether axis 0 can be the same for all inputs: a state beside a batch has another one.
  bool has_items() const {
    std::optional<int64_t> extent;  // -1 where it varies
    for (int i = 0; i < infer_->num_input(); ++i) {
      const nvinfer1::Dims& shape = info_of(*infer_, infer_->get_input_name(i)).shape;
      if (shape.nbDims > 0 && extent.value_or(shape.d[0]) != shape.d[0]) return false;
      if (shape.nbDims > 0) extent = shape.d[0];
    }
    return true;
  }

  // Zeros of the shapes of the profile's optimum, for one job.
  Tensors any_job() const {
    Tensors job;
    for (int i = 0; i < infer_->num_input(); ++i) {
      const session::Tensor& info = info_of(*infer_, infer_->get_input_name(i));
      Shape shape = session::to_shape(session::is_known(info.shape) ? info.shape : info.opt);
      if (!shape.empty() && has_items()) shape[0] = 1;
      Tensor& tensor = job.emplace_back(std::move(shape), info.type, infer_->device());
      value_of(tensor.cpu());
    }
    return job;
  }

  // An output in memory of the host. A GPU's own memory stays the same, as CUDA graphs want.
  Tensor on_host(Tensor& output) {
    if (output.head() == DataHead::kHost)
      return Tensor(output.shape(), output.type(), output.memory(), DataHead::kHost);
    Tensor copy(output.shape(), output.type(), memories_->take());
    void* const to = value_of(copy.cpu());
    const AutoDevice current(infer_->device());
    if (cudaMemcpyAsync(to, value_of(output.gpu()), output.bytes(), cudaMemcpyDeviceToHost,
                        infer_->get_stream())
        != cudaSuccess)
      throw Error{std::string("copying outputs to the host: ")
                  + cudaGetErrorString(cudaGetLastError())};
    return copy;
  }

  // A job's tensor from the host to its part of a batch on the device, in the order of the stream:
  // the job is not over before that has come so far.
  void upload(Tensor& stacked, int64_t begin, Tensor& item) {
    const AutoDevice current(infer_->device());
    auto* const to = static_cast<std::byte*>(value_of(stacked.gpu()))
                     + static_cast<size_t>(begin) * item.element_size();
    if (cudaMemcpyAsync(to, value_of(item.cpu()), item.bytes(), cudaMemcpyHostToDevice,
                        stacked.stream())
        != cudaSuccess)
      throw Error{std::string("copying inputs to the device: ")
                  + cudaGetErrorString(cudaGetLastError())};
  }

  // Items that fill a batch up: zeros, as an index of anything may be outside.
  void clear(Tensor& stacked, size_t begin, bool on_gpu) {
    if (begin >= stacked.bytes()) return;
    auto* const data = static_cast<std::byte*>(value_of(on_gpu ? stacked.gpu() : stacked.cpu()));
    const size_t size = stacked.bytes() - begin;
    if (!on_gpu) {
      std::memset(data + begin, 0, size);
      return;
    }
    const AutoDevice current(infer_->device());
    if (cudaMemsetAsync(data + begin, 0, size, stacked.stream()) != cudaSuccess)
      throw Error{std::string("filling up a batch: ") + cudaGetErrorString(cudaGetLastError())};
  }

  // Whether the job's tensor has the type and shape of the batch's, but for the extent of axis 0.
  static bool fits(const Tensor& item, const Tensor& stacked) {
    return item.type() == stacked.type() && item.ndims() == stacked.ndims()
           && std::equal(item.shape().begin() + 1, item.shape().end(), stacked.shape().begin() + 1);
  }

  void set_input(int i, std::span<Tensors* const> batch, const Stack& stack) {
    const auto at = static_cast<size_t>(i);
    Tensor& first = (*batch[0])[at];
    const bool is_near = engine_runs_on_cpu() || first.device() == infer_->device();
    if (stack.is_job && is_near) {  // in the job's own memory
      auto whole =
          std::make_shared<Tensor>(first.shape(), first.type(), first.memory(), first.head());
      // What is on the device already may still be written in its own stream.
      whole->set_stream(first.head() == DataHead::kDevice ? first.stream() : infer_->get_stream());
      return value_of(infer_->set_input(i, std::move(whole)));
    }
    Tensor& stacked = *stacked_[at];
    Shape shape = first.shape();
    if (!stack.is_job) shape[0] = static_cast<int64_t>(stack.size);
    value_of(stacked.resize(shape));
    const bool on_gpu = !engine_runs_on_cpu() || first.head() == DataHead::kDevice;
    value_of(on_gpu ? stacked.to_gpu(false) : stacked.to_cpu(false));
    int64_t from = 0;
    for (Tensors* const job : batch) {
      Tensor& item = (*job)[at];
      if (stack.is_job ? item.type() != stacked.type() : !fits(item, stacked))
        throw Error{"input '" + infer_->get_input_name(i) + "' of a batch takes tensors of "
                    + session::type_name(stacked.type()) + " " + first.shape_string()
                    + ", and one is of " + session::type_name(item.type()) + " "
                    + item.shape_string()};
      if (item.head() == DataHead::kInit && !item.empty())
        throw Error{"input '" + infer_->get_input_name(i) + "' of a job has no data"};
      if (item.head() == DataHead::kDevice) {
        if (item.stream() != stacked.stream()) value_of(item.synchronize());
        value_of(stacked.copy_from_gpu(from, value_of(item.gpu()), item.numel(), item.device()));
      } else if (on_gpu) {
        upload(stacked, from, item);
      } else {
        value_of(stacked.copy_from_cpu(from, value_of(item.cpu()), item.numel()));
      }
      from += item.numel();
    }
    clear(stacked, static_cast<size_t>(from) * stacked.element_size(), on_gpu);
    value_of(infer_->set_input(i, stacked_[at]));
  }

  static void split(const std::string& name, Tensor& output, const Stack& stack,
                    std::vector<Tensors>& results) {
    if (stack.is_job) {
      results[0].push_back(std::move(output));
      return;
    }
    if (output.size(0) != static_cast<int64_t>(stack.size))
      throw Error{"output '" + name + "' of shape " + output.shape_string()
                  + " has no part for each of " + std::to_string(stack.size) + " items"};
    int64_t begin = 0;
    for (size_t job = 0; job < results.size(); ++job) {
      const auto count = static_cast<int64_t>(stack.items[job]);
      results[job].push_back(value_of(output.items(begin, count)));
      begin += count;
    }
  }

  std::shared_ptr<Infer> infer_;
  std::vector<size_t> sizes_;
  std::vector<bool> is_on_host_;  // by output
  std::vector<std::shared_ptr<Tensor>> stacked_;
  std::shared_ptr<MemoryPool> memories_;  // of the host, for outputs
};

// The smallest batch of the profile: of inputs whose axis 0 varies, or of all where it never does.
size_t min_batch(Infer& infer) {
  int64_t varying = 0, fixed = INT64_MAX;
  for (int i = 0; i < infer.num_input(); ++i) {
    const session::Tensor& info = info_of(infer, infer.get_input_name(i));
    if (info.min.nbDims == 0) continue;
    if (info.shape.d[0] < 0)
      varying = std::max<int64_t>(varying, info.min.d[0]);
    else
      fixed = std::min<int64_t>(fixed, info.min.d[0]);
  }
  return static_cast<size_t>(
      std::max<int64_t>(varying > 0 || fixed == INT64_MAX ? varying : fixed, 1));
}

std::vector<size_t> sizes_of(const EngineInstanceOptions& options, Infer& infer) {
  return value_of(batch_sizes(options.batch_sizes, min_batch(infer), options.max_batch,
                              infer.engine()->runs_on_cpu()));
}

Instance<Tensors, Tensors> instance_of(std::shared_ptr<Infer> infer,
                                       const EngineInstanceOptions& options) {
  std::vector<size_t> sizes = sizes_of(options, *infer);
  auto instance = std::make_shared<EngineInstance>(std::move(infer), sizes);
  if (sizes.empty()) sizes = {1, options.max_batch};
  if (sizes.front() == sizes.back()) sizes.resize(1);
  Instance<Tensors, Tensors> made;
  made.run = [instance](std::span<Tensors* const> batch) -> BatchResult<Tensors> {
    auto results = session::guard([&] { return instance->run(batch); });
    if (results) return *std::move(results);
    return {Error{results.error()}, instance->is_dead()};
  };
  if (options.is_warm)
    made.warm_up = [instance, sizes]() -> Result<std::vector<BatchTime>> {
      return session::guard([&] {
        std::vector<BatchTime> times;
        for (const size_t size : sizes) times.push_back({size, instance->time_of(size)});
        return times;
      });
    };
  return made;
}

}  // namespace

Result<std::vector<size_t>> batch_sizes(std::vector<size_t> wanted, size_t min, size_t max,
                                        bool on_cpu) noexcept {
  return session::guard([&] {
    std::vector<size_t> sizes = std::move(wanted);
    for (size_t i = 0; i < sizes.size(); ++i)
      if (sizes[i] <= (i == 0 ? 0 : sizes[i - 1]) || sizes[i] > max)
        throw Error{"batch_sizes: expected ascending sizes from 1 to max_batch, "
                    + std::to_string(max) + ", found " + std::to_string(sizes[i])};
    if (sizes.empty() && (!on_cpu || min > 1))
      for (size_t size = 1; size < max; size = on_cpu ? size + 1 : 2 * size) sizes.push_back(size);
    if (sizes.empty() ? min > 1 : sizes.back() < max) sizes.push_back(max);
    for (size_t& size : sizes) size = std::max(size, min);
    sizes.erase(std::unique(sizes.begin(), sizes.end()), sizes.end());
    return sizes;
  });
}

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
      if (options.max_batch < 1
          || options.max_batch > static_cast<uint64_t>(infer->get_max_batch_size()))
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
    for (int axis = 1; axis < tensor.ndims(); ++axis) add(static_cast<uint64_t>(tensor.size(axis)));
  }
  return key;
}

}  // namespace tenon::serve
