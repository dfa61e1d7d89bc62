// The structure section of a plan file, and the weights that lie beside it.
#pragma once

#include <map>
#include <memory>
#include <span>
#include <vector>

#include "plan/plan.h"

namespace tenon {

/// Sections and weights begin at multiples of this.
inline constexpr size_t kPlanAlignment = 64;
/// How deep bodies of loops and conditionals may be nested.
inline constexpr int kMaxBodyDepth = 64;

/// Weights of a plan and its bodies, each once.
class WeightSection {
 public:
  /// The offset at which the tensor will lie.
  size_t add(const Tensor& tensor);
  size_t bytes() const { return bytes_; }
  struct Placed {
    size_t offset;
    Tensor tensor;
  };
  const std::vector<Placed>& tensors() const { return tensors_; }

 private:
  std::map<std::pair<const void*, size_t>, size_t> places_;
  std::vector<Placed> tensors_;
  size_t bytes_ = 0;
};

/// The structure; weights are added to their section.
std::vector<uint8_t> write_structure(const Plan& plan, WeightSection& weights);
/// Throws when anything in it is not valid. Weights of the plan are views into `weights`, which
/// `owner` keeps alive. `structure` must be aligned to kPlanAlignment.
Plan read_structure(std::span<const std::byte> structure, std::span<const std::byte> weights,
                    const std::shared_ptr<const void>& owner);

}  // namespace tenon
