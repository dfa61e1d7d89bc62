// Convolution of single elements over blocks of channels, in packed panels of pixels: where blocks
// lie pages apart, a task reads less well what it multiplies where it lies.
#include <algorithm>

#include "cpu/convolution/block_convolution.h"
#include "cpu/convolution/packed_product.h"

namespace tenon::cpu {
namespace {

class PackedExecution final : public BlockExecution {
 public:
  PackedExecution(const Convolution& op, const DirectWeights& weights,
                  std::span<const TensorSpec> inputs, const TensorSpec& output)
      : BlockExecution({}, {}, output),
        weights_(weights),
        epilogue_(op.epilogue, inputs, output, LoopDoes::kSumAndBounds),
        windows_(convolution_windows(op, inputs, output.shape)),
        channels_(inputs[0].shape[1]),
        height_(inputs[0].shape[2]),
        width_(inputs[0].shape[3]),
        row_(output.shape[3]),
        pixels_(output.shape[2] * output.shape[3]),
        vectors_(units(output.shape[1], direct_loops().lanes)) {
    const int64_t lanes = direct_loops().lanes;
    require(inputs[0].layout == direct_layout() && output.layout == direct_layout(),
            "data and result must lie in blocks of {} channels", lanes);
    require(weights_.fit(output.shape[1], channels_),
            "the packed weights do not fit {} channels and {} output channels", channels_,
            output.shape[1]);
    for (size_t i = 0; i < windows_.size(); ++i) {
      const auto axis = static_cast<int>(i) + 2;
      require(windows_[i].kernel == 1 && windows_[i].pre == 0
                  && (output.shape[axis] - 1) * windows_[i].stride < inputs[0].shape[axis],
              "only windows of one element without padding are supported");
    }
    product_ = PackedProduct(weights_, channels_,
                             {false, pixels_ * lanes, lanes, epilogue_.lower(), epilogue_.upper()});
    is_whole_ = windows_[0].stride == 1 && windows_[1].stride == 1 && row_ == width_;
    const int64_t images = inputs[0].shape[0];
    tasks_ = product_.divide(images, pixels_, vectors_);
    set_tasks(tasks_.count(),
              static_cast<double>(images * pixels_) * static_cast<double>(weights_.weights.count()),
              product_.task_floats(tasks_));
  }

 protected:
  void begin(const RunArguments& arguments, float*) override {
    data_ = static_cast<const float*>(arguments.inputs[0]);
    result_ = static_cast<float*>(arguments.outputs[0]);
    epilogue_.begin(arguments);
    product_.begin(result_, epilogue_.addend());
  }

  // Some output channels of some pixels of one image.
  void run_task(int64_t task, float* workspace) const override {
    const auto t = tasks_[task];
    const auto [first, end] = product_.rows_of(t);
    const int64_t pixels = end - first;
    const auto next = tasks_.after(task);
    const int64_t lanes = direct_loops().lanes, plane = height_ * width_ * lanes;
    const float* const image = image_of(t.image);
    product_.run(
        {pixels, t.first_column, t.end_column, tasks_.after(task).first_column,
         result_ + (t.image * vectors_ * pixels_ + first) * lanes},
        workspace,
        [&, first = first](int64_t k, int64_t, int64_t pixel, int64_t count, float* to) {
          copy(image + k / lanes * plane, first + pixel, count, to);
        },
        [&](const Share& channels, bool is_next) -> NextData {
          if (!is_whole_) return {};
          const auto& of = is_next ? next : t;
          if (is_next && of.image == t.image && of.first_block == t.first_block) return {};
          const Share rows = product_.rows_of(of);
          return {image_of(of.image) + channels.first / lanes * plane + rows.first * lanes,
                  units(channels.end - channels.first, lanes), (rows.end - rows.first) * lanes,
                  plane};
        });
    for (int64_t v = t.first_column; v < t.end_column; ++v)
      epilogue_.run(t.image * vectors_ + v, first, pixels);
  }

 private:
  const float* image_of(int64_t image) const {
    const int64_t lanes = direct_loops().lanes;
    return data_ + image * units(channels_, lanes) * height_ * width_ * lanes;
  }

  // What lies under so many pixels of the result, of one block of channels.
  void copy(const float* block, int64_t pixel, int64_t count, float* to) const {
    const int64_t lanes = direct_loops().lanes, down = windows_[0].stride,
                  right = windows_[1].stride;
    if (is_whole_) {
      std::copy_n(block + pixel * lanes, count * lanes, to);
      return;
    }
    for (int64_t p = pixel; p < pixel + count; ++p, to += lanes)
      copy_vector(block + (p / row_ * down * width_ + p % row_ * right) * lanes, lanes, lanes, to);
  }

  DirectWeights weights_;
  BlockedEpilogue epilogue_;
  std::vector<Window> windows_;
  PackedProduct product_;
  Partition tasks_;
  int64_t channels_, height_, width_;  // of the data
  int64_t row_, pixels_, vectors_;     // of the result
  bool is_whole_;                      // whether every element of the data is a window
  const float* data_ = nullptr;
  float* result_ = nullptr;
};

std::string refusal(const Convolution& op, const KernelRequest& request) {
  if (const std::string reason = refusal_of_groups(op, request); !reason.empty()) return reason;
  const auto is = [](const Shape& shape, int64_t number) {
    return std::all_of(shape.begin(), shape.end(), [&](int64_t x) { return x == number; });
  };
  if (op.kernel.volume() != 1 || !is(op.pre_padding, 0) || !is(op.post_padding, 0))
    return "only windows of one element without padding are supported";
  return "";
}

std::unique_ptr<Kernel> make(const Convolution& op, const DirectWeights& weights,
                             const KernelRequest& request) {
  auto kernel = std::make_unique<DirectKernel<Convolution, PackedExecution>>(op, weights);
  lie_in(direct_layout(), *kernel, request);
  return kernel;
}

}  // namespace

Offer offer_packed_convolution(const KernelRequest& request) {
  const auto& op = static_cast<const Convolution&>(request.op);
  if (const std::string reason = refusal(op, request); !reason.empty()) return reason;
  const auto weights = convolution_weights(op, request);
  if (const auto* reason = std::get_if<std::string>(&weights)) return *reason;
  return unless_it_copies_much(make(op, std::get<DirectWeights>(weights), request), request);
}

Offer load_packed_convolution(const KernelRequest& request, const StoredKernel& stored) {
  const auto& op = static_cast<const Convolution&>(request.op);
  if (const std::string reason = refusal(op, request); !reason.empty()) return reason;
  return make(op, stored_weights(stored), request);
}

}  // namespace tenon::cpu
