// Normalisation over the last axes, a row at a time.
#include "ops/normalization.h"

#include <bit>

#include "base/error.h"
#include "base/parallel.h"
#include "cpu/kernels.h"
#include "cpu/simd/kernels.h"
#include "cpu/strided_copy.h"

namespace tenon::cpu {
namespace {

constexpr int64_t kElementsPerTask = 16384;

// Scale or bias: an element for each of a row, the same for all rows, or one for each row.
class Parameter {
 public:
  Parameter(const TensorSpec* spec, const Shape& data, int first, float neutral)
      : neutral_(neutral) {
    if (spec == nullptr || !spec->present) return;
    const Shape& shape = spec->shape;
    require(shape.rank() == data.rank(), "a parameter of shape {} for {}", shape, data);
    is_present_ = true;
    Shape strides = shape.strides();
    for (int i = 0; i < data.rank(); ++i) {
      require(shape[i] == data[i] || shape[i] == 1, "shape {} does not broadcast to {}", shape,
              data);
      if (shape[i] == 1) strides[i] = 0;
      (i < first ? rows_ : row_).push_back(data[i]);
      (i < first ? row_strides_ : strides_).push_back(strides[i]);
    }
    by_element_ = shape.volume(first, shape.rank()) != 1;
    by_row_ = shape.volume(0, first) != 1;
    copy_ = StridedCopy(row_, strides_, sizeof(float));
  }

  bool by_element() const { return by_element_; }
  bool by_row() const { return by_row_; }

  /// The elements of a row, the same for all rows.
  void spread(const void* data, float* workspace, int64_t length) const {
    if (by_element_)
      copy_.run(data, workspace);
    else
      std::fill_n(workspace, length, of_row(data, 0));
  }
  float of_row(const void* data, int64_t row) const {
    if (!is_present_) return neutral_;
    return static_cast<const float*>(data)[Walk(rows_, row_strides_, rows_.rank(), row).offset()];
  }

 private:
  float neutral_;
  bool is_present_ = false, by_element_ = false, by_row_ = false;
  Shape rows_, row_strides_, row_, strides_;
  StridedCopy copy_;
};

class NormalizationExecution final : public Execution {
 public:
  NormalizationExecution(const Normalization& op, std::span<const TensorSpec> inputs)
      : epsilon_(op.epsilon),
        subtracts_mean_(op.subtracts_mean),
        first_(std::countr_zero(op.axes)),
        rows_(inputs[0].shape.volume(0, first_)),
        length_(inputs[0].shape.volume(first_, inputs[0].shape.rank())),
        scale_(inputs.size() > 1 ? &inputs[1] : nullptr, inputs[0].shape, first_, 1),
        bias_(inputs.size() > 2 ? &inputs[2] : nullptr, inputs[0].shape, first_, 0) {
    require(!by_element() || !(scale_.by_row() || bias_.by_row()),
            "a scale or bias by element beside one by row is not supported");
  }

  // Rows of both parameters, when one of them has an element for each of a row.
  size_t scratch_bytes() const override {
    return by_element() ? 2 * static_cast<size_t>(length_) * sizeof(float) : 0;
  }

  void run(const RunArguments& arguments) override {
    if (rows_ == 0 || length_ == 0) return;
    const auto* in = static_cast<const float*>(arguments.inputs[0]);
    auto* out = static_cast<float*>(arguments.outputs[0]);
    float* workspace = by_element() ? static_cast<float*>(arguments.scratch) : nullptr;
    if (workspace != nullptr) {
      scale_.spread(arguments.input(1), workspace, length_);
      bias_.spread(arguments.input(2), workspace + length_, length_);
    }
    const auto normalize = simd_kernels().normalize;
    parallel_for(
        rows_, std::max<int64_t>(1, kElementsPerTask / length_), [&](int64_t begin, int64_t end) {
          for (int64_t row = begin; row < end; ++row) {
            const float scale = workspace != nullptr ? 1 : scale_.of_row(arguments.input(1), row);
            const float bias = workspace != nullptr ? 0 : bias_.of_row(arguments.input(2), row);
            normalize(in + row * length_, workspace != nullptr ? workspace : &scale,
                      workspace != nullptr ? workspace + length_ : &bias,
                      workspace != nullptr ? 1 : 0, epsilon_, subtracts_mean_, out + row * length_,
                      length_);
          }
        });
  }

 private:
  bool by_element() const { return scale_.by_element() || bias_.by_element(); }

  float epsilon_;
  bool subtracts_mean_;
  int first_;
  int64_t rows_, length_;
  Parameter scale_, bias_;
};

class NormalizationKernel final : public Kernel {
 public:
  explicit NormalizationKernel(const Normalization& op) : op_(op) {}
  std::unique_ptr<Execution> prepare(std::span<const TensorSpec> inputs,
                                     std::span<const TensorSpec>) const override {
    return std::make_unique<NormalizationExecution>(op_, inputs);
  }

 private:
  Normalization op_;
};

}  // namespace

Offer offer_normalization(const KernelRequest& request) {
  if (!all_of_type(request, DataType::kFLOAT)) return "only float32 is supported";
  const auto& op = static_cast<const Normalization&>(request.op);
  if (op.groups != 1 || op.gives_statistics) return "groups and statistics are not supported";
  if (op.adds || op.copy.used) return "an addend and bytes are not supported";
  const Shape& data = request.inputs[0].shape;
  const int first = std::countr_zero(op.axes);
  if (op.axes == 0 || op.axes != (1u << data.rank()) - (1u << first))
    return "only the last axes are supported";
  // All rows share scale and bias by element, or each row has its own.
  bool by_element = false, by_row = false;
  for (size_t i = 1; i < request.inputs.size(); ++i) {
    const TensorSpec& p = request.inputs[i];
    if (!p.present) continue;
    by_row = by_row || p.shape.volume(0, first) != 1;
    by_element = by_element || p.shape.volume(first, data.rank()) != 1;
  }
  if (by_element && by_row) return "parameters by element beside others are not supported";
  return std::make_unique<NormalizationKernel>(op);
}

}  // namespace tenon::cpu
