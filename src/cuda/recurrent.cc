// LSTM, GRU and RNN: one product for the inputs of all steps, then a kernel for each step.
#include "cuda/recurrent.h"

#include <optional>

#include "base/cuda_stream.h"
#include "base/error.h"
#include "cuda/check.h"
#include "cuda/cublas/library.h"
#include "cuda/cublas/product.h"
#include "cuda/kernels.h"
#include "ops/recurrent.h"

namespace tenon::cuda {
namespace {

bool is_given(std::span<const TensorSpec> inputs, size_t i) {
  return i < inputs.size() && inputs[i].present;
}

// x W^T for all steps, sequences and directions.
ProductForm input_product(const RecurrentSizes& sizes, DataType type, bool tf32) {
  ProductForm form;
  form.type = type;
  form.result_type = DataType::kFLOAT;
  form.rows = sizes.steps * sizes.batch;
  form.columns = form.result_row_step = sizes.gates * sizes.units;
  form.depth = sizes.inputs;
  form.batch = sizes.directions;
  form.a.row_step = form.b.row_step = sizes.inputs;
  form.b.batch_step = form.columns * form.depth;
  form.b.transposed = true;
  form.result_batch_step = form.rows * form.columns;
  form.tf32 = tf32;
  return form;
}

RecurrentTask task_of(const Recurrent& op, const RecurrentSizes& sizes,
                      std::span<const TensorSpec> inputs) {
  RecurrentTask t;
  t.cell = static_cast<RecurrentCell>(op.kind_of_cell);
  t.type = inputs[0].type;
  t.directions = sizes.directions;
  t.gates = static_cast<int>(sizes.gates);
  t.steps = sizes.steps;
  t.batch = sizes.batch;
  t.units = sizes.units;
  for (int d = 0; d < sizes.directions; ++d) t.reverse[d] = op.is_reverse(d);
  t.batch_first = op.batch_first;
  t.linear_before_reset = op.linear_before_reset;
  t.input_forget = op.input_forget;
  t.clip = op.clip;
  const int per_direction = op.activations_per_direction();
  for (int i = 0; i < per_direction * sizes.directions; ++i) {
    const auto k = static_cast<size_t>(i);
    t.activations[i / per_direction][i % per_direction] = {op.activations[k], op.alpha[k],
                                                           op.beta[k]};
  }
  if (is_given(inputs, Recurrent::kLengths)) {
    t.length_type = inputs[Recurrent::kLengths].type;
    require(inputs[Recurrent::kLengths].shape.volume() == sizes.batch,
            "lengths of shape {} for {} sequences", inputs[Recurrent::kLengths].shape, sizes.batch);
  }
  return t;
}

class RecurrentExecution final : public Execution {
 public:
  RecurrentExecution(const Recurrent& op, std::span<const TensorSpec> inputs, bool tf32)
      : sizes_(op, inputs[0].shape, inputs[1].shape, inputs[2].shape),
        task_(task_of(op, sizes_, inputs)),
        sums_(sizes_.directions * sizes_.steps * sizes_.batch * sizes_.gates * sizes_.units),
        states_(sizes_.directions * sizes_.batch * sizes_.units) {
    constexpr int64_t kMaxBlocks = 65535, kSequences = 4;
    require(sizes_.batch <= kMaxBlocks * kSequences, "{} sequences are too many", sizes_.batch);
    if (sums_ == 0 || sizes_.inputs == 0) return;
    product_.emplace(input_product(sizes_, inputs[0].type, tf32));
    const auto found = product_->suggestions(1);
    require(!found.empty(), "cuBLASLt has no algorithm for the product of the inputs");
    algorithm_ = found[0];
  }

  // The product's workspace, the gates' sums, and five states.
  size_t scratch_bytes() const override {
    return workspace() + static_cast<size_t>(sums_ + kStates * states_) * sizeof(float);
  }

  void run(const RunArguments& arguments) override {
    RecurrentTask t = task_;
    auto* sums = reinterpret_cast<float*>(static_cast<std::byte*>(arguments.scratch) + workspace());
    float* states = sums + sums_;
    t.gate_sums = sums;
    for (int64_t i = 0; float** state : {&t.h[0], &t.h[1], &t.c, &t.reset, &t.update})
      *state = states + i++ * states_;
    t.weights = arguments.input(Recurrent::kR);
    t.bias = arguments.input(Recurrent::kB);
    t.peepholes = arguments.input(Recurrent::kPeepholes);
    t.first_h = arguments.input(Recurrent::kFirstH);
    t.first_c = arguments.input(Recurrent::kFirstC);
    t.lengths = arguments.input(Recurrent::kLengths);
    t.y = arguments.outputs[0];
    t.last_h = arguments.outputs[1];
    t.last_c = arguments.outputs.size() > 2 ? arguments.outputs[2] : nullptr;
    if (product_)
      product_->run(algorithm_,
                    {arguments.input(Recurrent::kX), arguments.input(Recurrent::kW), nullptr,
                     nullptr, sums, arguments.scratch},
                    to_cuda(arguments.stream));
    else if (sums_ > 0)
      check(cudaMemsetAsync(sums, 0, static_cast<size_t>(sums_) * sizeof(float),
                            to_cuda(arguments.stream)),
            "clearing sums");
    launch_recurrent_start(t, to_cuda(arguments.stream));
    for (int64_t i = 0; i < sizes_.steps; ++i)
      launch_recurrent_step(t, i, to_cuda(arguments.stream));
    launch_recurrent_end(t, to_cuda(arguments.stream));
    check_launch("a recurrent layer");
  }

 private:
  static constexpr int64_t kStates = 5;
  size_t workspace() const {
    constexpr size_t kAlignment = 256;
    return (algorithm_.workspace + kAlignment - 1) / kAlignment * kAlignment;
  }

  RecurrentSizes sizes_;
  RecurrentTask task_;
  int64_t sums_, states_;  // elements
  std::optional<Product> product_;
  ProductAlgorithm algorithm_;
};

class RecurrentKernel final : public Kernel {
 public:
  RecurrentKernel(const Recurrent& op, bool tf32) : op_(op), tf32_(tf32) {}
  std::unique_ptr<Execution> prepare(std::span<const TensorSpec> inputs,
                                     std::span<const TensorSpec>) const override {
    return std::make_unique<RecurrentExecution>(op_, inputs, tf32_);
  }

 private:
  Recurrent op_;
  bool tf32_;
};

}  // namespace

Offer offer_recurrent(const KernelRequest& request) {
  const DataType type = request.inputs[0].type;
  if (type != DataType::kFLOAT && type != DataType::kHALF && type != DataType::kBF16)
    return "only float32, float16 and bfloat16 are supported";
  if (!reason_for_no_cublas().empty()) return reason_for_no_cublas();
  return std::make_unique<RecurrentKernel>(static_cast<const Recurrent&>(request.op), request.tf32);
}

}  // namespace tenon::cuda
