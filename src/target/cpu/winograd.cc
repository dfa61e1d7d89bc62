// Convolution of 3x3 windows by Winograd's minimal filtering: tiles of the data and the weights are
// transformed, multiplied element by element, and the sums over channels are transformed back.
// Tiles of 6x6 need a quarter of the multiplications. Only a block of tiles is transformed at a
// time, so that it stays in the second-level cache.
#include <algorithm>

#include "base/error.h"
#include "target/cpu/kernels.h"
#include "target/cpu/winograd_execution.h"
#include "target/cpu/winograd_weights.h"

namespace tenon::cpu {
namespace {

constexpr size_t kBias = 2, kFirstOperand = 3;

const WinogradKernels& loops() {
  return simd_kernels().winograd;
}

/// What a plan stores beside the weights.
struct Stored {
  int64_t tile = 0, lanes = 0;

  void visit(FieldVisitor& v) {
    v("tile", tile);
    v("lanes", lanes);
  }
};

class WinogradKernel final : public Kernel {
 public:
  WinogradKernel(const Convolution& op, size_t tile) : op_(op), tile_(tile) {}

  /// Packs constant weights for tiles of that size.
  WinogradKernel(const Convolution& op, size_t tile, Tensor weights, Tensor plain_bias)
      : op_(op), tile_(tile), weights_(std::move(weights)), plain_bias_(std::move(plain_bias)) {
    const WinogradForm form = this->form();
    packed.push_back(winograd_weights(weights_, form));
    packed.push_back(winograd_bias(plain_bias_, form));
    variant = fmt::format("{0}x{0}", form.size);
    state = fields_of(Stored{form.size, form.lanes});
  }

  std::unique_ptr<Execution> prepare(std::span<const TensorSpec> inputs,
                                     std::span<const TensorSpec> outputs) const override {
    return prepare_winograd(op_, loops().tiles[tile_], packed[0], packed[1], inputs, outputs[0]);
  }
  std::vector<std::unique_ptr<Kernel>> variants() const override {
    std::vector<std::unique_ptr<Kernel>> list;
    for (size_t tile = 0; tile < std::size(loops().tiles); ++tile) {
      if (tile == tile_) continue;
      auto other = std::make_unique<WinogradKernel>(op_, tile, weights_, plain_bias_);
      other->name = name;
      other->input_layouts = input_layouts;
      other->output_layouts = output_layouts;
      other->input_is_packed = input_is_packed;
      list.push_back(std::move(other));
    }
    return list;
  }

 private:
  WinogradForm form() const {
    return {weights_.count() / (op_.output_maps * 9), op_.output_maps, loops().tiles[tile_].size,
            loops().lanes};
  }

  Convolution op_;
  size_t tile_;
  Tensor weights_, plain_bias_;  // while building
};

std::unique_ptr<WinogradKernel> load(const Convolution& op, int64_t channels,
                                     const StoredKernel& stored) {
  Stored state;
  set_fields(state, stored.state);
  const auto [size, lanes] = state;
  size_t tile = 0;
  while (tile < std::size(loops().tiles) && loops().tiles[tile].size != size) ++tile;
  require(tile < std::size(loops().tiles) && (lanes == 8 || lanes == 16),
          "stored tiles of {} elements and vectors of {}: expected 4 or 6, and 8 or 16", size,
          lanes);
  require(channels <= kMostWinogradChannels && op.output_maps <= kMostWinogradChannels,
          "{} channels and {} maps are too many", channels, op.output_maps);
  const WinogradForm form{channels, op.output_maps, static_cast<int>(size),
                          static_cast<int>(lanes)};
  WinogradForm here = form;
  here.lanes = loops().lanes;
  const int64_t maps = form.padded(form.maps);
  require(stored.packed.size() == 2 && stored.packed[0].type() == DataType::kFLOAT
              && stored.packed[1].type() == DataType::kFLOAT
              && stored.packed[0].count() == form.floats() && stored.packed[1].count() == maps,
          "the stored weights do not fit {} channels and {} maps", channels, form.maps);
  auto kernel = std::make_unique<WinogradKernel>(op, tile);
  kernel->packed = stored.packed;
  if (lanes != here.lanes) {
    kernel->packed[0] = rearranged(stored.packed[0], form, here);
    kernel->packed[1] = winograd_bias(stored.packed[1], here);
  }
  kernel->state = fields_of(Stored{size, here.lanes});
  return kernel;
}

std::string refusal(const Convolution& op, const KernelRequest& request) {
  if (!all_of_type(request, DataType::kFLOAT)) return "only float32 is supported";
  const auto is = [](const Shape& shape, int64_t value) {
    return std::all_of(shape.begin(), shape.end(), [&](int64_t e) { return e == value; });
  };
  if (op.kernel.rank() != 2 || !is(op.kernel, 3) || !is(op.stride, 1) || !is(op.dilation, 1)
      || op.groups != 1)
    return "only windows of 3x3 with a stride of 1, no dilation and one group are supported";
  if (op.output_maps < 1 || request.inputs[0].shape.rank() != 4
      || request.outputs[0].shape.rank() != 4)
    return "the attributes are inconsistent";
  return "";
}

}  // namespace

Offer offer_winograd(const KernelRequest& request) {
  const auto& op = static_cast<const Convolution&>(request.op);
  if (request.inputs.size() < 2 || !request.inputs[0].present || !request.inputs[1].present)
    return "data or weights are missing";
  if (const std::string reason = refusal(op, request); !reason.empty()) return reason;
  const bool has_bias = request.inputs.size() > kBias && request.inputs[kBias].present;
  const int64_t channels = request.inputs[0].shape[1];
  if (channels < 1) return "the channels are not known";
  std::unique_ptr<WinogradKernel> kernel;
  if (request.stored != nullptr) {
    kernel = load(op, channels, *request.stored);
  } else {
    const auto constant = [&](size_t i) { return request.constants[i]; };
    if (constant(1) == nullptr || (has_bias && constant(kBias) == nullptr))
      return "only constant weights are supported";
    // Vectors of few channels or maps are mostly padding.
    if (channels < loops().lanes || op.output_maps < loops().lanes)
      return "only vectors full of channels and maps are supported";
    kernel = std::make_unique<WinogradKernel>(op, std::size(loops().tiles) - 1, *constant(1),
                                              has_bias ? *constant(kBias) : Tensor());
  }
  const Layout layout = winograd_layout();
  kernel->input_layouts.assign(request.inputs.size(), Layout::kLinear);
  kernel->input_layouts[0] = layout;
  for (size_t i = kFirstOperand; i < request.inputs.size(); ++i)
    if (request.inputs[i].shape == request.outputs[0].shape) kernel->input_layouts[i] = layout;
  kernel->output_layouts.assign(1, layout);
  kernel->input_is_packed.assign(request.inputs.size(), false);
  kernel->input_is_packed[1] = true;
  if (has_bias) kernel->input_is_packed[kBias] = true;
  return kernel;
}

}  // namespace tenon::cpu
