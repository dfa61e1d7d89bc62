// Weights, layout, kernel and tasks of our direct convolution and deconvolution.
#pragma once

#include <algorithm>
#include <optional>

#include "base/parallel.h"
#include "base/variant.h"
#include "cpu/blocked_epilogue.h"
#include "cpu/blocks.h"
#include "cpu/convolution/quantized_panels.h"
#include "ops/convolution.h"

namespace tenon::cpu {

inline const DirectKernels& direct_loops() {
  return simd_kernels().direct;
}
/// Vectors of output channels that the loops multiply together, and so many output channels, whose
/// weights lie together.
constexpr int64_t kPanelVectors = 2;
inline int64_t direct_panel() {
  return kPanelVectors * direct_loops().lanes;
}
/// To what output channels are padded: whole vectors of any machine.
constexpr int64_t kDirectPadded = 16;

inline int64_t padded_channels(int64_t output_channels) {
  return units(output_channels, kDirectPadded) * kDirectPadded;
}

/// Where weights lie: floats from an output channel to the next, and from an element that they are
/// multiplied with to the next.
struct WeightSteps {
  int64_t output_channel, element;
};
/// Floats for so many output channels of `depth` elements each, in rows of a vector.
Tensor make_panels(int64_t output_channels, int64_t depth);
/// As the loops read them: panel, element, output channel. Writes as many floats as make_panels()
/// makes.
void write_panels(const float* weights, const WeightSteps& steps, int64_t output_channels,
                  int64_t depth, float* panels);
/// A bias of so many output channels, or zeros where there is none, padded with zeros.
Tensor padded_bias(const Tensor* bias, int64_t output_channels);

/// In which the loops write.
inline Layout direct_layout() {
  return blocked_layout(direct_loops().lanes);
}

/// As padded_channels() says, in write_panels()'s order.
struct DirectWeights {
  Tensor weights, bias;
  /// In the place of `weights` where they stay quantized in memory: for PackedProduct alone.
  std::optional<QuantizedPanels> quantized = {};

  /// Whether they are so many output channels of `depth` elements each, for the vectors of this
  /// machine.
  bool fit(int64_t output_channels, int64_t depth) const;

  /// Of the panel from that output channel on, where an output channel has so many weights: where
  /// it begins, the output channels that it has weights for, and their bias.
  const float* panel(int64_t output_channel, int64_t depth) const {
    return weights.data<float>() + output_channel * depth;
  }
  int64_t width_of(int64_t output_channel) const {
    return std::min(direct_panel(), bias.count() - output_channel);
  }
  const float* bias_of(int64_t output_channel) const { return bias.data<float>() + output_channel; }
};
/// What a plan stored; whether it fits is for the execution to say. Throws Error when it is no
/// weights and bias.
DirectWeights stored_weights(const StoredKernel& stored);

/// Why constants cannot be packed: they are missing, or are other than so many weights and a bias
/// for each of `output channels`; "" if they can.
std::string refusal_of_constants(const KernelRequest& request, int64_t weights,
                                 int64_t output_channels);
/// The constant bias of a layer; null if it has none.
const Tensor* constant_bias(const KernelRequest& request);
/// Those of a convolution of one group; the reason when they cannot be packed.
Variant<DirectWeights, std::string> convolution_weights(const Convolution& op,
                                                        const KernelRequest& request);

/// Results of a block: enough for the loops, few enough for the L1 cache, where an
/// epilogue finds them.
constexpr int64_t kDirectBlock = 98;
/// The blocks of an image that a task multiplies: `length` pixels of the result each, from pixel
/// `first` up to `end`. `step` floats of the data are between them.
struct DirectBlocks {
  int64_t image, first, end, length, step;
};

/// Products with panels of weights, and the epilogue behind them.
class DirectProduct {
 public:
  /// @param depth elements under a window. `inputs` and `output` are those of a convolution.
  DirectProduct(const DirectWeights& weights, int64_t depth, const PointwiseProgram& epilogue,
                std::span<const TensorSpec> inputs, const TensorSpec& output);

  /// Vectors of output channels.
  int64_t vectors() const { return vectors_; }
  /// Elements under a window.
  int64_t depth() const { return form_.depth; }
  /// Multiplications for each pixel.
  double work() const { return static_cast<double>(weights_.weights.count()); }

  /// Where the elements under a window are, from its first, and how far away the next window is.
  /// `are_far`: the data may be in no cache, and windows are pixels of blocks of channels.
  void set_windows(std::vector<int64_t> offsets, int64_t step, bool are_far);
  /// Results are single pixels, and the windows of images lie so far apart: blocks are of images.
  void take_images_as_pixels(int64_t step);
  /// Before the tasks of a run.
  void begin(const RunArguments& arguments);
  /// Some vectors of output channels, `in` being the first window; `vector_after` are those of the
  /// next call. The weights of a panel stay near while blocks pass by.
  void run(const float* in, const DirectBlocks& blocks, int64_t first_vector, int64_t end_vector,
           int64_t vector_after) const;

 private:
  void run_epilogue(int64_t image, int64_t vector, int64_t first, int64_t pixels) const;
  NextRead next_weights(int64_t vector, int64_t first, int64_t last, int64_t blocks) const;

  DirectWeights weights_;
  BlockedEpilogue epilogue_;
  std::vector<int64_t> offsets_;
  DirectForm form_ = {};
  int64_t vectors_;
  bool images_are_pixels_ = false, are_far_ = false;
  float* result_ = nullptr;
};

/// The kernel of a layer that E executes with such weights.
template <class Layer, class E> class DirectKernel final : public Kernel {
 public:
  DirectKernel(const Layer& op, const DirectWeights& weights) : op_(op) {
    packed = {weights.weights, weights.bias};
  }
  std::unique_ptr<Execution> prepare(std::span<const TensorSpec> inputs,
                                     std::span<const TensorSpec> outputs) const override {
    return std::make_unique<E>(op_, DirectWeights{packed[0], packed[1]}, inputs, outputs[0]);
  }

 private:
  Layer op_;
};

/// Products of blocks of so many pixels each, with so many floats under them, and vectors of output
/// channels of `depth` elements each.
Work direct_work(int64_t images, int64_t blocks, int64_t pixels, int64_t floats, int64_t vectors,
                 int64_t depth);

}  // namespace tenon::cpu
