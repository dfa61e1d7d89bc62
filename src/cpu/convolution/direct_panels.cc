#include "cpu/convolution/direct_panels.h"

#include <algorithm>

#include "base/error.h"
#include "base/parallel.h"
#include "cpu/turn_rows.h"

namespace tenon::cpu {
namespace {

constexpr size_t kBias = 2;
/// Weights that are worth another thread.
constexpr int64_t kGrain = 1 << 16;

bool has_bias(const KernelRequest& request) {
  return request.inputs.size() > kBias && request.inputs[kBias].present;
}

}  // namespace

Tensor make_panels(int64_t output_channels, int64_t depth) {
  const int64_t lanes = direct_loops().lanes;
  return Tensor(DataType::kFLOAT, {padded_channels(output_channels) / lanes * depth, lanes});
}

bool DirectWeights::fit(int64_t output_channels, int64_t depth) const {
  const int64_t lanes = direct_loops().lanes, all = padded_channels(output_channels);
  if (quantized)
    return quantized->fit(output_channels) && quantized->rows == depth && bias.count() == all;
  return weights.shape() == Shape({Shape({all / lanes, depth}).volume(), lanes})
         && bias.count() == all;
}

namespace {

/// Elements [first, end) of a panel.
void write_panel(const float* weights, const WeightSteps& steps, int64_t used, int64_t width,
                 int64_t first, int64_t end, float* panel) {
  if (steps.element == 1 && used == width)
    return turn_rows(weights + first, steps.output_channel, width, end - first,
                     panel + first * width, width);
  constexpr int64_t kLanes = 16;
  if (steps.output_channel == 1 && used == width && width % kLanes == 0) {
    for (int64_t k = first; k < end; ++k)
      for (int64_t c = 0; c < width; c += kLanes)
        std::copy_n(weights + k * steps.element + c, kLanes, panel + k * width + c);
    return;
  }
  for (int64_t k = first; k < end; ++k) {
    float* const to = panel + k * width;
    const float* const from = weights + k * steps.element;
    if (steps.output_channel == 1)
      std::copy_n(from, used, to);
    else
      for (int64_t c = 0; c < used; ++c) to[c] = from[c * steps.output_channel];
    std::fill(to + used, to + width, 0.f);
  }
}

}  // namespace

void write_panels(const float* weights, const WeightSteps& steps, int64_t output_channels,
                  int64_t depth, float* panels) {
  // Weights are read in the order in which they lie: panel after panel to its end, or where output
  // channels lie together, few elements of all panels.
  constexpr int64_t kElements = 16;
  const int64_t panel = direct_panel(), all = units(output_channels, panel);
  const int64_t length = steps.output_channel == 1 ? kElements : std::max<int64_t>(depth, 1);
  const int64_t lengths = units(depth, length);
  const int64_t grain = std::max<int64_t>(kGrain / (panel * length), 1);
  parallel_for(all * lengths, grain, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const int64_t first = i % all * panel, from = i / all * length;
      const int64_t width = std::min(panel, padded_channels(output_channels) - first);
      write_panel(weights + first * steps.output_channel, steps,
                  std::min(width, output_channels - first), width, from,
                  std::min(from + length, depth), panels + first * depth);
    }
  });
}

Tensor padded_bias(const Tensor* bias, int64_t output_channels) {
  Tensor out(DataType::kFLOAT, {padded_channels(output_channels)});
  auto* const to = out.mutable_data<float>();
  std::fill_n(to, out.count(), 0.f);
  if (bias != nullptr) std::copy_n(bias->data<float>(), output_channels, to);
  return out;
}

DirectWeights stored_weights(const StoredKernel& stored) {
  const auto& packed = stored.packed;
  require(packed.size() == 2 && packed[0].type() == DataType::kFLOAT
              && packed[1].type() == DataType::kFLOAT,
          "{} stored tensors, expected weights and bias", packed.size());
  return {packed[0], packed[1]};
}

std::string refusal_of_constants(const KernelRequest& request, int64_t weights,
                                 int64_t output_channels) {
  const Tensor* const bias = constant_bias(request);
  if (request.constants[1] == nullptr || (has_bias(request) && bias == nullptr))
    return "only constant weights are supported";
  if (request.constants[1]->count() != weights
      || (bias != nullptr && bias->count() != output_channels))
    return "the shape of W or B does not fit kernel_shape and group";
  return "";
}

const Tensor* constant_bias(const KernelRequest& request) {
  return has_bias(request) ? request.constants[kBias] : nullptr;
}

Variant<DirectWeights, std::string> convolution_weights(const Convolution& op,
                                                        const KernelRequest& request) {
  const int64_t channels = request.inputs[0].shape[1];
  const int64_t count = Shape({op.output_channels, channels, op.kernel.volume()}).volume();
  if (auto reason = refusal_of_constants(request, count, op.output_channels); !reason.empty())
    return reason;
  const int64_t depth = channels * op.kernel.volume();
  DirectWeights packed;
  packed.weights = make_panels(op.output_channels, depth);
  write_panels(request.constants[1]->data<float>(), {depth, 1}, op.output_channels, depth,
               packed.weights.mutable_data<float>());
  packed.bias = padded_bias(constant_bias(request), op.output_channels);
  return packed;
}

DirectProduct::DirectProduct(const DirectWeights& weights, int64_t depth,
                             const PointwiseProgram& epilogue, std::span<const TensorSpec> inputs,
                             const TensorSpec& output)
    : weights_(weights),
      epilogue_(epilogue, inputs, output, LoopDoes::kSumAndBounds),
      vectors_(units(output.shape[1], direct_loops().lanes)) {
  require(weights.fit(output.shape[1], depth),
          "the packed weights do not fit {} elements of a window and {} output channels", depth,
          output.shape[1]);
  require(output.layout == direct_layout(), "the result must lie in blocks of {} channels",
          direct_loops().lanes);
  form_.depth = depth;
  form_.out_step = output.shape.volume(2, output.shape.rank()) * direct_loops().lanes;
  form_.out_pixel = direct_loops().lanes;
  form_.lower = epilogue_.lower();
  form_.upper = epilogue_.upper();
}

void DirectProduct::set_windows(std::vector<int64_t> offsets, int64_t step, bool are_far) {
  are_far_ = are_far;
  offsets_ = std::move(offsets);
  form_.offsets = offsets_.data();
  form_.step = step;
}

void DirectProduct::take_images_as_pixels(int64_t step) {
  images_are_pixels_ = true;
  form_.step = step;
  form_.out_step = direct_loops().lanes;
  form_.out_pixel = vectors_ * form_.out_step;
}

void DirectProduct::begin(const RunArguments& arguments) {
  result_ = static_cast<float*>(arguments.outputs[0]);
  epilogue_.begin(arguments);
  form_.addend = epilogue_.addend();
  form_.result = result_;
}

void DirectProduct::run(const float* in, const DirectBlocks& blocks, int64_t first_vector,
                        int64_t end_vector, int64_t vector_after) const {
  const int64_t lanes = direct_loops().lanes;
  const int64_t count = units(blocks.end - blocks.first, blocks.length);
  // Two short rows share the weights that are loaded.
  const bool pairs = blocks.length <= direct_loops().short_row;
  // Blocks of the result are counted through all images.
  const int64_t block = blocks.image * vectors_;
  for (int64_t v = first_vector; v < end_vector; v += kPanelVectors) {
    const int64_t next = v + kPanelVectors < end_vector ? v + kPanelVectors : vector_after;
    const int64_t vectors = std::min(kPanelVectors, end_vector - v), output_channel = v * lanes;
    for (int64_t block_index = 0, rows; block_index < count; block_index += rows) {
      const int64_t first = blocks.first + block_index * blocks.length, left = blocks.end - first;
      rows = pairs && left >= 2 * blocks.length ? 2 : 1;
      const int64_t pixels = std::min(blocks.length, left);
      direct_loops().run(form_, in + block_index * blocks.step,
                         weights_.panel(output_channel, form_.depth),
                         weights_.width_of(output_channel),
                         next_weights(next, block_index, block_index + rows, count),
                         weights_.bias_of(output_channel), vectors,
                         {pixels, rows, blocks.step, are_far_ && v == first_vector},
                         result_ + (block + v) * form_.out_step + first * form_.out_pixel);
      for (int64_t w = v; w < v + vectors; ++w) run_epilogue(blocks.image, w, first, rows * pixels);
    }
  }
}

// The epilogue of a vector's results.
void DirectProduct::run_epilogue(int64_t image, int64_t vector, int64_t first,
                                 int64_t pixels) const {
  if (!images_are_pixels_) return epilogue_.run(image * vectors_ + vector, first, pixels);
  for (int64_t i = first; i < first + pixels; ++i) epilogue_.run(i * vectors_ + vector, 0, 1);
}

// The part of a panel for blocks [first, last) of so many.
NextRead DirectProduct::next_weights(int64_t vector, int64_t first, int64_t last,
                                     int64_t blocks) const {
  const int64_t output_channel = vector * direct_loops().lanes,
                all = weights_.width_of(output_channel) * form_.depth;
  const int64_t begin = all * first / blocks, end = all * last / blocks;
  return {weights_.panel(output_channel, form_.depth) + begin, end - begin};
}

Work direct_work(int64_t images, int64_t blocks, int64_t pixels, int64_t floats, int64_t vectors,
                 int64_t depth) {
  constexpr int64_t kBytes = sizeof(float);
  return {.images = images,
          .blocks = blocks,
          .columns = vectors,
          .panel = kPanelVectors,
          .products = static_cast<double>(pixels * direct_panel()) * static_cast<double>(depth),
          .block_bytes = floats * kBytes,
          .panel_bytes = direct_panel() * depth * kBytes};
}

}  // namespace tenon::cpu
