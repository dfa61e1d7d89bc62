#include "plan/stages.h"

#include <algorithm>

#include "base/error.h"

namespace tenon {
namespace {

constexpr int32_t kNotYet = INT32_MAX;
using Place = PlanTensor::Place;

class Finder {
 public:
  explicit Finder(const Plan& plan)
      : plan_(plan), slots_(plan.shapes.instructions.size(), kNotYet) {
    out_.tensors.assign(plan.tensors.size(), kNotYet);
    out_.first_stages.assign(plan.tensors.size(), 0);
    made_.assign(plan.tensors.size(), false);
    out_.made_symbols.resize(plan.steps.size());
    read_.resize(plan.tensors.size());
    std::vector<int32_t> producer(plan.tensors.size(), -1);
    for (size_t i = 0; i < plan.steps.size(); ++i)
      for (int32_t t : plan.steps[i].outputs)
        producer[static_cast<size_t>(t)] = static_cast<int32_t>(i);
    for (size_t s = 0; s < plan.symbols.size(); ++s) {
      const PlanSymbol& symbol = plan.symbols[s];
      out_.symbols.push_back(symbol.is_data_dependent() ? kNotYet : 0);
      if (!symbol.is_data_dependent() || symbol.tensor < 0) continue;
      auto t = static_cast<size_t>(symbol.tensor);
      if (symbol.is_element) read_[t].push_back(s);
      while (producer[t] < 0
             && plan.tensors[t].place == Place::kAlias)  // a view of what a step made
        t = static_cast<size_t>(plan.tensors[t].alias_of);
      if (producer[t] >= 0)
        out_.made_symbols[static_cast<size_t>(producer[t])].push_back(static_cast<int32_t>(s));
    }
  }

  Stages run() {
    settle();
    int32_t stage = 0;
    for (size_t i = 0; i < plan_.steps.size(); ++i) {
      stage = stage_of(i, stage);
      out_.steps.push_back(stage);
      tell(i, stage);
    }
    out_.count = stage + 1;
    return std::move(out_);
  }

 private:
  // Slots and tensors whose symbols are all known by now.
  void settle() {
    slots_ = settled(out_.symbols);
    for (size_t t = 0; t < plan_.tensors.size(); ++t)
      if (out_.tensors[t] == kNotYet) out_.tensors[t] = known_from(t);
  }

  // From when on each slot is known if the symbols are known from `symbols` on.
  std::vector<int32_t> settled(const std::vector<int32_t>& symbols) const {
    std::vector<int32_t> slots = slots_;
    for (size_t i = 0; i < slots.size(); ++i) {
      if (slots[i] != kNotYet) continue;
      const auto& in = plan_.shapes.instructions[i];
      if (in.op == ExprOp::kSymbol) {
        slots[i] = symbols[static_cast<size_t>(in.payload)];
        continue;
      }
      int32_t latest = 0;
      for (int32_t operand : {in.a, in.b, in.c})
        if (operand >= 0) latest = std::max(latest, slots[static_cast<size_t>(operand)]);
      slots[i] = latest;
    }
    return slots;
  }

  // A view must fit into the memory it shares, so it is known when both sizes are.
  int32_t known_from(size_t tensor) const {
    const auto root = static_cast<size_t>(plan_.root_of(static_cast<int32_t>(tensor)));
    int32_t latest = 0;
    for (const auto* slots : {&plan_.tensors[tensor].extents, &plan_.tensors[tensor].content,
                              &plan_.tensors[root].extents})
      for (int32_t slot : *slots) latest = std::max(latest, slots_[static_cast<size_t>(slot)]);
    return latest;
  }

  // From when on all extents of a kDataDependent tensor are known but those that follow from what
  // its own step tells.
  int32_t data_dependent_from(size_t t, size_t step) const {
    std::vector<int32_t> symbols = out_.symbols;
    for (int32_t s : out_.made_symbols[step]) symbols[static_cast<size_t>(s)] = 0;
    const auto slots = settled(symbols);
    int32_t latest = 0;
    bool any = false;
    for (int32_t slot : plan_.tensors[t].extents) {
      latest = std::max(latest, slots[static_cast<size_t>(slot)]);
      any |= slots_[static_cast<size_t>(slot)] == kNotYet;
    }
    require(any, "nothing tells the size of tensor '{}'", plan_.tensors[t].name);
    return latest;
  }

  int32_t stage_of(size_t position, int32_t stage) const {
    const PlanStep& step = plan_.steps[position];
    for (int32_t t : step.inputs) {
      if (t < 0) continue;
      const auto index = static_cast<size_t>(t), root = static_cast<size_t>(plan_.root_of(t));
      const auto place = plan_.tensors[root].place;
      require(made_[root] || (place != Place::kArena && place != Place::kDataDependent),
              "layer {} reads tensor '{}' before a layer writes it", step.name,
              plan_.tensors[index].name);
      stage = std::max(stage, out_.tensors[index]);
      for (size_t symbol : read_[index]) stage = std::max(stage, out_.symbols[symbol]);
    }
    for (int32_t t : step.outputs) {
      const auto index = static_cast<size_t>(t);
      const bool data_dependent = plan_.tensors[index].place == Place::kDataDependent;
      stage = std::max(stage,
                       data_dependent ? data_dependent_from(index, position) : out_.tensors[index]);
    }
    require(stage != kNotYet, "layer {} needs a size before the layer that tells it", step.name);
    return stage;
  }

  void tell(size_t step, int32_t stage) {
    for (int32_t t : plan_.steps[step].outputs) {
      // A step that writes in place leaves the memory where the first one has put it.
      for (const auto i : {static_cast<size_t>(plan_.root_of(t)), static_cast<size_t>(t)}) {
        if (!made_[i]) out_.first_stages[i] = stage;
        made_[i] = true;
      }
    }
    for (int32_t symbol : out_.made_symbols[step])
      out_.symbols[static_cast<size_t>(symbol)] = stage + 1;
    if (!out_.made_symbols[step].empty()) settle();
  }

  const Plan& plan_;
  Stages out_;
  std::vector<int32_t> slots_;
  std::vector<bool> made_;                 // per tensor: a step so far writes it
  std::vector<std::vector<size_t>> read_;  // per tensor: symbols of its elements
};

}  // namespace

Stages stages_of(const Plan& plan) {
  return Finder(plan).run();
}

}  // namespace tenon
