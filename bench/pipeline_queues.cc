// What a job costs in a pipeline of three empty stages with at most 256 jobs, beside oneTBB's flow
// graph and, where its headers are, Asio's thread pool. Rounds take turns; medians are printed.
#include <oneapi/tbb/flow_graph.h>
#include <tenon/serve/pipeline.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <functional>
#include <map>
#include <semaphore>
#include <string>
#include <thread>
#include <vector>
#if __has_include(<asio.hpp>)
#include <asio.hpp>
#endif

namespace {

using Clock = std::chrono::steady_clock;
constexpr int kJobs = 100000, kBound = 256, kRounds = 7;

std::atomic<int> answered{0};

void await_all() {
  while (answered.load() < kJobs) std::this_thread::yield();
}

void run_pipeline(int workers) {
  using namespace tenon::serve;
  Stages<int, int, int, int> stages;
  stages.preprocess = [](int& x, const JobContext&) -> Result<int> { return x + 1; };
  stages.instances.push_back({[](std::span<int* const> batch) -> BatchResult<int> {
                                return std::vector<int>{*batch[0] + 1};
                              },
                              {}});
  stages.postprocess = [](int&, int& y, const JobContext&) -> Result<int> { return y + 1; };
  PipelineOptions options;
  options.max_jobs = kBound;
  options.preprocess_workers = options.postprocess_workers = workers;
  auto pipeline = *Pipeline<int, int>::start(options, std::move(stages));
  for (int i = 0; i < kJobs; ++i) pipeline->submit(i, {}, [](const Answer<int>&) { ++answered; });
  await_all();
}

void run_tenon() {
  run_pipeline(1);
}

void run_without_workers() {
  run_pipeline(0);
}

void run_tbb() {
  using namespace oneapi::tbb::flow;
  graph graph;
  limiter_node<int> limit(graph, kBound);
  function_node<int, int> preprocess(graph, serial, [](int x) { return x + 1; });
  function_node<int, int> infer(graph, serial, [](int x) { return x + 1; });
  function_node<int, continue_msg> postprocess(graph, serial, [](int) {
    ++answered;
    return continue_msg();
  });
  queue_node<int> jobs(graph);
  make_edge(jobs, limit);
  make_edge(limit, preprocess);
  make_edge(preprocess, infer);
  make_edge(infer, postprocess);
  make_edge(postprocess, limit.decrementer());
  for (int i = 0; i < kJobs; ++i) jobs.try_put(i);
  graph.wait_for_all();
  await_all();
}

#ifdef ASIO_HPP
void run_asio() {
  asio::thread_pool pool(3);
  auto preprocess = asio::make_strand(pool), infer = asio::make_strand(pool),
       postprocess = asio::make_strand(pool);
  std::counting_semaphore<kBound> capacity(kBound);
  for (int i = 0; i < kJobs; ++i) {
    capacity.acquire();
    asio::post(preprocess, [&, x = i + 1] {
      asio::post(infer, [&, y = x + 1] {
        asio::post(postprocess, [&, z = y + 1] {
          answered += z > 0;
          capacity.release();
        });
      });
    });
  }
  pool.join();
  await_all();
}
#endif

}  // namespace

int main() {
  const std::vector<std::pair<std::string, void (*)()>> peers = {
      {"tenon::serve::Pipeline", run_tenon},
      {"the same without workers", run_without_workers},
      {"oneTBB flow graph", run_tbb},
#ifdef ASIO_HPP
      {"Asio thread pool, strands", run_asio},
#endif
  };
  std::map<std::string, std::vector<double>> times;
  for (int round = 0; round < kRounds; ++round)
    for (const auto& [name, run] : peers) {
      answered = 0;
      const auto begin = Clock::now();
      run();
      times[name].push_back(std::chrono::duration<double, std::micro>(Clock::now() - begin).count()
                            / kJobs);
    }
  for (const auto& [name, run] : peers) {
    auto& list = times[name];
    std::sort(list.begin(), list.end());
    std::printf("%-28s %6.2f us per job (%.2f to %.2f)\n", name.c_str(), list[list.size() / 2],
                list.front(), list.back());
  }
}
