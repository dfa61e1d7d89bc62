// Primitives of the form data x weights + bias, then an epilogue: what convolution, deconvolution,
// matrix multiplication and fully connected layers have in common.
#pragma once

#include "cpu/onednn/library.h"
#include "cpu/onednn/packed_weights.h"
#include "cpu/onednn/post_ops.h"

namespace tenon::cpu::onednn {

/// Memory descriptors of a primitive's arguments; `bias` is zero when there is none.
struct Operands {
  dnnl::memory::desc source, weights, bias, destination;
};

/// A kernel whose inputs are data, weights, bias (optional) and the operands of an epilogue.
class WeightedKernel : public Kernel {
 public:
  std::unique_ptr<Execution> prepare(std::span<const TensorSpec> inputs,
                                     std::span<const TensorSpec> outputs) const final;

 protected:
  explicit WeightedKernel(PointwiseProgram epilogue) : epilogue_(std::move(epilogue)) {}

  /// Chooses layouts and packs constant weights. The reason when oneDNN cannot do it.
  std::optional<std::string> choose(const KernelRequest& request);
  /// Takes layouts and weights as a plan stored them.
  std::optional<std::string> restore(const KernelRequest& request, const StoredKernel& stored);

  virtual const Op& op() const = 0;
  /// Arguments as they come from the network, for these shapes and layouts.
  virtual Operands plain(std::span<const TensorSpec> inputs,
                         std::span<const TensorSpec> outputs) const = 0;
  virtual dnnl::primitive_desc describe(const Operands& operands,
                                        std::span<const TensorSpec> inputs,
                                        std::span<const TensorSpec> outputs,
                                        const dnnl::primitive_attr& attributes) const = 0;
  /// Whether data and result may lie in any layout, or only in rows.
  virtual bool chooses_layouts() const = 0;
  /// Which input is oneDNN's source, and which its weights.
  virtual size_t source_index() const { return 0; }
  virtual size_t weights_index() const { return 1; }

 private:
  static constexpr size_t kBias = 2, kFirstOperand = 3;

  struct Made {
    dnnl::primitive_desc description;
    bool fused = false;  // the epilogue is part of it
  };
  Made make(const Operands& operands, std::span<const TensorSpec> inputs,
            std::span<const TensorSpec> outputs) const;
  /// Whether the epilogue starts with an addition of a tensor of the result's shape, read once.
  bool starts_with_sum(std::span<const TensorSpec> inputs,
                       std::span<const TensorSpec> outputs) const;
  /// Whether a result is a sum of anything. The library divides by zero where a product is not.
  bool has_terms(std::span<const TensorSpec> inputs) const;
  /// What choose() and restore() begin with: why the layer's tensors cannot be taken.
  std::optional<std::string> begin(const KernelRequest& request);
  /// Where that is better than an operand elsewhere, while a plan is built.
  bool may_add_in_place(const KernelRequest& request) const;
  bool stored_adds_in_place(const KernelRequest& request, const StoredKernel& stored) const;
  /// Weights as the network has them and as the primitive wants them; in between, whether the
  /// epilogue is part of it.
  struct WeightForms {
    dnnl::memory::desc plain, wanted;
    bool fused = true;
  };
  WeightForms weight_forms(const KernelRequest& request) const;
  /// What they end with. Throws what cannot work.
  void requantize(const KernelRequest& request);
  /// Throws when only the library's reference implementation takes the request: it is slower by
  /// far than any loop of ours.
  void choose_layouts(const KernelRequest& request);
  /// Whether there is more than that for the layouts at hand.
  bool has_code(const KernelRequest& request) const;
  void set_layouts(const KernelRequest& request, Layout data, Layout result);
  std::vector<TensorSpec> with_layouts(std::span<const TensorSpec> specs,
                                       std::span<const Layout> layouts) const;
  void add_main(PrimitiveExecution& execution, const Made& made, const Operands& operands,
                const Source& weights, const Source& result, std::span<const TensorSpec> inputs,
                std::span<const TensorSpec> outputs) const;
  std::vector<TensorSpec> fitted_operands(const Operands& operands,
                                          std::span<const TensorSpec> inputs,
                                          std::span<const TensorSpec> outputs) const;

  PointwiseProgram epilogue_;
  std::optional<std::vector<PostOp>> post_ops_;
  std::optional<PackedWeights> weights_;
  /// The epilogue starts with an addition whose operand the result overwrites: measured 2 % faster
  /// over ResNet-50 than an operand elsewhere.
  bool adds_in_place_ = false;
};

}  // namespace tenon::cpu::onednn
