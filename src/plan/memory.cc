#include "plan/memory.h"

#include <algorithm>
#include <bit>
#include <numeric>

namespace tenon {
namespace {
int64_t aligned(int64_t bytes) {
  return (bytes + kMemoryAlignment - 1) / kMemoryAlignment * kMemoryAlignment;
}

// Bytes from `begin` up to `end`.
struct Range {
  int64_t begin, end;
};

// Disjoint ranges in order; those that touch are one.
class Ranges {
 public:
  void add(Range r) {
    auto first = from(r.begin - 1), last = first;
    for (; last != ranges_.end() && last->begin <= r.end; ++last) {
      r.begin = std::min(r.begin, last->begin);
      r.end = std::max(r.end, last->end);
    }
    if (first == last) {
      ranges_.insert(first, r);
      return;
    }
    *first = r;
    ranges_.erase(first + 1, last);
  }
  /// Where a range that begins at `offset` must move to, to clear the first one in its way.
  int64_t past(int64_t offset, int64_t bytes) {
    const auto it = from(offset);
    return it == ranges_.end() || it->begin >= offset + bytes ? offset : it->end;
  }

 private:
  // The first that ends after `offset`.
  std::vector<Range>::iterator from(int64_t offset) {
    return std::partition_point(ranges_.begin(), ranges_.end(),
                                [&](const Range& r) { return r.end <= offset; });
  }
  std::vector<Range> ranges_;
};

// The bytes that are taken during each step. A segment tree: a node stands for a span of steps, so
// that the steps of a request are those of a few nodes, and many requests with the same bytes or
// the same steps cost little.
class Occupancy {
 public:
  explicit Occupancy(int32_t steps)
      : leaves_(std::bit_ceil(static_cast<size_t>(std::max(steps, 1)))),
        whole_(2 * leaves_),
        any_(2 * leaves_) {}

  /// The lowest offset where `r` fits.
  int64_t fit(const MemoryRequest& r) {
    std::vector<Ranges*> taken;
    for_each_node(
        r, [&](size_t n) { taken.push_back(&any_[n]); },
        [&](size_t n) { taken.push_back(&whole_[n]); });
    int64_t offset = 0;
    for (size_t clear = 0; clear < taken.size();) {
      for (Ranges* ranges : taken) {
        const int64_t next = ranges->past(offset, r.bytes);
        clear = next == offset ? clear + 1 : 0;
        offset = next;
        if (clear == taken.size()) break;
      }
    }
    return offset;
  }
  void take(const MemoryRequest& r, int64_t offset) {
    const Range range{offset, aligned(offset + r.bytes)};
    for_each_node(
        r,
        [&](size_t n) {
          whole_[n].add(range);
          any_[n].add(range);
        },
        [&](size_t n) { any_[n].add(range); });
  }

 private:
  // Visits the fewest nodes that are the steps of a request, and the nodes above them.
  template <class Own, class Above>
  void for_each_node(const MemoryRequest& r, const Own& own, const Above& above) const {
    const size_t first = leaves_ + static_cast<size_t>(r.first_step);
    const size_t last = leaves_ + static_cast<size_t>(r.last_step);
    for (size_t a = first, b = last + 1; a < b; a /= 2, b /= 2) {
      if (a % 2 == 1) own(a++);
      if (b % 2 == 1) own(--b);
    }
    for (size_t a = first / 2, b = last / 2; a > 0; a /= 2, b /= 2) {
      above(a);
      if (b != a) above(b);
    }
  }

  size_t leaves_;
  std::vector<Ranges> whole_;  // of requests that are there during all steps of a node
  std::vector<Ranges> any_;    // of requests that are there during some
};

// A tensor's storage within that of one that has a place of its own, which may be itself.
SliceOffset outermost(std::span<const SliceOffset> places, size_t tensor) {
  SliceOffset place{static_cast<int32_t>(tensor), 0};
  for (const SliceOffset* next = &places[tensor]; next->whole >= 0;
       next = &places[static_cast<size_t>(next->whole)])
    place = {next->whole, place.offset + next->offset};
  return place;
}

}  // namespace

MemoryPlan plan_memory(std::span<const MemoryRequest> requests) {
  MemoryPlan plan;
  plan.offsets.assign(requests.size(), 0);
  std::vector<size_t> order(requests.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return requests[a].bytes > requests[b].bytes; });
  int32_t steps = 0;
  for (const MemoryRequest& r : requests)
    if (r.bytes > 0) steps = std::max(steps, r.last_step + 1);
  Occupancy occupancy(steps);
  for (size_t i : order) {
    const MemoryRequest& r = requests[i];
    if (r.bytes == 0) continue;
    plan.offsets[i] = occupancy.fit(r);
    plan.bytes = std::max(plan.bytes, aligned(plan.offsets[i] + r.bytes));
    occupancy.take(r, plan.offsets[i]);
  }
  return plan;
}

Lifetimes lifetimes(const Plan& plan, const Streams& streams) {
  Lifetimes lives{std::vector<Lifetime>(plan.tensors.size()), {}, in_place_slices(plan)};
  for (size_t step = 0; step < plan.steps.size(); ++step) {
    const Lifetime now{streams.steps[step].first, streams.steps[step].last};
    const auto touch = [&](int32_t tensor) {
      if (tensor >= 0) lives.tensors[static_cast<size_t>(plan.root_of(tensor))].include(now);
    };
    lives.scratch.push_back(now);
    for (int32_t t : plan.steps[step].inputs) touch(t);
    for (int32_t t : plan.steps[step].outputs) touch(t);
  }
  return lives;
}

namespace {

MemoryPlan plan_with(const Plan& plan, const Stages& stages, int32_t stage, const Lifetimes& lives,
                     std::span<const Shape> shapes, std::span<const size_t> scratch_bytes,
                     std::span<const SliceOffset> places) {
  std::vector<Lifetime> needed = lives.tensors;
  for (size_t i = 0; i < places.size(); ++i)
    needed[static_cast<size_t>(outermost(places, i).whole)].include(lives.tensors[i]);
  std::vector<MemoryRequest> requests;
  std::vector<size_t> request_of(plan.tensors.size());
  for (size_t i = 0; i < plan.tensors.size(); ++i) {
    const PlanTensor& t = plan.tensors[i];
    if (t.place != PlanTensor::Place::kArena) continue;
    const auto [first, last] = needed[i];
    const bool used = first <= last && stages.first_stages[i] == stage && places[i].whole < 0;
    request_of[i] = requests.size();
    requests.push_back(
        {used ? static_cast<int64_t>(storage_bytes(t.type, shapes[i], t.layout)) : 0, first, last});
  }
  for (size_t step = 0; step < scratch_bytes.size(); ++step)
    requests.push_back({stages.steps[step] == stage ? static_cast<int64_t>(scratch_bytes[step]) : 0,
                        lives.scratch[step].first_step, lives.scratch[step].last_step});
  MemoryPlan memory = plan_memory(requests);
  for (size_t i = 0; i < places.size(); ++i) {
    if (places[i].whole < 0) continue;
    const SliceOffset place = outermost(places, i);
    memory.offsets[request_of[i]] =
        memory.offsets[request_of[static_cast<size_t>(place.whole)]] + place.offset;
  }
  return memory;
}

}  // namespace

MemoryPlan plan_context_memory(const Plan& plan, const Stages& stages, int32_t stage,
                               const Lifetimes& lives, std::span<const Shape> shapes,
                               std::span<const size_t> scratch_bytes, int64_t max_bytes) {
  const auto with = [&](std::span<const SliceOffset> places) {
    return plan_with(plan, stages, stage, lives, shapes, scratch_bytes, places);
  };
  MemoryPlan apart = with(std::vector<SliceOffset>(plan.tensors.size()));
  const auto places = slice_offsets(plan, stages, stage, lives.slices, shapes);
  if (std::all_of(places.begin(), places.end(), [](const SliceOffset& p) { return p.whole < 0; }))
    return apart;
  MemoryPlan joined = with(places);
  return joined.bytes <= std::min(apart.bytes / 4 * 5, max_bytes) ? joined : apart;
}

}  // namespace tenon
