// Products of rows with constant matrices in bfloat16: rows are rounded and packed once for all
// tasks.
#include <algorithm>

#include "base/error.h"
#include "base/parallel.h"
#include "cpu/bfloat_weights.h"
#include "cpu/convolution/direct_panels.h"
#include "cpu/row_product.h"

namespace tenon::cpu {
namespace {

using nvinfer1::MatrixOperation;

/// Rows that are multiplied together.
constexpr int64_t kBlockRows = 2 * kBfloatTile;

class BfloatMatrixMultiply final : public BlockExecution {
 public:
  BfloatMatrixMultiply(const MatrixMultiply& op, const BfloatWeights& weights,
                       std::span<const TensorSpec> inputs, const TensorSpec& output)
      : BlockExecution({}, {}, output),
        kernels_(*bfloat_kernels()),
        weights_(weights),
        product_(row_product_of(op, inputs, output.shape)),
        epilogue_(op.epilogue, inputs, output, LoopDoes::kSumAndBounds),
        offsets_(packed_offsets(product_.depth)) {
    const auto [rows, depth, columns] = product_;
    require(weights_.fit(columns, depth), "the packed weights do not fit {} terms and {} columns",
            depth, columns);
    // In floats, two elements each. A task may have more of them near than one of floats.
    const int64_t floats = kBlockRows * units(depth, kBfloatStep) * kBfloatStep / 2;
    tasks_ = Partition(direct_work(1, units(rows, kBlockRows), kBlockRows, floats,
                                   units(columns, kBfloatTile), units(depth, 2)));
    set_tasks(tasks_.count(),
              static_cast<double>(rows) * static_cast<double>(weights_.weights.count()), 0,
              units(bfloat_elements(rows, depth), 2));
  }

 protected:
  void begin(const RunArguments& arguments, float* shared) override {
    result_ = static_cast<float*>(arguments.outputs[0]);
    packed_ = reinterpret_cast<uint16_t*>(shared);
    epilogue_.begin(arguments);
    const auto* const data = static_cast<const float*>(arguments.inputs[0]);
    const auto [rows, depth, columns] = product_;
    constexpr int64_t kGrainFloats = 1 << 15;
    const int64_t tiles = units(rows, kBfloatTile);
    parallel_for(tiles, units(kGrainFloats, kBfloatTile * depth), [&](int64_t begin, int64_t end) {
      const int64_t first = begin * kBfloatTile;
      kernels_.pack_rows({data + first * depth, depth, kBfloatTile,
                          std::min(end * kBfloatTile, rows) - first, depth},
                         1, packed_ + bfloat_elements(first, depth));
    });
  }

  // Some columns of some rows.
  void run_task(int64_t task, float*) const override {
    const auto t = tasks_[task];
    const int64_t depth = product_.depth, columns = product_.columns;
    const int64_t row = t.first_block * kBlockRows, column = t.first_column * kBfloatTile;
    const int64_t end_row = std::min(t.end_block * kBlockRows, product_.rows);
    const int64_t end_column = std::min(t.end_column * kBfloatTile, columns);
    const int64_t at = row * columns + column;
    const auto columns_at = [&](int64_t first) {
      return weights_.columns() + bfloat_elements(first, depth);
    };
    const int64_t next = tasks_.after(task).first_column * kBfloatTile;
    kernels_.product(
        {packed_ + bfloat_elements(row, depth), end_row - row, bfloat_steps(depth), offsets_.data(),
         bfloat_elements(kBfloatTile, depth)},
        {columns_at(column), end_column - column, next == column ? nullptr : columns_at(next)},
        {result_ + at, columns, kBfloatTile, weights_.bias.data<float>() + column,
         epilogue_.addend() != nullptr ? epilogue_.addend() + at : nullptr, epilogue_.lower(),
         epilogue_.upper()});
    if (!epilogue_.has_rest()) return;
    for (int64_t r = row; r < end_row; ++r)
      epilogue_.run(0, r * columns + column, end_column - column);
  }

 private:
  const BfloatKernels& kernels_;
  BfloatWeights weights_;
  RowProduct product_;
  BlockedEpilogue epilogue_;
  std::vector<int64_t> offsets_;
  Partition tasks_;
  uint16_t* packed_ = nullptr;
  float* result_ = nullptr;
};

std::unique_ptr<Kernel> make(const MatrixMultiply& op, const BfloatWeights& weights,
                             const KernelRequest& request) {
  auto kernel = std::make_unique<BfloatKernel<MatrixMultiply, BfloatMatrixMultiply>>(op, weights);
  pack_matrix_and_bias(*kernel, request);
  return kernel;
}

}  // namespace

Offer offer_bfloat_matrix_multiply(const KernelRequest& request) {
  const auto& op = static_cast<const MatrixMultiply&>(request.op);
  if (const auto reason = refusal_of_bfloat(request); !reason.empty()) return reason;
  if (const auto reason = refusal_of_row_product(op, request); !reason.empty()) return reason;
  RowProduct product;
  try {
    product = row_product_of(op, request.inputs, request.outputs[0].shape);
  } catch (const Error& e) {
    return e.what();
  }
  const auto [rows, depth, columns] = product;
  if (const auto reason = refusal_of_constants(request, Shape({depth, columns}).volume(), columns);
      !reason.empty())
    return reason;
  return make(op,
              bfloat_weights(request.constants[1]->data<float>(),
                             op.operation_b == MatrixOperation::kTRANSPOSE, columns, depth,
                             constant_bias(request)),
              request);
}

Offer load_bfloat_matrix_multiply(const KernelRequest& request, const StoredKernel& stored) {
  const auto& op = static_cast<const MatrixMultiply&>(request.op);
  if (const auto reason = refusal_of_row_product(op, request); !reason.empty()) return reason;
  return make(op, stored_bfloat_weights(stored), request);
}

}  // namespace tenon::cpu
