// The kernels of a plan's layers, for a plan that is to have the same.
#pragma once

#include <deque>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "plan/plan.h"

namespace tenon {

/// Each layer is taken once.
class PlanKernels {
 public:
  struct Entry {
    const Plan* plan;      // or the body
    const PlanStep* step;  // of it
  };

  /// Also those of bodies. The plan must outlive it.
  explicit PlanKernels(const Plan& plan);

  /// The step of the layer, by its name and operator; nothing when the plan has no such layer left.
  /// Layers of one name and operator are taken in the plan's order.
  std::optional<Entry> take(const std::string& layer, std::string_view op);

 private:
  void add(const Plan& plan);

  std::map<std::pair<std::string, std::string>, std::deque<Entry>> entries_;
};

}  // namespace tenon
