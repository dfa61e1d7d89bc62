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
    out_.makers.assign(plan.tensors.size(), 0);
    made_.assign(plan.tensors.size(), false);
    out_.told.resize(plan.steps.size());
    read_.resize(plan.tensors.size());
    std::vector<int32_t> maker(plan.tensors.size(), -1);
    for (size_t i = 0; i < plan.steps.size(); ++i)
      for (int32_t t : plan.steps[i].outputs)
        maker[static_cast<size_t>(t)] = static_cast<int32_t>(i);
    for (size_t s = 0; s < plan.symbols.size(); ++s) {
      const PlanSymbol& symbol = plan.symbols[s];
      out_.symbols.push_back(symbol.is_late() ? kNotYet : 0);
      if (!symbol.is_late() || symbol.tensor < 0) continue;
      auto t = static_cast<size_t>(symbol.tensor);
      if (symbol.is_element) read_[t].push_back(s);
      while (maker[t] < 0 && plan.tensors[t].place == Place::kAlias)  // a view of what a step made
        t = static_cast<size_t>(plan.tensors[t].alias_of);
      if (maker[t] >= 0)
        out_.told[static_cast<size_t>(maker[t])].push_back(static_cast<int32_t>(s));
    }
  }

  Stages run() {
    settle();
    int32_t stage = 0;
    for (size_t i = 0; i < plan_.steps.size(); ++i) {
      stage = stage_of(plan_.steps[i], stage);
      out_.steps.push_back(stage);
      tell(i, stage);
    }
    out_.count = stage + 1;
    return std::move(out_);
  }

 private:
  // Slots and tensors whose symbols are all known by now.
  void settle() {
    for (size_t i = 0; i < slots_.size(); ++i) {
      if (slots_[i] != kNotYet) continue;
      const auto& in = plan_.shapes.instructions[i];
      if (in.op == ExprOp::kSymbol) {
        slots_[i] = out_.symbols[static_cast<size_t>(in.payload)];
        continue;
      }
      int32_t latest = 0;
      for (int32_t operand : {in.a, in.b, in.c})
        if (operand >= 0) latest = std::max(latest, slots_[static_cast<size_t>(operand)]);
      slots_[i] = latest;
    }
    for (size_t t = 0; t < plan_.tensors.size(); ++t)
      if (out_.tensors[t] == kNotYet) out_.tensors[t] = known_from(t);
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

  // Whether the step that makes tensor t tells its extent at this axis.
  bool tells(size_t t, size_t axis) const {
    const auto& in = plan_.shapes.instructions[static_cast<size_t>(plan_.tensors[t].extents[axis])];
    if (in.op != ExprOp::kSymbol) return false;
    const PlanSymbol& s = plan_.symbols[static_cast<size_t>(in.payload)];
    return s.is_late() && !s.is_element && s.tensor == static_cast<int32_t>(t)
           && s.index == static_cast<int32_t>(axis);
  }

  // From when on all extents of a kLate tensor are known but those that its own step tells.
  int32_t late_from(size_t t) const {
    int32_t latest = 0;
    bool any = false;
    for (size_t axis = 0; axis < plan_.tensors[t].extents.size(); ++axis) {
      const auto slot = static_cast<size_t>(plan_.tensors[t].extents[axis]);
      if (tells(t, axis))
        any = true;
      else
        latest = std::max(latest, slots_[slot]);
    }
    require(any, "nothing tells the size of tensor '{}'", plan_.tensors[t].name);
    return latest;
  }

  int32_t stage_of(const PlanStep& step, int32_t stage) const {
    for (int32_t t : step.inputs) {
      if (t < 0) continue;
      const auto index = static_cast<size_t>(t), root = static_cast<size_t>(plan_.root_of(t));
      require(made_[root] || plan_.tensors[root].place != Place::kArena,
              "layer {} reads tensor '{}' before a layer writes it", step.name,
              plan_.tensors[index].name);
      stage = std::max(stage, out_.tensors[index]);
      for (size_t symbol : read_[index]) stage = std::max(stage, out_.symbols[symbol]);
    }
    for (int32_t t : step.outputs) {
      const auto index = static_cast<size_t>(t);
      const bool late = plan_.tensors[index].place == Place::kLate;
      stage = std::max(stage, late ? late_from(index) : out_.tensors[index]);
    }
    require(stage != kNotYet, "layer {} needs a size before the layer that tells it", step.name);
    return stage;
  }

  void tell(size_t step, int32_t stage) {
    for (int32_t t : plan_.steps[step].outputs) {
      // A step that writes in place leaves the memory where the first one has put it.
      for (const auto i : {static_cast<size_t>(plan_.root_of(t)), static_cast<size_t>(t)}) {
        if (!made_[i]) out_.makers[i] = stage;
        made_[i] = true;
      }
    }
    for (int32_t symbol : out_.told[step]) out_.symbols[static_cast<size_t>(symbol)] = stage + 1;
    if (!out_.told[step].empty()) settle();
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
