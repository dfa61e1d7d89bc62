// Element-wise programs on bytes: of one tensor by a table of what each byte becomes, of several by
// the loops of floats, in rows that stay in the L1 cache.
#include "ops/byte_pointwise.h"

#include <algorithm>
#include <numeric>

#include "base/error.h"
#include "base/parallel.h"
#include "cpu/broadcast_rows.h"
#include "cpu/kernels.h"
#include "cpu/pointwise.h"
#include "cpu/simd/kernels.h"

namespace tenon::cpu {
namespace {

constexpr size_t kMaxInputs = 8;
constexpr size_t kMaxRows = 64;  // inputs and constants
constexpr int kBytes = 256;

class TableExecution final : public Execution {
 public:
  TableExecution(const BytePointwise& op, const TensorSpec& input, const TensorSpec& output)
      : count_(output.shape.volume()), makes_bytes_(op.bytes.used) {
    uint8_t all[kBytes];
    std::iota(all, all + kBytes, uint8_t{0});
    const Shape shape{kBytes};
    const TensorView in{all, input.type, shape};
    void* const table = makes_bytes_ ? static_cast<void*>(bytes_) : static_cast<void*>(numbers_);
    const TensorView out{table, output.type, shape};
    op.reference({{&in, 1}, {&out, 1}});
  }

  void run(const RunArguments& arguments) override {
    constexpr int64_t kGrain = 1 << 15;
    const auto* in = static_cast<const uint8_t*>(arguments.inputs[0]);
    parallel_for(count_, kGrain, [&](int64_t begin, int64_t end) {
      if (makes_bytes_) {
        auto* out = static_cast<uint8_t*>(arguments.outputs[0]);
        simd_kernels().look_up_bytes(bytes_, in + begin, out + begin, end - begin);
      } else {
        auto* out = static_cast<float*>(arguments.outputs[0]);
        for (int64_t i = begin; i < end; ++i) out[i] = numbers_[in[i]];
      }
    });
  }

 private:
  int64_t count_;
  bool makes_bytes_;
  uint8_t bytes_[kBytes];
  float numbers_[kBytes];
};

class RowsExecution final : public Execution {
  using Rows = BroadcastRows<kMaxInputs>;

 public:
  RowsExecution(const BytePointwise& op, std::span<const TensorSpec> inputs, const Shape& shape)
      : bytes_(op.bytes) {
    std::array<Shape, kMaxInputs> shapes;
    shapes.fill(Shape::filled(shape.rank(), 1));
    for (size_t i = 0; i < inputs.size(); ++i) {
      shapes[i] = inputs[i].shape;
      types_.push_back(inputs[i].type);
    }
    rows_ = Rows(shape, shapes);
    // Constants are rows as inputs are: the loop would fill some for each row.
    PointwiseProgram program = op.program;
    for (const float number : program.constants) constants_.push_back(row_of(number));
    program.inputs += static_cast<int32_t>(program.constants.size());
    program.constants.clear();
    const TensorSpec row{.shape = Shape{Rows::kMax}};
    loop_ = prepare_pointwise(program, std::vector(static_cast<size_t>(program.inputs), row), row);
    scales_ = row_of(op.bytes.scale);
    if (!bytes_.used) return;
    const IntegerRange range = bytes_.bounds.of(bytes_.to);
    low_ = static_cast<float>(range.lowest - bytes_.zero);
    high_ = static_cast<float>(range.highest - bytes_.zero);
  }

  void run(const RunArguments& arguments) override {
    rows_.run([&](const BroadcastRow<kMaxInputs>& row) {
      alignas(64) float workspaces[kMaxInputs][Rows::kMax];
      const void* numbers[kMaxRows];
      const size_t count = types_.size();
      for (size_t i = 0; i < count; ++i)
        numbers[i] = read(arguments.inputs[i], types_[i], row.offset[i], row.step[i], row.length,
                          workspaces[i]);
      for (size_t i = 0; i < constants_.size(); ++i) numbers[count + i] = constants_[i].data();
      const std::span<const void* const> inputs(numbers, count + constants_.size());
      if (!bytes_.used)
        return loop_->run_range(inputs, static_cast<float*>(arguments.outputs[0]) + row.begin, 0,
                                row.length);
      alignas(64) float result[Rows::kMax];
      loop_->run_range(inputs, result, 0, row.length);
      const SimdKernels& simd = simd_kernels();
      const auto divide = simd.element_wise[static_cast<int>(nvinfer1::ElementWiseOperation::kDIV)];
      divide(result, scales_.data(), result, row.length, 0, 0);
      simd.round_to_bytes(result, low_, high_, bytes_.zero,
                          static_cast<uint8_t*>(arguments.outputs[0]) + row.begin, row.length);
    });
  }

 private:
  static std::vector<float> row_of(float number) { return std::vector(Rows::kMax, number); }

  // The numbers of a row, side by side.
  static const float* read(const void* data, DataType type, int64_t offset, int64_t step,
                           int64_t length, float* workspace) {
    if (type == DataType::kFLOAT)
      return adjacent(static_cast<const float*>(data), offset, step, length, workspace);
    uint8_t gathered[Rows::kMax];
    const bool is_one = step == 0;
    const uint8_t* bytes = adjacent(static_cast<const uint8_t*>(data), offset, is_one ? 1 : step,
                                    is_one ? 1 : length, gathered);
    const SimdKernels& simd = simd_kernels();
    const auto widen =
        type == DataType::kINT8 ? simd.signed_bytes_to_float : simd.unsigned_bytes_to_float;
    widen(bytes, workspace, is_one ? 1 : length);
    if (is_one) std::fill_n(workspace + 1, length - 1, workspace[0]);
    return workspace;
  }

  QuantizedBytes bytes_;
  float low_ = 0, high_ = 0;
  std::vector<DataType> types_;
  std::vector<std::vector<float>> constants_;
  std::vector<float> scales_;
  Rows rows_;
  std::unique_ptr<PointwiseLoop> loop_;
};

class BytePointwiseKernel final : public Kernel {
 public:
  explicit BytePointwiseKernel(const BytePointwise& op) : op_(op) {}

  std::unique_ptr<Execution> prepare(std::span<const TensorSpec> inputs,
                                     std::span<const TensorSpec> outputs) const override {
    if (inputs.size() == 1 && inputs[0].type != DataType::kFLOAT)
      return std::make_unique<TableExecution>(op_, inputs[0], outputs[0]);
    if (outputs[0].layout == Layout::kLinear)
      return std::make_unique<RowsExecution>(op_, inputs, outputs[0].shape);
    // Of equal shapes, and elements that lie alike.
    std::vector<TensorSpec> flat(inputs.begin(), inputs.end());
    for (TensorSpec& s : flat) s.shape = Shape{s.shape.volume()};
    return std::make_unique<RowsExecution>(op_, flat, flat[0].shape);
  }

 private:
  BytePointwise op_;
};

}  // namespace

Offer offer_byte_pointwise(const KernelRequest& request) {
  const auto& op = dynamic_cast<const BytePointwise&>(request.op);
  const TensorSpec& out = request.outputs[0];
  if (request.inputs.size() > kMaxInputs
      || request.inputs.size() + op.program.constants.size() > kMaxRows)
    return "so many inputs are not supported";
  for (const TensorSpec& in : request.inputs)
    if (in.shape.rank() != out.shape.rank()) return "inputs of unlike rank are not supported";
  // Padding, which blocked layouts have, would not stay 0.
  const bool is_linear = request.inputs[0].layout == Layout::kLinear
                         || std::ranges::any_of(request.inputs, [&](const TensorSpec& in) {
                              return in.shape != out.shape;
                            });
  auto kernel = std::make_unique<BytePointwiseKernel>(op);
  kernel->input_layouts.assign(request.inputs.size(),
                               is_linear ? Layout::kLinear : Layout::kChannelsLast);
  kernel->output_layouts = {is_linear ? Layout::kLinear : Layout::kChannelsLast};
  try {
    prepare_for(request, *kernel);  // what does not fit is refused
  } catch (const Error& e) {
    return e.what();
  }
  return kernel;
}

}  // namespace tenon::cpu
