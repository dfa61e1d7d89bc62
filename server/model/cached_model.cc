#include "cached_model.h"

#include <atomic>
#include <mutex>
#include <utility>

#include "guard.h"

namespace tenon::server {
namespace {

double seconds_since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

// Of requests that are answered when the model is gone, too.
struct CacheCounts {
  std::mutex mutex;
  CacheStatistics all;

  void add_hit(double seconds) {
    const std::lock_guard lock(mutex);
    ++all.hits;
    all.hit_seconds += seconds;
  }
  void add_miss(double seconds) {
    const std::lock_guard lock(mutex);
    ++all.misses;
    all.miss_seconds += seconds;
  }
};

class CachedModel final : public Model {
 public:
  CachedModel(std::shared_ptr<Model> model, std::shared_ptr<ResponseCache> cache)
      : model_(std::move(model)), cache_(std::move(cache)) {
    static std::atomic<uint64_t> models = 0;
    number_ = ++models;
  }
  ~CachedModel() override { cache_->erase(number_); }

  const ModelMetadata& metadata() const override { return model_->metadata(); }

  void infer(InferRequest request, Receive receive) override {
    // A member of an ensemble may have sequences: what it answers depends on what came before.
    if (request.sequence.is_given()) return model_->infer(std::move(request), std::move(receive));
    const auto begin = Clock::now();
    std::shared_ptr<CacheKey> key;
    std::optional<std::vector<NamedTensor>> outputs;
    const auto found = session::guard([&] {
      key = std::make_shared<CacheKey>(number_, request);
      outputs = cache_->find(*key);
    });
    if (!found) return receive(RequestError{Failure::kInternal, found.error()});
    if (outputs) {
      counts_->add_hit(seconds_since(begin));
      return receive(InferResponse{metadata().name, metadata().version, std::move(request.id),
                                   *std::move(outputs)});
    }
    const double looking = seconds_since(begin);
    model_->infer(std::move(request), [cache = cache_, counts = counts_, key = std::move(key),
                                       looking, receive = std::move(receive)](InferAnswer answer) {
      const auto answered = Clock::now();
      if (auto* const response = std::get_if<InferResponse>(&answer))
        (void)session::guard([&] { cache->insert(*key, response->outputs); });
      counts->add_miss(looking + seconds_since(answered));
      receive(std::move(answer));
    });
  }

  serve::Statistics statistics() const override {
    serve::Statistics statistics = model_->statistics();
    const uint64_t hits = cache_statistics()->hits;
    statistics.committed += hits;
    statistics.succeeded += hits;
    return statistics;
  }
  std::optional<CacheStatistics> cache_statistics() const override {
    const std::lock_guard lock(counts_->mutex);
    return counts_->all;
  }
  void drain() noexcept override {
    model_->drain();
    cache_->erase(number_);
  }

 private:
  const std::shared_ptr<Model> model_;
  const std::shared_ptr<ResponseCache> cache_;
  const std::shared_ptr<CacheCounts> counts_ = std::make_shared<CacheCounts>();
  uint64_t number_ = 0;
};

}  // namespace

std::shared_ptr<Model> make_cached_model(std::shared_ptr<Model> model,
                                         std::shared_ptr<ResponseCache> cache) {
  return std::make_shared<CachedModel>(std::move(model), std::move(cache));
}

}  // namespace tenon::server
