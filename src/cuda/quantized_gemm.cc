// Convolutions without groups and products with one matrix of constant weights, of 8-bit integers
// or fp8, as an implicit GEMM by tensor cores.
#include "cuda/quantized_gemm.h"

#include <algorithm>

#include "cuda/capability.h"
#include "cuda/empty_execution.h"
#include "cuda/kernels.h"
#include "cuda/quantized_execution.h"
#include "cuda/variant_kernel.h"
#include "ops/support/window.h"

namespace tenon::cuda {
namespace {

using In = QuantizedInputs;
using Tile = QuantizedGemm::Tile;

using NamedTile = std::pair<Tile, const char*>;
constexpr NamedTile kTiles[] = {{Tile::kLines, "lines"},
                                {Tile::k128x128, "128x128"},
                                {Tile::k128x64, "128x64"},
                                {Tile::k64x64, "64x64"},
                                {Tile::k32x64, "32x64"},
                                {Tile::kWarpgroup128x128, "128x128 of a warpgroup"},
                                {Tile::kWarpgroup128x64, "128x64 of a warpgroup"},
                                {Tile::kWarpgroup64x64, "64x64 of a warpgroup"},
                                {Tile::kWarpgroups192x128, "192x128 of three warpgroups"}};
constexpr NamedTile kFloat8Tiles[] = {{Tile::k128x128, "128x128"},
                                      {Tile::k64x64, "64x64"},
                                      {Tile::kWarpgroup64x64, "64x64 of a warpgroup"},
                                      {Tile::kWarpgroups192x128, "192x128 of three warpgroups"}};

// Those for so many channels, which are neighbours in that list.
std::span<const NamedTile> tiles_for(int64_t channels, bool is_float8) {
  constexpr int kHopper = 9;
  const auto all = is_float8 ? std::span<const NamedTile>(kFloat8Tiles) : kTiles;
  const bool has_chunks = channels % QuantizedGemm::kChunk == 0;
  const bool has_warpgroups = has_chunks && capability_major() == kHopper;
  const auto is_offered = [&](const NamedTile& tile) {
    if (tile.first == Tile::kLines) return !has_chunks;
    return has_warpgroups || tile.first < Tile::kWarpgroup128x128;
  };
  const auto first = std::ranges::find_if(all, is_offered);
  return {first, std::find_if_not(first, all.end(), is_offered)};
}

// What of a layer depends on its shapes: all but operands and the tile.
using Geometry = std::function<QuantizedGemm(std::span<const TensorSpec> inputs,
                                             std::span<const TensorSpec> outputs)>;

class QuantizedGemmExecution final : public Execution {
 public:
  explicit QuantizedGemmExecution(const QuantizedGemm& parameters) : p_(parameters) {}
  void run(const RunArguments& arguments) override {
    const auto packed = [&](size_t i) { return arguments.packed[i]; };
    p_.data = arguments.input(In::kData);
    p_.weights = packed(PackedWeights::kWeights);
    p_.bias = static_cast<const int32_t*>(packed(PackedWeights::kBias));
    p_.weights_sum = static_cast<const int32_t*>(packed(PackedWeights::kWeightsSum));
    p_.padding = packed(PackedWeights::kPadding);
    set_operands(p_.epilogue, arguments);
    p_.result = arguments.outputs[0];
    const void* const tensors[] = {p_.data, p_.epilogue.addend, p_.result};
    check_alignment(tensors, 16);
    const auto launch = p_.is_float8 ? launch_float8_gemm : launch_quantized_gemm;
    launch(p_, to_cuda(arguments.stream));
    check_launch("a product of bytes");
  }

 private:
  QuantizedGemm p_;
};

class QuantizedGemmKernel final : public VariantKernel<QuantizedGemmKernel> {
 public:
  QuantizedGemmKernel(Geometry geometry, std::span<const NamedTile> tiles)
      : geometry_(std::move(geometry)), tiles_(tiles) {
    choose(0);
  }
  size_t variant_count() const { return tiles_.size(); }
  void describe_variant() { describe_as(tiles_[chosen()].second); }

  std::unique_ptr<Execution> prepare(std::span<const TensorSpec> inputs,
                                     std::span<const TensorSpec> outputs) const override {
    if (outputs[0].shape.volume() == 0) return std::make_unique<EmptyExecution>();
    QuantizedGemm p = geometry_(inputs, outputs);
    p.tile = tiles_[chosen()].first;
    p.pads_with_zeros = packed[PackedWeights::kPadding].data<uint8_t>()[0] == 0;
    return std::make_unique<QuantizedGemmExecution>(p);
  }

 private:
  Geometry geometry_;
  std::span<const NamedTile> tiles_;
};

// Products of bytes in a sum, whose numbers stay below 2^31 before the bias is added.
constexpr int64_t kMaxDepth = 65536;

// A number that the kernel counts with in 32 bits.
int number(int64_t extent) {
  require(extent >= 0 && extent < int64_t{1} << 30,
          "an extent of {} is too large for a product of bytes", extent);
  return static_cast<int>(extent);
}

// Chunks of the data are counted in 32 bits, with windows that begin before it.
void check_data(const Shape& data) {
  require(data.volume() / QuantizedGemm::kChunk < int64_t{1} << 30,
          "data of {} are too large for a product of bytes", data);
}

// A layer as this kernel has it.
struct Layer {
  Geometry geometry;
  WeightPacking packing;
  int64_t channels = 0;
  bool channels_last = false, is_float8 = false;
};
using MadeLayer = Variant<Layer, std::string>;

QuantizedGemm convolution_geometry(const QuantizedConvolution& op,
                                   std::span<const TensorSpec> inputs,
                                   std::span<const TensorSpec> outputs) {
  const Shape &in = inputs[In::kData].shape, &out = outputs[0].shape;
  require(in.rank() == op.kernel.rank() + 2 && out.rank() == in.rank() && out[0] == in[0]
              && out[1] == op.output_channels,
          "data {} and result {} of a convolution do not fit", in, out);
  require(out.volume() / op.output_channels < int64_t{1} << 31,
          "a result of {} has too many positions", out);
  check_data(in);
  QuantizedGemm p;
  p.epilogue = *quantized_epilogue(op, inputs);
  p.is_float8 = op.is_float8;
  p.data_is_signed = inputs[In::kData].type == DataType::kINT8;
  p.images = number(in[0]);
  p.channels = number(in[1]);
  p.output_channels = number(out[1]);
  const auto windows = make_windows(op.kernel.rank(), op.kernel, op.stride, op.dilation,
                                    op.pre_padding, op.post_padding);
  const size_t missing = 2 - windows.size();
  for (size_t i = 0; i < windows.size(); ++i) {
    const int axis = static_cast<int>(i) + 2;
    const Window w = resolved(windows[i], in[axis], out[axis], op.padding_mode);
    p.in[missing + i] = number(in[axis]);
    p.out[missing + i] = number(out[axis]);
    p.kernel[missing + i] = number(w.kernel);
    p.stride[missing + i] = number(w.stride);
    p.dilation[missing + i] = number(w.dilation);
    p.pre[missing + i] = number(w.pre);
    number(w.reach() + w.stride * out[axis]);
  }
  return p;
}

MadeLayer layer_of(const QuantizedConvolution& op, const KernelRequest& request) {
  const Shape& data = request.inputs[In::kData].shape;
  if (op.kernel.rank() < 1 || op.kernel.rank() > 2)
    return std::string("only one or two spatial axes are supported");
  if (op.groups != 1) return std::string("groups are not supported");
  if (!quantized_epilogue(op)) return std::string("the epilogue is not supported");
  const int64_t channels = data[1], taps = op.kernel.volume();
  const int64_t lines = op.kernel.rank() == 2 ? op.kernel[0] : 1, columns = op.kernel.back();
  if (channels == 0 || channels * taps > kMaxDepth)
    return std::string("so many channels are not supported");
  if (channels % QuantizedGemm::kChunk != 0 && op.dilation.back() != 1)
    return std::string("a dilation is supported only for multiples of 16 channels");
  Layer layer;
  layer.channels = channels;
  layer.channels_last = true;
  layer.is_float8 = op.is_float8;
  layer.geometry = [op, channels](auto inputs, auto outputs) {
    const Shape& found = inputs[In::kData].shape;
    require(found[1] == channels, "data {} do not fit weights for {} channels", found, channels);
    return convolution_geometry(op, inputs, outputs);
  };
  const int64_t line = QuantizedGemm::line_bytes(columns, channels), of_line = columns * channels;
  const int64_t rows = op.output_channels;
  const DataType to = op.to;
  layer.packing = {rows, channels * taps, QuantizedGemm::weights_bytes(rows, lines * line),
                   [=](int64_t output_channel, int64_t position) {
                     const int64_t tap = position / channels, channel = position % channels;
                     return (output_channel * channels + channel) * taps + tap;
                   },
                   [=](int64_t output_channel, int64_t position) {
                     return QuantizedGemm::weight_at(
                         to, rows, output_channel, position / of_line * line + position % of_line);
                   }};
  return layer;
}

QuantizedGemm product_geometry(const QuantizedMatrixMultiply& op,
                               std::span<const TensorSpec> inputs) {
  const Shape &a = inputs[In::kData].shape, &b = inputs[In::kWeights].shape;
  require(a.rank() == b.rank() && a.back() == b[b.rank() - 2], "cannot multiply {} by {}", a, b);
  check_data(a);
  QuantizedGemm p;
  p.epilogue = *quantized_epilogue(op, inputs);
  p.is_float8 = op.is_float8;
  p.data_is_signed = inputs[In::kData].type == DataType::kINT8;
  p.channels = number(a.back());
  p.output_channels = number(b.back());
  p.in[1] = p.out[1] = number(a.volume(0, a.rank() - 1));
  return p;
}

MadeLayer layer_of(const QuantizedMatrixMultiply& op, const KernelRequest& request) {
  const Shape& weights = request.inputs[In::kWeights].shape;
  if (weights.rank() < 2 || weights.volume(0, weights.rank() - 2) != 1)
    return std::string("several matrices of weights are not supported");
  if (!quantized_epilogue(op)) return std::string("the epilogue is not supported");
  const int64_t depth = weights[weights.rank() - 2], columns = weights.back();
  if (depth == 0 || depth > kMaxDepth)
    return std::string("so many columns of the data are not supported");
  Layer layer;
  layer.channels = depth;
  layer.is_float8 = op.is_float8;
  layer.geometry = [op](auto inputs, auto) { return product_geometry(op, inputs); };
  layer.packing = {columns, depth, QuantizedGemm::weights_bytes(columns, depth),
                   [columns](int64_t column, int64_t k) { return k * columns + column; },
                   [columns, to = op.to](int64_t column, int64_t k) {
                     return QuantizedGemm::weight_at(to, columns, column, k);
                   }};
  return layer;
}

MadeLayer layer_of(const KernelRequest& request) {
  constexpr int kAmpere = 8;
  if (!has_capability(kAmpere))
    return std::string("it needs a GPU of compute capability 8.0 or more");
  const auto of = [&](const auto& op) -> MadeLayer {
    if (op.is_float8 && !multiplies_float8())
      return std::string("products of fp8 need a GPU of compute capability 8.9 or more");
    return layer_of(op, request);
  };
  if (const auto* convolution = dynamic_cast<const QuantizedConvolution*>(&request.op))
    return of(*convolution);
  return of(static_cast<const QuantizedMatrixMultiply&>(request.op));
}

std::unique_ptr<QuantizedGemmKernel> make(const Layer& layer, const KernelRequest& request) {
  auto kernel = std::make_unique<QuantizedGemmKernel>(layer.geometry,
                                                      tiles_for(layer.channels, layer.is_float8));
  PackedWeights::describe(*kernel, request, layer.channels_last);
  return kernel;
}

}  // namespace

Offer offer_quantized_gemm(const KernelRequest& request) {
  MadeLayer layer = layer_of(request);
  if (auto* reason = std::get_if<std::string>(&layer)) return *reason;
  auto packed = PackedWeights::pack(request, std::get<Layer>(layer).packing);
  if (auto* reason = std::get_if<std::string>(&packed)) return *reason;
  auto kernel = make(std::get<Layer>(layer), request);
  kernel->packed = std::get<0>(std::move(packed));
  return kernel;
}

Offer load_quantized_gemm(const KernelRequest& request, const StoredKernel& stored) {
  MadeLayer layer = layer_of(request);
  if (auto* reason = std::get_if<std::string>(&layer)) return *reason;
  PackedWeights::check(stored.packed, std::get<Layer>(layer).packing);
  auto kernel = make(std::get<Layer>(layer), request);
  kernel->choose_stored(stored.state);
  kernel->packed = stored.packed;
  return kernel;
}

}  // namespace tenon::cuda
