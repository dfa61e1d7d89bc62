#include "plan/memory.h"

#include <algorithm>
#include <numeric>

namespace tenon {
namespace {
constexpr int64_t kAlignment = 64;
int64_t aligned(int64_t bytes) {
  return (bytes + kAlignment - 1) / kAlignment * kAlignment;
}
}  // namespace

MemoryPlan plan_memory(std::span<const MemoryRequest> requests) {
  MemoryPlan plan;
  plan.offsets.assign(requests.size(), 0);
  std::vector<size_t> order(requests.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return requests[a].bytes > requests[b].bytes; });
  std::vector<size_t> placed;  // sorted by offset
  for (size_t i : order) {
    const MemoryRequest& r = requests[i];
    if (r.bytes == 0) continue;
    int64_t offset = 0;
    for (size_t j : placed) {
      const MemoryRequest& other = requests[j];
      const bool together = other.first_step <= r.last_step && r.first_step <= other.last_step;
      if (!together) continue;
      if (offset + r.bytes <= plan.offsets[j]) break;
      offset = std::max(offset, aligned(plan.offsets[j] + other.bytes));
    }
    plan.offsets[i] = offset;
    plan.bytes = std::max(plan.bytes, aligned(offset + r.bytes));
    const auto at = std::upper_bound(placed.begin(), placed.end(), offset,
                                     [&](int64_t o, size_t j) { return o < plan.offsets[j]; });
    placed.insert(at, i);
  }
  return plan;
}

std::vector<Lifetime> lifetimes(const Plan& plan) {
  std::vector<Lifetime> lives(plan.tensors.size());
  for (size_t step = 0; step < plan.steps.size(); ++step) {
    const auto touch = [&](int32_t tensor) {
      if (tensor < 0) return;
      Lifetime& life = lives[static_cast<size_t>(plan.root_of(tensor))];
      life.first_step = std::min(life.first_step, static_cast<int32_t>(step));
      life.last_step = std::max(life.last_step, static_cast<int32_t>(step));
    };
    for (int32_t t : plan.steps[step].inputs) touch(t);
    for (int32_t t : plan.steps[step].outputs) touch(t);
  }
  return lives;
}

MemoryPlan plan_context_memory(const Plan& plan, const Stages& stages, int32_t stage,
                               std::span<const Lifetime> lives, std::span<const Shape> shapes,
                               std::span<const size_t> scratch_bytes) {
  std::vector<MemoryRequest> requests;
  for (size_t i = 0; i < plan.tensors.size(); ++i) {
    const PlanTensor& t = plan.tensors[i];
    if (t.place != PlanTensor::Place::kArena) continue;
    const bool used = lives[i].first_step <= lives[i].last_step && stages.makers[i] == stage;
    requests.push_back({used ? static_cast<int64_t>(storage_bytes(t.type, shapes[i], t.layout)) : 0,
                        lives[i].first_step, lives[i].last_step});
  }
  for (size_t step = 0; step < scratch_bytes.size(); ++step)
    requests.push_back({stages.steps[step] == stage ? static_cast<int64_t>(scratch_bytes[step]) : 0,
                        static_cast<int32_t>(step), static_cast<int32_t>(step)});
  return plan_memory(requests);
}

}  // namespace tenon
