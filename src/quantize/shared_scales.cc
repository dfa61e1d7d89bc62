#include "quantize/shared_scales.h"

#include <algorithm>
#include <unordered_map>

#include "ops/support/data_movement.h"

namespace tenon {
namespace {

// Sets of values, each with one that stands for it.
class Groups {
 public:
  const Value* of(const Value* value) {
    const Value*& parent = parents_.try_emplace(value, value).first->second;
    if (parent == value) return value;
    return parent = of(parent);
  }
  void join(const Value* a, const Value* b) { parents_[of(a)] = of(b); }

 private:
  std::unordered_map<const Value*, const Value*> parents_;
};

}  // namespace

void share_scales(const Network& network, std::map<std::string, float>& scales) {
  Groups groups;
  for (const auto& node : network.nodes())
    for (size_t i = 0; i < moved_inputs(*node); ++i)
      if (!node->inputs[i]->constant) groups.join(node->inputs[i], node->outputs[0]);

  std::unordered_map<const Value*, float> largest;
  const auto for_each_scale = [&](auto&& call) {
    for (const auto& value : network.values())
      if (const auto scale = scales.find(value->name); scale != scales.end())
        call(largest[groups.of(value.get())], scale->second);
  };
  for_each_scale([](float& of_group, float scale) { of_group = std::max(of_group, scale); });
  for_each_scale([](float of_group, float& scale) { scale = of_group; });
}

}  // namespace tenon
