// Convolution of each channel by itself, in vectors of channels: each element is loaded once for
// all the neighbouring windows that it is under, and padding is never stored (decision 0026).
#include <algorithm>
#include <optional>

#include "base/error.h"
#include "base/parallel.h"
#include "target/cpu/blocked_epilogue.h"
#include "target/cpu/convolution/block_convolution.h"

namespace tenon::cpu {
namespace {

constexpr size_t kBias = 2;
/// Results of a task: beyond that an epilogue would find them in no near cache.
constexpr int64_t kTaskFloats = 1 << 15;
/// Vectors of channels that are taken at a time where they lie side by side: what the windows of a
/// few results read of them stays in the first-level cache.
constexpr int64_t kMostVectors = 16;

/// How channels lie, and make vectors: in blocks, of which channels last is one. The last vector of
/// a block ends with it, and may share channels with the one before.
struct Vectors {
  int64_t channels;
  Layout layout;
  const DepthwiseKernels* loops;

  int64_t lanes() const { return loops->lanes; }
  int64_t width() const {
    return layout == Layout::kChannelsLast ? channels : channel_block(layout);
  }
  int64_t blocks() const { return units(channels, width()); }
  int64_t per_block() const { return units(width(), lanes()); }
  /// Of a vector of a block.
  int64_t first_lane(int64_t vector) const { return std::min(vector * lanes(), width() - lanes()); }
};

bool fits(Layout layout, int64_t channels, int64_t lanes) {
  return layout == Layout::kChannelsLast ? channels >= lanes : channel_block(layout) >= lanes;
}

/// In the layout at hand, if it is one of channels beside each other; none if they do not fill a
/// vector. A plan's may be that of a machine with shorter vectors.
std::optional<Vectors> vectors_of(Layout layout, int64_t channels) {
  const DepthwiseKernels* best = &simd_kernels().depthwise;
  if (fits(layout, channels, best->lanes)) return Vectors{channels, layout, best};
  const DepthwiseKernels* half = &avx2::kKernels.depthwise;
  if (best->lanes > half->lanes && fits(layout, channels, half->lanes))
    return Vectors{channels, layout, half};
  return std::nullopt;
}

/// For data that arrive in this layout while a plan is built.
Vectors vectors_for(Layout arrives, int64_t channels) {
  if (arrives == Layout::kChannelsLast)
    if (const auto vectors = vectors_of(arrives, channels)) return *vectors;
  const DepthwiseKernels& best = simd_kernels().depthwise;
  return {channels, blocked_layout(best.lanes), &best};
}

/// Numbers of each channel as vectors: vector, number, lane. Zeros fill up the last block.
Tensor arranged(const Tensor& rows, const Vectors& vectors) {
  const int64_t lanes = vectors.lanes(), each = rows.count() / vectors.channels;
  Tensor out(DataType::kFLOAT, {vectors.blocks() * vectors.per_block() * lanes * each});
  auto* to = out.mutable_data<float>();
  std::fill_n(to, out.count(), 0.f);
  for (int64_t block = 0; block < vectors.blocks(); ++block)
    for (int64_t v = 0; v < vectors.per_block(); ++v, to += lanes * each) {
      const int64_t first = block * vectors.width() + vectors.first_lane(v);
      for (int64_t c = 0; c < std::min(lanes, vectors.channels - first); ++c)
        for (int64_t i = 0; i < each; ++i)
          to[i * lanes + c] = rows.data<float>()[(first + c) * each + i];
    }
  return out;
}

class DepthwiseExecution final : public BlockExecution {
 public:
  DepthwiseExecution(const Convolution& op, const Vectors& vectors, const Tensor& weights,
                     const Tensor& bias, std::span<const TensorSpec> inputs,
                     const TensorSpec& output)
      : BlockExecution({}, {}, output),
        vectors_(vectors),
        weights_(weights),
        bias_(bias),
        epilogue_(op.epilogue, inputs, output) {
    const Shape& data = inputs[0].shape;
    const Shape& result = output.shape;
    const auto windows = convolution_windows(op, inputs, result);
    require(data[1] == op.groups && inputs[0].layout == vectors.layout
                && output.layout == vectors.layout,
            "data and result must be {} channels, {}", op.groups, name_of(vectors.layout));
    const auto axis = [](const Window& w, int64_t extent) {
      return DepthwiseForm::Axis{extent, w.kernel, w.stride, w.dilation, w.pre};
    };
    form_ = {axis(windows[0], data[2]), axis(windows[1], data[3]), result[3],
             vectors.width(),           epilogue_.least(),         epilogue_.most()};
    height_ = result[2];
    split(data[0]);
  }

 protected:
  void begin(const RunArguments& arguments, float*) override {
    data_ = static_cast<const float*>(arguments.inputs[0]);
    result_ = static_cast<float*>(arguments.outputs[0]);
    epilogue_.begin(arguments);
  }

  // Some rows of some vectors of one block.
  void run_task(int64_t task, float*) const override {
    const int64_t first = task % parts_ * rows_, rows = std::min(rows_, height_ - first);
    const int64_t slice = task / parts_ % slices_, block = task / parts_ / slices_;
    const int64_t end = std::min((slice + 1) * per_slice_, vectors_.per_block());
    const bool is_shared = vectors_.width() % vectors_.lanes() != 0;
    for (int64_t v = slice * per_slice_; v < end;) {
      int64_t next = std::min(v + kMostVectors, end);
      // The last vector is not right behind the one before it.
      if (is_shared && next == vectors_.per_block() && next - v > 1) --next;
      run_vectors(block, v, next - v, first, rows);
      v = next;
    }
    epilogue_.run(block, first * form_.pixels, rows * form_.pixels);
  }

 private:
  // Blocks are counted through all images.
  void run_vectors(int64_t block, int64_t vector, int64_t count, int64_t first,
                   int64_t rows) const {
    const int64_t in = form_.y.data * form_.x.data, out = height_ * form_.pixels;
    const int64_t at = block % vectors_.blocks() * vectors_.per_block() + vector;
    const int64_t lanes = vectors_.lanes(), taps = form_.y.taps * form_.x.taps;
    const int64_t lane = vectors_.first_lane(vector);
    vectors_.loops->run(form_, data_ + block * in * form_.step + lane,
                        weights_.data<float>() + at * taps * lanes,
                        bias_.data<float>() + at * lanes, count, first, rows,
                        result_ + (block * out + first * form_.pixels) * form_.step + lane);
  }

  // Rows are divided until there is enough for all threads, then vectors, unless the epilogue wants
  // whole blocks.
  void split(int64_t images) {
    const int64_t vectors = vectors_.per_block(), blocks = images * vectors_.blocks();
    const int64_t floats = std::max<int64_t>(form_.pixels * form_.step, 1);
    rows_ = std::clamp<int64_t>(kTaskFloats / floats, 1, std::max<int64_t>(height_, 1));
    per_slice_ = vectors;
    const auto count = [&] {
      parts_ = units(height_, rows_);
      slices_ = units(vectors, per_slice_);
      return blocks * parts_ * slices_;
    };
    const int64_t wanted = 4 * thread_count();
    while (rows_ > 4 && count() < wanted) rows_ = (rows_ + 1) / 2;
    while (per_slice_ > 4 && !epilogue_.has_rest() && count() < wanted)
      per_slice_ = (per_slice_ + 1) / 2;
    set_tasks(count(),
              static_cast<double>(blocks * height_ * floats)
                  * static_cast<double>(form_.y.taps * form_.x.taps),
              0);
  }

  Vectors vectors_;
  Tensor weights_, bias_;
  BlockedEpilogue epilogue_;
  DepthwiseForm form_;
  int64_t height_;                      // rows of the result
  int64_t rows_ = 1, parts_ = 1;        // rows of a task; tasks of a slice
  int64_t per_slice_ = 1, slices_ = 1;  // vectors of a task; slices of a block
  const float* data_ = nullptr;
  float* result_ = nullptr;
};

class DepthwiseKernel final : public Kernel {
 public:
  /// A plan holds weights and bias as the network does: they are the same for all machines.
  DepthwiseKernel(const Convolution& op, const Vectors& vectors, const Tensor& weights,
                  const Tensor& bias)
      : op_(op),
        vectors_(vectors),
        weights_(arranged(weights, vectors)),
        bias_(arranged(bias, vectors)) {
    packed = {weights, bias};
  }

  std::unique_ptr<Execution> prepare(std::span<const TensorSpec> inputs,
                                     std::span<const TensorSpec> outputs) const override {
    return std::make_unique<DepthwiseExecution>(op_, vectors_, weights_, bias_, inputs, outputs[0]);
  }

 private:
  Convolution op_;
  Vectors vectors_;
  Tensor weights_, bias_;
};

Tensor zeros(int64_t count) {
  Tensor t(DataType::kFLOAT, {count});
  std::fill_n(t.mutable_data<float>(), count, 0.f);
  return t;
}

std::string refusal(const Convolution& op, const KernelRequest& request) {
  if (const std::string reason = refusal_of_planes(op.kernel, request); !reason.empty())
    return reason;
  const Shape& data = request.inputs[0].shape;
  if (op.groups < 2 || data[1] != op.groups || op.output_maps != op.groups)
    return "only one channel and one map in each group are supported";
  return "";
}

}  // namespace

Offer offer_depthwise_convolution(const KernelRequest& request) {
  const auto& op = static_cast<const Convolution&>(request.op);
  if (const std::string reason = refusal(op, request); !reason.empty()) return reason;
  const bool has_bias = request.inputs.size() > kBias && request.inputs[kBias].present;
  const auto* constants = request.constants.data();
  Tensor weights, bias;
  if (request.stored != nullptr) {
    const auto& packed = request.stored->packed;
    require(packed.size() == 2, "{} stored tensors, expected weights and bias", packed.size());
    weights = packed[0];
    bias = packed[1];
  } else {
    if (constants[1] == nullptr || (has_bias && constants[kBias] == nullptr))
      return "only constant weights are supported";
    weights = *constants[1];
    bias = has_bias ? *constants[kBias] : zeros(op.groups);
  }
  require(weights.type() == DataType::kFLOAT && bias.type() == DataType::kFLOAT
              && weights.count() == Shape({op.groups, op.kernel.volume()}).volume()
              && bias.count() == op.groups,
          "weights of {} elements and a bias of {} do not fit {} channels and windows of {}",
          weights.count(), bias.count(), op.groups, op.kernel);
  const Layout arrives = request.inputs[0].layout;
  const auto vectors =
      request.stored != nullptr ? vectors_of(arrives, op.groups) : vectors_for(arrives, op.groups);
  if (!vectors) return "only data in vectors of channels are supported";
  auto kernel = std::make_unique<DepthwiseKernel>(op, *vectors, weights, bias);
  lie_in(vectors->layout, *kernel, request);
  return kernel;
}

}  // namespace tenon::cpu
