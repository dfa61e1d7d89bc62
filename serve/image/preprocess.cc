#include "tenon/serve/preprocess.h"

#include <tenon/kernels/fitting.h>
#include <tenon/kernels/l2_rows.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "cuda/launch.h"
#include "guard.h"
#include "image_view.h"
#include "sampling.h"
#include "tensor/on_gpu.h"

namespace tenon::serve {
namespace {

using kernels::ImageSampling;
using session::guard;
using session::value_of;

// One sampling, which `set` says where to read.
template <class Set>
Result<void> run_one(const Image& image, const Item& item, const Norm& norm, uint8_t border,
                     const Set& set) noexcept {
  return guard([&] {
    std::vector<ImageSampling> samplings = {sampling_of(image, item, norm, border)};
    set(samplings[0]);
    run(samplings, image, item);
  });
}

// The part of the image that a rectangle encloses, as an image of its own would be resized.
void set_crop(ImageSampling& sampling, const Rectangle& rectangle, size_t number) {
  const auto edge = [](float at, int32_t extent) {
    return std::isnan(at) ? 0 : std::llrint(std::clamp(at, 0.F, static_cast<float>(extent)));
  };
  const int32_t width = sampling.image.width, height = sampling.image.height;
  const int64_t left = edge(rectangle.left, width), right = edge(rectangle.right, width);
  const int64_t top = edge(rectangle.top, height), bottom = edge(rectangle.bottom, height);
  if (left >= right || top >= bottom)
    throw Error{"rectangle " + std::to_string(number) + ", from (" + std::to_string(rectangle.left)
                + ", " + std::to_string(rectangle.top) + ") to (" + std::to_string(rectangle.right)
                + ", " + std::to_string(rectangle.bottom) + "), has no pixels of an image of "
                + std::to_string(width) + "x" + std::to_string(height)};
  sampling.is_separable = true;
  sampling.columns = kernels::resize_axis(left, right, 0, sampling.to.width);
  sampling.rows = kernels::resize_axis(top, bottom, 0, sampling.to.height);
}

void check_letterbox(const Letterbox& box, const ImageSampling& sampling) {
  const auto text = [](int64_t width, int64_t height) {
    return std::to_string(width) + "x" + std::to_string(height);
  };
  const ImageSampling& s = sampling;
  if (box.image_width != s.image.width || box.image_height != s.image.height
      || box.width != s.to.width || box.height != s.to.height)
    throw Error{"the letterbox was made for an image of " + text(box.image_width, box.image_height)
                + " and an input of " + text(box.width, box.height) + ": found "
                + text(s.image.width, s.image.height) + " and " + text(s.to.width, s.to.height)};
}

void set_perspective(ImageSampling& sampling, const Matrix33& d2i) {
  value_of(inverted(d2i));
  sampling.is_separable = false;
  sampling.is_perspective = true;
  std::copy(d2i.begin(), d2i.end(), sampling.matrix);
}

}  // namespace

Result<void> resize_bilinear_and_normalize(const Image& image, const Item& item,
                                           const Norm& norm) noexcept {
  return run_one(image, item, norm, kBorder,
                 [](ImageSampling& s) { set_resize(s, 0, 0, s.to.width, s.to.height); });
}

Result<void> letterbox(const Image& image, const Letterbox& letterbox, const Item& item,
                       const Norm& norm, uint8_t border) noexcept {
  return run_one(image, item, norm, border, [&](ImageSampling& sampling) {
    check_letterbox(letterbox, sampling);
    if (letterbox.inner_width > 0)
      set_resize(sampling, letterbox.left, letterbox.top, letterbox.inner_width,
                 letterbox.inner_height);
    else
      set_affine(sampling, letterbox.d2i);
  });
}

Result<void> warp_affine(const Image& image, const Matrix23& d2i, const Item& item,
                         const Norm& norm, uint8_t border) noexcept {
  return run_one(image, item, norm, border, [&](ImageSampling& s) { set_affine(s, d2i); });
}

Result<void> warp_affine_bilinear_and_normalize_plane(const Image& image, const Matrix23& d2i,
                                                      Tensor& tensor, int64_t index,
                                                      const Norm& norm, uint8_t border) noexcept {
  return warp_affine(image, d2i, {tensor, index, Layout::kNCHW}, norm, border);
}

Result<void> warp_affine_bilinear_and_normalize_focus(const Image& image, const Matrix23& d2i,
                                                      Tensor& tensor, int64_t index,
                                                      const Norm& norm, uint8_t border) noexcept {
  return warp_affine(image, d2i, {tensor, index, Layout::kFocus}, norm, border);
}

Result<void> warp_perspective(const Image& image, const Matrix33& d2i, const Item& item,
                              const Norm& norm, uint8_t border) noexcept {
  return run_one(image, item, norm, border, [&](ImageSampling& s) { set_perspective(s, d2i); });
}

Result<void> crop_rectangles(const Image& image, std::span<const Rectangle> rectangles,
                             const Item& first, const Norm& norm) noexcept {
  return guard([&] {
    std::vector<ImageSampling> samplings(rectangles.size(),
                                         sampling_of(image, first, norm, kBorder));
    for (size_t i = 0; i < rectangles.size(); ++i) set_crop(samplings[i], rectangles[i], i);
    run(samplings, image, first);
  });
}

Result<void> warp_affine_crops(const Image& image, std::span<const Matrix23> d2i, const Item& first,
                               const Norm& norm, uint8_t border) noexcept {
  return guard([&] {
    std::vector<ImageSampling> samplings(d2i.size(), sampling_of(image, first, norm, border));
    for (size_t i = 0; i < d2i.size(); ++i) set_affine(samplings[i], d2i[i]);
    run(samplings, image, first);
  });
}

Result<void> norm_feature(Tensor& tensor) noexcept {
  return guard([&] {
    const bool is_half = tensor.type() == DataType::kHALF;
    if (!is_half && tensor.type() != DataType::kFLOAT)
      throw Error{"features are float32 or float16: the tensor is of "
                  + session::type_name(tensor.type())};
    if (tensor.ndims() < 1) throw Error{"features have an axis of items: the tensor is a scalar"};
    if (tensor.empty()) return;
    if (tensor.head() == DataHead::kInit) throw Error{"the tensor has no data yet"};
    const bool on_device = tensor.head() == DataHead::kDevice;
    void* const rows = value_of(on_device ? tensor.gpu() : tensor.cpu());
    const int64_t count = tensor.batch(), width = tensor.count(1);
    if (on_device) {
      const AutoDevice on(tensor.device());
      check_cuda(on.status(), "norm_feature");
      if (is_on_gpu(rows))
        return check_cuda(launch_l2_rows(rows, is_half, count, width, tensor.stream()),
                          "norm_feature");
      value_of(tensor.synchronize());
    }
    if (is_half)
      kernels::l2_rows(kit::Device{}, static_cast<kit::Half*>(rows), count, width);
    else
      kernels::l2_rows(kit::Device{}, static_cast<float*>(rows), count, width);
  });
}

Result<void> convert_color(const Image& image, PixelFormat to, uint8_t* data,
                           int64_t stride) noexcept {
  return guard([&] {
    if (to > PixelFormat::kBGRA)
      throw Error{std::string("images cannot become ") + format_name(to)
                  + ": expected grey, RGB, BGR, RGBA or BGRA"};
    if (image.on_device) throw Error{"the image is on the device: expected one on the host"};
    // An image of the result's format: what is right of it is right of the result.
    const kernels::ImageView result =
        image_view(Image::packed(to, data, image.width, image.height, stride));
    const int channels = kernels::channels_of(result.layout);
    Tensor shape({1, image.height, image.width, channels}, DataType::kUINT8);
    Norm norm;
    const bool from_rgb = image.format == PixelFormat::kRGB || image.format == PixelFormat::kRGBA;
    const bool to_rgb = to == PixelFormat::kRGB || to == PixelFormat::kRGBA;
    norm.channel_type = from_rgb != to_rgb ? ChannelType::Invert : ChannelType::None;
    ImageSampling sampling = sampling_of(image, {shape, 0, Layout::kNHWC}, norm, 0);
    set_resize(sampling, 0, 0, image.width, image.height);
    sampling.to.data = data;
    sampling.to.row_step = result.stride[0];
    sample_on_host(sampling);
  });
}

Result<void> convert_nv12_to_bgr(const Image& nv12, uint8_t* bgr, int64_t stride) noexcept {
  if (nv12.format != PixelFormat::kNV12)
    return Error{std::string("expected an image of NV12, found ") + format_name(nv12.format)};
  return convert_color(nv12, PixelFormat::kBGR, bgr, stride);
}

}  // namespace tenon::serve
