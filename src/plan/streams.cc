#include "plan/streams.h"

#include <algorithm>

namespace tenon {
namespace {

using Place = PlanTensor::Place;

// Per step: the earlier ones that must be over, as they write what it reads, or read or write what
// it writes.
std::vector<std::vector<int32_t>> dependencies_of(const Plan& plan) {
  struct Storage {
    int32_t writer = -1;
    std::vector<int32_t> readers;  // of what the writer wrote
  };
  std::vector<Storage> storages(plan.tensors.size());
  std::vector<std::vector<int32_t>> dependencies(plan.steps.size());
  for (size_t i = 0; i < plan.steps.size(); ++i) {
    const auto step = static_cast<int32_t>(i);
    const auto storage = [&](int32_t tensor) -> Storage& {
      return storages[static_cast<size_t>(plan.root_of(tensor))];
    };
    const auto depend = [&](int32_t on) {
      if (on >= 0 && on != step) dependencies[i].push_back(on);
    };
    for (int32_t t : plan.steps[i].inputs) {
      if (t < 0) continue;
      depend(storage(t).writer);
      storage(t).readers.push_back(step);
    }
    for (int32_t t : plan.steps[i].outputs) {
      if (t < 0) continue;
      depend(storage(t).writer);
      for (int32_t reader : storage(t).readers) depend(reader);
      storage(t) = {step, {}};
    }
  }
  return dependencies;
}

// Steps that have no other beside them. A step comes before all later ones if each of those depends
// on it or on one after it, and after all earlier ones if on each of those depends it or one before
// it.
std::vector<bool> find_sequential(const std::vector<std::vector<int32_t>>& dependencies) {
  const auto count = static_cast<int32_t>(dependencies.size());
  std::vector<int32_t> first_user(dependencies.size(), INT32_MAX);
  for (int32_t i = 0; i < count; ++i)
    for (int32_t on : dependencies[static_cast<size_t>(i)]) {
      int32_t& user = first_user[static_cast<size_t>(on)];
      user = std::min(user, i);
    }
  std::vector<bool> sequential(dependencies.size(), true);
  int32_t latest_user = -1;
  for (int32_t i = 0; i < count; ++i) {
    sequential[static_cast<size_t>(i)] = latest_user <= i;
    latest_user = std::max(latest_user, first_user[static_cast<size_t>(i)]);
  }
  int32_t earliest = INT32_MAX;
  for (int32_t i = count; i-- > 0;) {
    const auto& on = dependencies[static_cast<size_t>(i)];
    sequential[static_cast<size_t>(i)] = sequential[static_cast<size_t>(i)] && earliest >= i;
    earliest = std::min(earliest, on.empty() ? -1 : *std::max_element(on.begin(), on.end()));
  }
  return sequential;
}

// Gives the steps of one span their streams, and makes them wait.
class Spread {
 public:
  Spread(Streams& streams, const std::vector<std::vector<int32_t>>& dependencies,
         int32_t max_streams, int32_t first, int32_t last)
      : streams_(streams),
        dependencies_(dependencies),
        first_(first),
        last_step_(static_cast<size_t>(max_streams) + 1, kNone) {
    seen_.assign(last_step_.size(), std::vector<int32_t>(last_step_.size(), kNone));
    for (int32_t i = first; i <= last; ++i) place(i, last);
  }

  /// The last steps of auxiliary streams.
  std::vector<int32_t> ends() const {
    std::vector<int32_t> ends;
    for (size_t s = 1; s < last_step_.size(); ++s)
      if (last_step_[s] != kNone) ends.push_back(last_step_[s]);
    return ends;
  }

 private:
  static constexpr int32_t kNone = Streams::kBegin - 1;

  void place(int32_t i, int32_t last) {
    Streams::Step& step = streams_.steps[static_cast<size_t>(i)];
    const auto stream = static_cast<size_t>(stream_for(i));
    step.stream = static_cast<int32_t>(stream);
    step.first = first_;
    step.last = last;
    // What was before the span is over for the caller's stream, and for others once they waited.
    if (stream > 0 && last_step_[stream] == kNone) step.waits.push_back(first_ - 1);
    auto& seen = seen_[stream];
    for (int32_t on : dependencies_[static_cast<size_t>(i)]) {
      const auto other = static_cast<size_t>(streams_.steps[static_cast<size_t>(on)].stream);
      if (on < first_ || other == stream || seen[other] >= on) continue;
      step.waits.push_back(on);
      seen[other] = on;
    }
    last_step_[stream] = i;
  }

  // The stream that one of its dependencies was the last in, else the one that is idle longest.
  int32_t stream_for(int32_t i) const {
    const auto& on = dependencies_[static_cast<size_t>(i)];
    size_t best = 0;
    for (size_t s = 0; s < last_step_.size(); ++s) {
      if (std::find(on.begin(), on.end(), last_step_[s]) != on.end() && last_step_[s] >= first_)
        return static_cast<int32_t>(s);
      if (last_step_[s] < last_step_[best]) best = s;
    }
    return static_cast<int32_t>(best);
  }

  Streams& streams_;
  const std::vector<std::vector<int32_t>>& dependencies_;
  int32_t first_;
  std::vector<int32_t> last_step_;          // per stream
  std::vector<std::vector<int32_t>> seen_;  // per stream and other one: the latest it waited for
};

bool has_data_dependent_sizes(const Plan& plan) {
  return std::any_of(plan.symbols.begin(), plan.symbols.end(),
                     [](const PlanSymbol& s) { return s.is_data_dependent(); })
         || std::any_of(plan.tensors.begin(), plan.tensors.end(),
                        [](const PlanTensor& t) { return t.place == Place::kDataDependent; });
}

void mark_awaited(Streams& streams, const std::vector<int32_t>& waits) {
  for (int32_t on : waits) {
    if (on == Streams::kBegin)
      streams.begin_is_awaited = true;
    else
      streams.steps[static_cast<size_t>(on)].is_awaited = true;
  }
}

}  // namespace

Streams streams_of(const Plan& plan) {
  Streams streams;
  const auto count = static_cast<int32_t>(plan.steps.size());
  streams.steps.resize(plan.steps.size());
  for (int32_t i = 0; i < count; ++i)
    streams.steps[static_cast<size_t>(i)].first = streams.steps[static_cast<size_t>(i)].last = i;
  if (plan.aux_streams == 0 || has_data_dependent_sizes(plan)) return streams;
  const auto dependencies = dependencies_of(plan);
  const std::vector<bool> sequential = find_sequential(dependencies);
  for (int32_t first = 0; first < count; ++first) {
    if (sequential[static_cast<size_t>(first)]) continue;
    int32_t last = first;
    while (last + 1 < count && !sequential[static_cast<size_t>(last) + 1]) ++last;
    const int32_t max_streams = std::min(plan.aux_streams, last - first);
    const auto ends = Spread(streams, dependencies, max_streams, first, last).ends();
    (last + 1 < count ? streams.steps[static_cast<size_t>(last) + 1].waits : streams.waits_at_end) =
        ends;
    first = last;
  }
  for (const Streams::Step& step : streams.steps) {
    mark_awaited(streams, step.waits);
    streams.auxiliary = std::max(streams.auxiliary, step.stream);
  }
  mark_awaited(streams, streams.waits_at_end);
  return streams;
}

}  // namespace tenon
