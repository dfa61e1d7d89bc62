// Convolution by Winograd's minimal filtering: tiles of the data and the weights are transformed,
// multiplied element by element, and the sums over channels are transformed back. Tiles of 6x6 need
// a quarter of the multiplications for windows of 3x3. Larger windows, and those with a stride, are
// sums of such ones. Only a block of tiles is transformed at a time, so that it stays in the
// L2 cache.
#include <algorithm>

#include "base/error.h"
#include "cpu/convolution/block_convolution.h"
#include "cpu/convolution/winograd_execution.h"
#include "cpu/convolution/winograd_split.h"
#include "cpu/convolution/winograd_weights.h"
#include "cpu/kernels.h"

namespace tenon::cpu {
namespace {

constexpr size_t kBias = 2;
/// Channels or output channels, beyond which weights could not be counted.
constexpr int64_t kMaxChannels = 1 << 24;
constexpr int64_t kMaxExtent = 16, kMaxStride = 2;
/// Multiplications for one of a direct convolution, beyond which transforms do not pay.
constexpr double kMaxWork = 0.7;
/// Elements of a tile along an axis, up to which the error is that of a direct convolution. That of
/// larger ones is five times as large, which only TF32 allows, whose own is far larger.
constexpr int kMaxExactSize = 6;

using Tile = WinogradKernels::Tile;

const WinogradKernels& loops() {
  return simd_kernels().winograd;
}

/// What a plan stores beside the weights.
struct Stored {
  int64_t tile = 0, window = 0, lanes = 0;

  void visit(FieldVisitor& v) {
    v("tile", tile);
    v("window", window);
    v("lanes", lanes);
  }
};

class WinogradKernel final : public Kernel {
 public:
  WinogradKernel(const Convolution& op, std::shared_ptr<const WinogradWeights> weights)
      : op_(op), weights_(std::move(weights)) {
    const WinogradForm& form = weights_->form();
    variant = fmt::format("{0}x{0}", form.size);
    if (form.window != 3) variant += fmt::format(" for {0}x{0}", form.window);
    state = fields_of(Stored{form.size, form.window, form.lanes});
  }

  std::unique_ptr<Execution> prepare(std::span<const TensorSpec> inputs,
                                     std::span<const TensorSpec> outputs) const override {
    return prepare_winograd(op_, weights_, inputs, outputs[0]);
  }
  StoredKernel store() const override { return {state, {weights_->packed(), weights_->bias()}}; }
  size_t packed_bytes() const override {
    return static_cast<size_t>(form().floats()) * sizeof(float) + weights_->bias().bytes();
  }
  std::vector<std::unique_ptr<Kernel>> variants() const override {
    std::vector<std::unique_ptr<Kernel>> list;
    for (auto& weights : others) {
      auto kernel = std::make_unique<WinogradKernel>(op_, weights);
      kernel->name = name;
      kernel->input_layouts = input_layouts;
      kernel->output_layouts = output_layouts;
      kernel->input_is_packed = input_is_packed;
      list.push_back(std::move(kernel));
    }
    return list;
  }

  const WinogradForm& form() const { return weights_->form(); }

  /// For tiles of other sizes, while building.
  std::vector<std::shared_ptr<const WinogradWeights>> others;

 private:
  Convolution op_;
  std::shared_ptr<const WinogradWeights> weights_;
};

std::unique_ptr<WinogradKernel> load(const Convolution& op, int64_t channels,
                                     const StoredKernel& stored) {
  Stored state;
  set_fields(state, stored.state);
  const auto [size, window, lanes] = state;
  const Tile* const tile =
      std::find_if(std::begin(loops().tiles), std::end(loops().tiles),
                   [&](const Tile& t) { return t.size == size && t.window == window; });
  require(tile != std::end(loops().tiles) && (lanes == 8 || lanes == 16),
          "stored tiles of {} elements for windows of {} and vectors of {}: expected 4, 6 or 8 "
          "elements, windows of 3 or 5, and vectors of 8 or 16",
          size, window, lanes);
  require(channels <= kMaxChannels && op.output_channels <= kMaxChannels,
          "{} channels and {} output channels are too many", channels, op.output_channels);
  const WinogradForm form(op, channels, *tile, static_cast<int>(lanes));
  const WinogradForm here(op, channels, *tile, loops().lanes);
  require(stored.packed.size() == 2 && stored.packed[0].type() == DataType::kFLOAT
              && stored.packed[1].type() == DataType::kFLOAT
              && stored.packed[0].count() == form.floats()
              && stored.packed[1].count() == form.padded(form.output_channels),
          "the stored weights do not fit {} channels and {} output channels", channels,
          form.output_channels);
  const auto& packed = stored.packed;
  return std::make_unique<WinogradKernel>(
      op, lanes == here.lanes ? WinogradWeights::of_packed(here, packed[0], packed[1])
                              : WinogradWeights::of_packed(here, rearranged(packed[0], form, here),
                                                           winograd_bias(packed[1], here)));
}

/// What seems slower by no more than that is tried: only timing tells.
constexpr double kClose = 1.25;

// Whether it is worth a try: small images have more weights to read than they are multiplied with.
bool may_be_faster(const WinogradForm& form, const Shape& result) {
  if (form.work() > kMaxWork) return false;
  const auto tiles = [&](int64_t extent) { return units(extent, form.results()); };
  Machine machine = this_machine();
  machine.threads = 1;
  const WinogradSplit split =
      split_winograd(form, result[0] * tiles(result[2]) * tiles(result[3]), machine);
  const auto products = static_cast<double>(result.volume() * form.channels * form.kernel.volume());
  return split.time <= kClose * products;
}

// One for each size of tiles, that of the fewest multiplications last.
Offer offer_plain(const Convolution& op, const KernelRequest& request, const Tensor& weights,
                  const Tensor& bias) {
  std::vector<std::shared_ptr<const WinogradWeights>> list;
  double min_work = 1;
  for (const Tile& tile : loops().tiles) {
    if (tile.size > kMaxExactSize && !request.tf32) continue;
    const WinogradForm form(op, request.inputs[0].shape[1], tile, loops().lanes);
    if (form.work() >= min_work || !may_be_faster(form, request.outputs[0].shape)) continue;
    min_work = form.work();
    list.push_back(WinogradWeights::of_plain(form, weights, bias));
  }
  if (list.empty()) return "it would be no faster than a direct convolution";
  auto kernel = std::make_unique<WinogradKernel>(op, list.back());
  list.pop_back();
  kernel->others = std::move(list);
  return kernel;
}

std::string refusal(const Convolution& op, const KernelRequest& request) {
  if (!all_of_type(request, DataType::kFLOAT)) return "only float32 is supported";
  const auto within = [](const Shape& shape, int64_t max_extent) {
    return std::all_of(shape.begin(), shape.end(),
                       [&](int64_t e) { return e >= 1 && e <= max_extent; });
  };
  if (op.kernel.rank() != 2 || op.stride.rank() != 2 || !within(op.kernel, kMaxExtent)
      || !within(op.stride, kMaxStride) || !within(op.dilation, 1) || op.groups != 1)
    return fmt::format(
        "only windows of two axes of up to {} elements, strides of up to {}, no dilation and one "
        "group are supported",
        kMaxExtent, kMaxStride);
  if (op.output_channels < 1 || request.inputs[0].shape.rank() != 4
      || request.outputs[0].shape.rank() != 4)
    return "the attributes are inconsistent";
  if (request.inputs[0].shape[1] < 1) return "the channels are not known";
  return "";
}

Offer with_layouts(Offer offer, const Convolution& op, const KernelRequest& request) {
  if (std::holds_alternative<std::string>(offer)) return offer;
  auto& kernel = static_cast<WinogradKernel&>(*std::get<std::unique_ptr<Kernel>>(offer));
  if (kernel.form().gathers() && op.stride[1] != 1)
    return "few channels are supported with a stride of 1 along rows";
  lie_in(winograd_layout(), kernel, request);
  if (kernel.form().gathers()) kernel.input_layouts[0] = Layout::kLinear;
  return offer;
}

}  // namespace

Offer offer_winograd(const KernelRequest& request) {
  const auto& op = static_cast<const Convolution&>(request.op);
  if (const std::string reason = refusal(op, request); !reason.empty()) return reason;
  const bool has_bias = request.inputs.size() > kBias && request.inputs[kBias].present;
  const auto constant = [&](size_t i) { return request.constants[i]; };
  if (constant(1) == nullptr || (has_bias && constant(kBias) == nullptr))
    return "only constant weights are supported";
  return with_layouts(
      offer_plain(op, request, *constant(1), has_bias ? *constant(kBias) : Tensor()), op, request);
}

Offer load_winograd(const KernelRequest& request, const StoredKernel& stored) {
  const auto& op = static_cast<const Convolution&>(request.op);
  if (const std::string reason = refusal(op, request); !reason.empty()) return reason;
  return with_layouts(load(op, request.inputs[0].shape[1], stored), op, request);
}

}  // namespace tenon::cpu
