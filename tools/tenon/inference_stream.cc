#include "inference_stream.h"

namespace tenon::tool {

InferenceStream::Slot::Slot(unsigned flags)
    : h2d_start(flags),
      h2d_end(flags),
      compute_start(flags),
      compute_end(flags),
      d2h_start(flags),
      d2h_end(flags) {}

InferenceStream::InferenceStream(session::Session& session, const QuerySettings& settings,
                                 LayerProfiler* profiler, int number, Logger& logger)
    : session_(session),
      settings_(settings),
      profiler_(profiler),
      number_(number),
      in_(session.stream()),
      compute_(session.stream()),
      out_(session.stream()) {
  const bool overlaps = settings.overlaps && settings.transfers && knows_sizes();
  if (overlaps) {
    own_in_ = std::make_unique<Stream>();
    own_out_ = std::make_unique<Stream>();
    in_ = *own_in_;
    out_ = *own_out_;
  }
  for (int i = 0; i < (overlaps ? 2 : 1); ++i)
    slots_.emplace_back(settings.spins ? cudaEventDefault : cudaEventBlockingSync);
  if (settings.transfers && !session::runs_on_cpu(session.context().engine()) && knows_sizes())
    pin();
  value_or_fail(session.copy_in());
  value_or_fail(session.enqueue());
  value_or_fail(session.wait());
  if (settings.graph && profiler_ == nullptr) capture(logger);
}

InferenceStream::~InferenceStream() {
  own_in_.reset();
  own_out_.reset();
  cudaStreamSynchronize(compute_);
  for (void* array : pinned_) cudaHostUnregister(array);
}

// Arrays of outputs whose sizes only runs tell are made anew with each.
bool InferenceStream::knows_sizes() {
  session::Context& context = session_.context();
  for (size_t i = 0; i < context.tensors().size(); ++i)
    if (!context.tensors()[i].is_input && context.is_data_dependent(i)) return false;
  return true;
}

void InferenceStream::pin() {
  const session::Arrays* const inputs = &session_.inputs();
  for (const session::Arrays* arrays : {inputs, &session_.outputs()})
    for (const auto& [name, array] : *arrays) {
      auto* const data = const_cast<std::byte*>(array.bytes.data());
      if (array.bytes.empty()) continue;
      check_cuda(cudaHostRegister(data, array.bytes.size(), 0), "cannot pin memory");
      pinned_.push_back(data);
    }
}

void InferenceStream::capture(Logger& logger) {
  std::string reason;
  const bool is_captured = graph_.capture(compute_, [&] {
    const auto done = session_.enqueue();
    reason = done.error();
    return static_cast<bool>(done);
  });
  if (is_captured) return logger.note("A query was captured in a CUDA graph");
  logger.take_error();  // which is the reason
  logger.log(nvinfer1::ILogger::Severity::kWARNING,
             fmt::format("--useCudaGraph: {}; queries run without a graph",
                         reason.empty() ? "there is no graph of the query" : reason)
                 .c_str());
}

double InferenceStream::now() const {
  return std::chrono::duration<double, std::milli>(Clock::now() - host_start_).count();
}

void InferenceStream::start_after(const Event& start, Clock::time_point host_start) {
  start_ = &start;
  host_start_ = host_start;
  for (cudaStream_t stream : {in_, compute_, out_}) start.hold(stream);
}

void InferenceStream::launch() {
  if (profiler_ != nullptr) profiler_->next_run();
  if (graph_.is_there())
    check_cuda(graph_.launch(compute_), "cannot launch the graph");
  else
    value_or_fail(session_.enqueue());
}

void InferenceStream::query() {
  Slot& slot = slots_[next_];
  if (slot.is_active) return;
  if (settings_.transfers) {
    slot.h2d_start.record(in_);
    value_or_fail(session_.copy_in(in_));
    slot.h2d_end.record(in_);
    if (in_ != compute_) slot.h2d_end.hold(compute_);
  }
  slot.compute_start.record(compute_);
  slot.enqueue_start = now();
  launch();
  slot.enqueue_end = now();
  slot.compute_end.record(compute_);
  if (settings_.transfers) {
    if (out_ != compute_) slot.compute_end.hold(out_);
    slot.d2h_start.record(out_);
    value_or_fail(session_.copy_out(out_));
    slot.d2h_end.record(out_);
  }
  slot.is_active = true;
  next_ = (next_ + 1) % slots_.size();
}

Query InferenceStream::times(const Slot& slot) const {
  Query query;
  query.stream = number_;
  query.enqueue_start = slot.enqueue_start;
  query.enqueue_end = slot.enqueue_end;
  query.compute_start = slot.compute_start.since(*start_);
  query.compute = slot.compute_end.since(slot.compute_start);
  query.h2d_start = query.compute_start;
  query.d2h_start = query.compute_start + query.compute;
  if (!settings_.transfers) return query;
  query.h2d_start = slot.h2d_start.since(*start_);
  query.h2d = slot.h2d_end.since(slot.h2d_start);
  query.d2h_start = slot.d2h_start.since(*start_);
  query.d2h = slot.d2h_end.since(slot.d2h_start);
  return query;
}

double InferenceStream::sync(std::vector<Query>& done) {
  Slot& slot = slots_[next_];
  if (!slot.is_active) return 0;
  const Event& last = settings_.transfers ? slot.d2h_end : slot.compute_end;
  if (const cudaError_t status = last.wait(); status != cudaSuccess) {
    value_or_fail(session_.wait());  // it knows more of why
    check_cuda(status, "the engine failed while it ran");
  }
  slot.is_active = false;
  done.push_back(times(slot));
  return done.back().compute_start;
}

void InferenceStream::finish(std::vector<Query>& done) {
  for (size_t i = 0; i < slots_.size(); ++i) {
    sync(done);
    next_ = (next_ + 1) % slots_.size();
  }
  value_or_fail(session_.wait());
}

}  // namespace tenon::tool
