#include "cuda/cudnn/plan_texts.h"

#include <mutex>
#include <unordered_map>

namespace tenon::cuda::cudnn {
namespace {

constexpr size_t kMaxBytes = size_t{256} << 20;

struct Store {
  std::mutex mutex;
  std::unordered_map<std::string, std::shared_ptr<const std::string>> texts;
  size_t bytes = 0;
};

Store& store() {
  static auto& store = *new Store;  // never destroyed
  return store;
}

}  // namespace

std::shared_ptr<const std::string> PlanTexts::find(const std::string& key) {
  const std::lock_guard lock(store().mutex);
  const auto it = store().texts.find(key);
  return it == store().texts.end() ? nullptr : it->second;
}

void PlanTexts::keep(const std::string& key, std::string text) {
  const std::lock_guard lock(store().mutex);
  const size_t bytes = key.size() + text.size();
  if (store().bytes + bytes > kMaxBytes) {
    store().texts.clear();
    store().bytes = 0;
  }
  if (store().texts.emplace(key, std::make_shared<const std::string>(std::move(text))).second)
    store().bytes += bytes;
}

}  // namespace tenon::cuda::cudnn
