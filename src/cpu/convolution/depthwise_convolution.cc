// Convolution of each channel by itself, in vectors of channels: each element is loaded once for
// all the neighbouring windows that it is under, and padding is never stored (decision 0026).
#include <algorithm>

#include "base/error.h"
#include "base/parallel.h"
#include "cpu/blocked_epilogue.h"
#include "cpu/convolution/depthwise_vectors.h"

namespace tenon::cpu {
namespace {

/// Vectors of channels that are taken at a time where they lie side by side: what the windows of a
/// few results read of them stays in the L1 cache.
constexpr int64_t kMaxVectors = 16;

class DepthwiseExecution final : public BlockExecution {
 public:
  DepthwiseExecution(const Convolution& op, const DepthwiseVectors& vectors,
                     const DepthwiseWeights& arranged, std::span<const TensorSpec> inputs,
                     const TensorSpec& output)
      : BlockExecution({}, {}, output),
        vectors_(vectors),
        arranged_(arranged),
        epilogue_(op.epilogue, inputs, output) {
    const Shape& data = inputs[0].shape;
    const Shape& result = output.shape;
    require(inputs[0].layout == vectors.layout && output.layout == vectors.layout,
            "data and result must be {} channels, {}", op.groups, name_of(vectors.layout));
    form_ = depthwise_form(op, vectors, inputs, result);
    form_.lower = epilogue_.lower();
    form_.upper = epilogue_.upper();
    height_ = result[2];
    split(data[0]);
  }

 protected:
  void begin(const RunArguments& arguments, float*) override {
    data_ = static_cast<const float*>(arguments.inputs[0]);
    result_ = static_cast<float*>(arguments.outputs[0]);
    epilogue_.begin(arguments);
  }

  // Some rows of some vectors of one block. All blocks of some rows lie beside each other, since
  // the layers around it divide rows, too.
  void run_task(int64_t task, float*) const override {
    const int64_t blocks = vectors_.blocks(), slice = task % slices_;
    const int64_t part = task / slices_ / blocks % parts_;
    const int64_t block = task / slices_ / blocks / parts_ * blocks + task / slices_ % blocks;
    const auto [first, last] = share_of(height_, part, parts_);
    const int64_t rows = last - first;
    const int64_t end = std::min((slice + 1) * per_slice_, vectors_.per_block());
    const bool is_shared = vectors_.width() % vectors_.lanes() != 0;
    for (int64_t v = slice * per_slice_; v < end;) {
      int64_t next = std::min(v + kMaxVectors, end);
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
                        arranged_.weights.data<float>() + at * taps * lanes,
                        arranged_.bias.data<float>() + at * lanes, count, first, rows,
                        result_ + (block * out + first * form_.pixels) * form_.step + lane);
  }

  // Rows are divided until there is enough for all threads, then vectors, unless the epilogue wants
  // whole blocks.
  void split(int64_t images) {
    const int64_t vectors = vectors_.per_block(), blocks = images * vectors_.blocks();
    const int64_t floats = std::max<int64_t>(form_.pixels * form_.step, 1);
    const int64_t height = std::max<int64_t>(height_, 1);
    // Data and results, of which an epilogue finds the latter in a near cache.
    const int64_t bytes = 2 * floats * int64_t{sizeof(float)};
    rows_ = std::clamp<int64_t>(this_machine().near_bytes() / 2 / bytes, 1, height);
    per_slice_ = vectors;
    const auto count = [&] {
      parts_ = units(height_, rows_);
      slices_ = units(vectors, per_slice_);
      return blocks * parts_ * slices_;
    };
    const int64_t wanted = 4 * thread_count();
    if (images < thread_count()) rows_ = std::min(rows_, units(height, thread_count()));
    while (rows_ > 4 && count() < wanted) rows_ = (rows_ + 1) / 2;
    while (per_slice_ > 4 && !epilogue_.has_rest() && count() < wanted)
      per_slice_ = (per_slice_ + 1) / 2;
    set_tasks(count(),
              static_cast<double>(blocks * height_ * floats)
                  * static_cast<double>(form_.y.taps * form_.x.taps),
              0);
  }

  DepthwiseVectors vectors_;
  DepthwiseWeights arranged_;
  BlockedEpilogue epilogue_;
  DepthwiseForm form_;
  int64_t height_;                      // rows of the result
  int64_t rows_ = 1, parts_ = 1;        // the most rows of a task; parts of an image
  int64_t per_slice_ = 1, slices_ = 1;  // vectors of a task; slices of a block
  const float* data_ = nullptr;
  float* result_ = nullptr;
};

class DepthwiseKernel final : public Kernel {
 public:
  DepthwiseKernel(const Convolution& op, const DepthwiseVectors& vectors,
                  const DepthwiseWeights& weights)
      : op_(op), vectors_(vectors), arranged_(arranged(weights, vectors)) {
    packed = {weights.weights, weights.bias};
  }

  std::unique_ptr<Execution> prepare(std::span<const TensorSpec> inputs,
                                     std::span<const TensorSpec> outputs) const override {
    return std::make_unique<DepthwiseExecution>(op_, vectors_, arranged_, inputs, outputs[0]);
  }

 private:
  Convolution op_;
  DepthwiseVectors vectors_;
  DepthwiseWeights arranged_;
};

}  // namespace

Offer offer_depthwise_convolution(const KernelRequest& request) {
  const auto& op = static_cast<const Convolution&>(request.op);
  if (const std::string reason = refusal_of_depthwise(op, request); !reason.empty()) return reason;
  const auto weights = constant_depthwise_weights(op, request);
  if (!weights) return "only constant weights are supported";
  const DepthwiseVectors vectors = vectors_for(request.inputs[0].layout, op.groups);
  auto kernel = std::make_unique<DepthwiseKernel>(op, vectors, *weights);
  lie_in(vectors.layout, *kernel, request);
  return kernel;
}

Offer load_depthwise_convolution(const KernelRequest& request, const StoredKernel& stored) {
  const auto& op = static_cast<const Convolution&>(request.op);
  if (const std::string reason = refusal_of_depthwise(op, request); !reason.empty()) return reason;
  const auto vectors = vectors_of(request.inputs[0].layout, op.groups);
  if (!vectors) return "only data in vectors of channels are supported";
  auto kernel =
      std::make_unique<DepthwiseKernel>(op, *vectors, stored_depthwise_weights(op, stored));
  lie_in(vectors->layout, *kernel, request);
  return kernel;
}

}  // namespace tenon::cpu
