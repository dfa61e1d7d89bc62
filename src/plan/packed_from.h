// What a kernel's packed constants were made of: a plan that is built again takes those of before
// where that is the same.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "backend/target.h"

namespace tenon {

/// The request of the layer, and the layouts of the answer. Constants are known by their memory,
/// which nobody else can have while it is in use; they are not kept for this.
class PackedFrom {
 public:
  PackedFrom(const KernelRequest& request, const Kernel& answer);

  /// Whether a layer of the same attributes asks for the same, with the same constants.
  bool is(const KernelRequest& request) const;
  const std::vector<Layout>& input_layouts() const { return input_layouts_; }
  const std::vector<Layout>& output_layouts() const { return output_layouts_; }

 private:
  struct Constant {
    std::weak_ptr<const void> memory;
    const void* data;
    DataType type;
    Shape shape;

    bool is(const Tensor& tensor) const {
      return !memory.expired() && data == tensor.data() && type == tensor.type()
             && shape == tensor.shape();
    }
  };

  std::vector<TensorSpec> inputs_, outputs_;
  std::vector<std::optional<Constant>> constants_;
  bool tf32_, cold_weights_, bf16_;
  std::vector<Layout> input_layouts_, output_layouts_;
};

}  // namespace tenon
