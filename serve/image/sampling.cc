#include "sampling.h"

#include <tenon/kernels/fitting.h>
#include <tenon/kernels/image_tiles.h>

#include <cmath>
#include <string>
#include <utility>

#include "cuda/launch.h"
#include "guard.h"
#include "image_view.h"
#include "tensor/on_gpu.h"

namespace tenon::serve {
namespace {

using kernels::ImageSampling;
using kernels::ImageTarget;
using kernels::PixelLayout;
using kernels::TargetLayout;
using kernels::TargetType;
using session::value_of;

static_assert(sizeof(ImageSampling) == kSamplingBytes);
static_assert(std::is_trivially_copyable_v<ImageSampling>);

TargetType target_type(const Tensor& tensor) {
  switch (tensor.type()) {
    case DataType::kFLOAT:
      return TargetType::kFloat;
    case DataType::kHALF:
      return TargetType::kHalf;
    case DataType::kUINT8:
      return TargetType::kUint8;
    default:
      throw Error{"images become float32, float16 or uint8: the tensor is of "
                  + session::type_name(tensor.type())};
  }
}

// The channels of an item of so many, which an image can give.
int32_t checked_channels(const Image& image, PixelLayout layout, int64_t channels) {
  const int has = kernels::channels_of(layout);
  if (channels == has || (channels == 3 && has != 3)) return static_cast<int32_t>(channels);
  throw Error{std::string("images of ") + format_name(image.format) + " have " + std::to_string(has)
              + " channels" + (has != 3 ? ", or 3," : "") + " to give: the tensor wants "
              + (channels > 4 ? "more than 4" : std::to_string(channels))};
}

kernels::ChannelNorm checked_norm(const Norm& norm, int32_t channels) {
  kernels::ChannelNorm checked{};
  checked.swaps = norm.channel_type == ChannelType::Invert;
  for (size_t c = 0; c < 3; ++c) {
    checked.scale[c] = norm.scale[c];
    checked.shift[c] = norm.shift[c];
    const bool is_used = static_cast<int32_t>(c) < channels;
    if (is_used && (!std::isfinite(norm.scale[c]) || !std::isfinite(norm.shift[c])))
      throw Error{"the norm of channel " + std::to_string(c) + " is x * "
                  + std::to_string(norm.scale[c]) + " + " + std::to_string(norm.shift[c])
                  + ": expected finite numbers, and a std that is not 0"};
  }
  return checked;
}

TargetLayout target_layout(Layout layout) {
  switch (layout) {
    case Layout::kNCHW:
      return TargetLayout::kPlanes;
    case Layout::kNHWC:
      return TargetLayout::kPixels;
    case Layout::kFocus:
      return TargetLayout::kFocus;
  }
  throw Error{"the item's layout is none of NCHW, NHWC and Focus"};
}

// Where an item's elements lie, counted from its own first.
ImageTarget target_of(const Item& item, const Image& image, PixelLayout from, const Norm& norm) {
  const Tensor& tensor = item.tensor;
  const TargetType type = target_type(tensor);
  if (tensor.ndims() != 4)
    throw Error{"images fill tensors of rank 4: found the shape " + tensor.shape_string()};
  if (item.index < 0 || item.index >= tensor.batch())
    throw Error{"item " + std::to_string(item.index) + " is outside of a batch of "
                + std::to_string(tensor.batch())};
  const TargetLayout layout = target_layout(item.layout);
  const bool is_nhwc = layout == TargetLayout::kPixels;
  const int64_t share = layout == TargetLayout::kFocus ? 2 : 1;
  const int64_t height = tensor.size(is_nhwc ? 1 : 2) * share;
  const int64_t width = tensor.size(is_nhwc ? 2 : 3) * share;
  const int64_t channels = tensor.size(is_nhwc ? 3 : 1);
  check_extents("the network's input", width, height);
  if (channels % (share * share) != 0)
    throw Error{"Focus has four times the image's channels: found the shape "
                + tensor.shape_string()};
  const int32_t wanted = checked_channels(image, from, channels / (share * share));
  return kernels::image_target(type, layout, static_cast<int32_t>(width),
                               static_cast<int32_t>(height), wanted, from,
                               checked_norm(norm, wanted));
}

// Throws Error where reading the image would be reading nothing.
void check_memory(const Image& image, bool on_gpu) {
  const bool is_there = is_on_gpu(image.planes[0]);
  if (is_there && !image.on_device)
    throw Error{"the image is in memory of the device: expected on_device to be set"};
  if (!is_there && on_gpu) throw Error{"the image is in memory of the host, but on_device is set"};
}

}  // namespace

void check_cuda(cudaError_t error, const char* what) {
  if (error == cudaErrorNotSupported)
    throw Error{std::string(what) + " on a GPU is not in this build: configure with TENON_CUDA"};
  if (error != cudaSuccess)
    throw Error{std::string(what) + " on the device: " + cudaGetErrorString(error)};
}

ImageSampling sampling_of(const Image& image, const Item& item, const Norm& norm, uint8_t border) {
  ImageSampling sampling{};
  sampling.image = image_view(image);
  sampling.to = target_of(item, image, sampling.image.layout, norm);
  sampling.border = border;
  return sampling;
}

void set_resize(ImageSampling& sampling, int64_t left, int64_t top, int64_t width, int64_t height) {
  sampling.is_separable = true;
  sampling.columns = kernels::resize_axis(0, sampling.image.width, left, width);
  sampling.rows = kernels::resize_axis(0, sampling.image.height, top, height);
}

void set_affine(ImageSampling& sampling, const Matrix23& d2i) {
  value_of(inverted(d2i));
  sampling.is_separable = d2i[1] == 0 && d2i[3] == 0;
  sampling.columns = kernels::warp_axis(d2i[0], d2i[2], sampling.to.width, sampling.image.width);
  sampling.rows = kernels::warp_axis(d2i[4], d2i[5], sampling.to.height, sampling.image.height);
  std::copy(d2i.begin(), d2i.end(), sampling.matrix);
  sampling.matrix[8] = 1;
}

void sample_on_host(const ImageSampling& sampling) {
  kernels::sample_images(kit::Device{}, &sampling, 1);
}

void run(std::vector<ImageSampling>& samplings, const Image& image, const Item& item) {
  if (samplings.empty()) return;
  Tensor& tensor = item.tensor;
  const auto count = static_cast<int64_t>(samplings.size());
  if (count > tensor.batch() - item.index)
    throw Error{std::to_string(count) + " crops from item " + std::to_string(item.index)
                + " on do not fit a batch of " + std::to_string(tensor.batch())};
  auto* const data =
      static_cast<std::byte*>(value_of(image.on_device ? tensor.gpu() : tensor.cpu()));
  const bool on_gpu = image.on_device && is_on_gpu(data);
  check_memory(image, on_gpu);
  for (int64_t i = 0; i < count; ++i)
    samplings[static_cast<size_t>(i)].to.data =
        data + static_cast<size_t>(item.index + i) * tensor.bytes(1);
  if (image.on_device) {
    const AutoDevice on(tensor.device());
    check_cuda(on.status(), "pre-processing");
    if (on_gpu)
      return check_cuda(launch_samplings(samplings.data(), count, tensor.stream()),
                        "pre-processing");
    value_of(tensor.synchronize());
  }
  kernels::sample_images(kit::Device{}, samplings.data(), count);
}

}  // namespace tenon::serve
