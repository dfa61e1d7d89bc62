#include "backend/operands.h"

#include "base/error.h"

namespace tenon {
namespace {

/// Thrown where a shape rule goes on to extents: all that it says of operands is said then.
struct AsksForExtents {};

/// What is known of operands without their extents.
class OperandInference final : public Inference {
 public:
  explicit OperandInference(std::span<const TensorSpec> inputs) : inputs_(inputs) {}

  ExprPool& pool() override { throw AsksForExtents(); }
  int input_count() const override { return static_cast<int>(inputs_.size()); }
  bool has_input(int i) const override {
    return i >= 0 && i < input_count() && inputs_[static_cast<size_t>(i)].present;
  }
  DataType type(int i) const override {
    check(i);
    return inputs_[static_cast<size_t>(i)].type;
  }
  const Dims& dims(int i) const override { go_on(i); }
  const Content* content(int i) const override { go_on(i); }
  const Tensor* constant(int i) const override { go_on(i); }
  void set_output(int, DataType, Dims) override { throw AsksForExtents(); }
  void set_content(int, Content) override { throw AsksForExtents(); }
  Dim data_dependent_extent(int, int, Dim) override { throw AsksForExtents(); }
  Dim size_output(int, Dim, Dim) override { throw AsksForExtents(); }

 private:
  void check(int i) const { require(has_input(i), "input {} is missing", i); }
  [[noreturn]] void go_on(int i) const {
    check(i);
    throw AsksForExtents();
  }

  std::span<const TensorSpec> inputs_;
};

}  // namespace

void check_operands(const KernelRequest& request) {
  const Op& op = request.op;
  require(request.constants.size() == request.inputs.size(),
          "a {} layer has {} inputs, and constants are stated for {}", op.name(),
          request.inputs.size(), request.constants.size());
  require(request.outputs.size() == static_cast<size_t>(op.output_count()),
          "a {} layer has {} outputs, found {}", op.name(), op.output_count(),
          request.outputs.size());
  if (op.is_plugin()) return;
  with_context(std::string(op.name()), [&] {
    OperandInference inference(request.inputs);
    try {
      op.infer(inference);
    } catch (const AsksForExtents&) {  // the operands are right
    }
  });
}

}  // namespace tenon
