#include "measure.h"

#include <algorithm>
#include <exception>
#include <mutex>
#include <thread>

namespace tenon::tool {
namespace {

using Streams = std::span<const std::unique_ptr<InferenceStream>>;
using Clock = InferenceStream::Clock;

void sleep_ms(double ms) {
  std::this_thread::sleep_for(std::chrono::duration<double, std::milli>(ms));
}

// Rounds of one query to each stream. Those of the warm-up do not count.
void run_queries(Streams streams, const MeasureSettings& settings, std::vector<Query>& done) {
  const bool is_endless = settings.duration_s < 0;
  const double end_ms = settings.warm_up_ms + settings.duration_s * 1e3;
  double moment = 0;
  int64_t rounds = 0;
  while (is_endless || rounds < settings.iterations || moment < end_ms) {
    for (const auto& stream : streams) stream->query();
    for (const auto& stream : streams) moment = std::max(moment, stream->sync(done));
    if (is_endless) done.clear();
    if (moment >= settings.warm_up_ms) {
      ++rounds;
      if (settings.idle_ms > 0) sleep_ms(settings.idle_ms);
    }
  }
  for (const auto& stream : streams) stream->finish(done);
}

// A thread for each stream; the first failure is thrown here.
void run_threads(Streams streams, const MeasureSettings& settings, std::vector<Query>& done) {
  int device = 0;
  check_cuda(cudaGetDevice(&device), "cannot ask for the device");
  std::mutex mutex;
  std::exception_ptr failure;
  std::vector<std::thread> threads;
  for (size_t i = 0; i < streams.size(); ++i)
    threads.emplace_back([&, i] {
      std::vector<Query> own;
      try {
        check_cuda(cudaSetDevice(device), "cannot choose the device");
        run_queries(streams.subspan(i, 1), settings, own);
      } catch (...) {
        const std::lock_guard lock(mutex);
        if (failure == nullptr) failure = std::current_exception();
      }
      const std::lock_guard lock(mutex);
      done.insert(done.end(), own.begin(), own.end());
    });
  for (std::thread& thread : threads) thread.join();
  if (failure != nullptr) std::rethrow_exception(failure);
}

void sleep_in_stream(void* ms) {
  sleep_ms(*static_cast<const double*>(ms));
}

Measurement without_warm_up(std::vector<Query> all, double warm_up_ms) {
  std::sort(all.begin(), all.end(),
            [](const Query& a, const Query& b) { return a.h2d_start < b.h2d_start; });
  const auto first = std::find_if(all.begin(), all.end(), [&](const Query& query) {
    return query.compute_start >= warm_up_ms;
  });
  if (first == all.end()) fail("no query began after the warm-up of {} ms", warm_up_ms);
  const auto warm_ups = static_cast<size_t>(first - all.begin());
  all.erase(all.begin(), first);
  return {warm_ups, std::move(all)};
}

}  // namespace

Measurement measure(std::span<const std::unique_ptr<session::Session>> sessions,
                    const MeasureSettings& settings, LayerProfiler* profiler, Logger& logger) {
  double sleep = settings.sleep_ms;
  const Stream stream;
  Event start;
  std::vector<std::unique_ptr<InferenceStream>> streams;
  for (const auto& session : sessions)
    streams.push_back(std::make_unique<InferenceStream>(*session, settings,
                                                        streams.empty() ? profiler : nullptr,
                                                        static_cast<int>(streams.size()), logger));
  if (profiler != nullptr) sessions[0]->context().get().setProfiler(profiler);
  if (sleep > 0) check_cuda(cudaLaunchHostFunc(stream, sleep_in_stream, &sleep), "--sleepTime");
  const auto host_start = Clock::now();
  start.record(stream);
  for (const auto& one : streams) one->start_after(start, host_start);
  std::vector<Query> done;
  if (settings.threads)
    run_threads(streams, settings, done);
  else
    run_queries(streams, settings, done);
  if (profiler != nullptr) sessions[0]->context().get().setProfiler(nullptr);
  return without_warm_up(std::move(done), settings.warm_up_ms);
}

}  // namespace tenon::tool
