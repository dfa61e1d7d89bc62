#include "tenon/serve/image.h"

#include <limits>
#include <string>

#include "image_view.h"

namespace tenon::serve {
namespace {

using kernels::PixelLayout;

// What a plane of a format has for a pixel, or for each 2x2 or 1x2 pixels.
struct PlaneRow {
  const char* name;
  int64_t bytes;           // of a row, for each `columns` pixels
  int64_t columns, lines;  // pixels of the image that share them
};
struct FormatRow {
  const char* name;
  PixelLayout layout;
  int64_t columns, lines;  // extents are multiples of these
  int plane_count;
  PlaneRow planes[3];
};
constexpr FormatRow kFormats[] = {
    {"grey", PixelLayout::kOne, 1, 1, 1, {{"pixels", 1, 1, 1}}},
    {"RGB", PixelLayout::kThree, 1, 1, 1, {{"pixels", 3, 1, 1}}},
    {"BGR", PixelLayout::kThree, 1, 1, 1, {{"pixels", 3, 1, 1}}},
    {"RGBA", PixelLayout::kFour, 1, 1, 1, {{"pixels", 4, 1, 1}}},
    {"BGRA", PixelLayout::kFour, 1, 1, 1, {{"pixels", 4, 1, 1}}},
    {"NV12", PixelLayout::kNv12, 2, 2, 2, {{"Y", 1, 1, 1}, {"UV", 2, 2, 2}}},
    {"I420", PixelLayout::kI420, 2, 2, 3, {{"Y", 1, 1, 1}, {"U", 1, 2, 2}, {"V", 1, 2, 2}}},
    {"YUYV", PixelLayout::kYuyv, 2, 1, 1, {{"pixels", 4, 2, 1}}},
};

bool is_format(PixelFormat format) {
  const auto number = static_cast<int64_t>(format);
  return number >= 0 && number < static_cast<int64_t>(std::size(kFormats));
}

const FormatRow& row_of(PixelFormat format) {
  if (!is_format(format))
    throw Error{"the image's format is " + std::to_string(static_cast<int64_t>(format))
                + ", which is none: expected 0 to " + std::to_string(std::size(kFormats) - 1)};
  return kFormats[static_cast<size_t>(format)];
}

std::string extents_text(int64_t width, int64_t height) {
  return std::to_string(width) + "x" + std::to_string(height);
}

}  // namespace

const char* format_name(PixelFormat format) {
  return is_format(format) ? kFormats[static_cast<size_t>(format)].name : "unknown format";
}

Image Image::packed(PixelFormat format, const uint8_t* data, int64_t width, int64_t height,
                    int64_t stride) {
  return {.format = format,
          .width = width,
          .height = height,
          .planes = {data, nullptr, nullptr},
          .strides = {stride, 0, 0}};
}

Image Image::nv12(const uint8_t* y, int64_t y_stride, const uint8_t* uv, int64_t uv_stride,
                  int64_t width, int64_t height) {
  return {.format = PixelFormat::kNV12,
          .width = width,
          .height = height,
          .planes = {y, uv, nullptr},
          .strides = {y_stride, uv_stride, 0}};
}

Image Image::i420(const uint8_t* y, int64_t y_stride, const uint8_t* u, const uint8_t* v,
                  int64_t chroma_stride, int64_t width, int64_t height) {
  return {.format = PixelFormat::kI420,
          .width = width,
          .height = height,
          .planes = {y, u, v},
          .strides = {y_stride, chroma_stride, chroma_stride}};
}

// Without sensible extents there are no planes to point to, and whoever reads the image says so.
Image Image::nv12(const uint8_t* data, int64_t width, int64_t height) {
  const bool is_sound =
      data != nullptr && width > 0 && height > 0 && width <= kMaxExtent && height <= kMaxExtent;
  return nv12(data, 0, is_sound ? data + width * height : nullptr, 0, width, height);
}

Image Image::i420(const uint8_t* data, int64_t width, int64_t height) {
  const bool is_sound =
      data != nullptr && width > 0 && height > 0 && width <= kMaxExtent && height <= kMaxExtent;
  const uint8_t* const u = is_sound ? data + width * height : nullptr;
  return i420(data, 0, u, is_sound ? u + (width / 2) * (height / 2) : nullptr, 0, width, height);
}

void check_extents(const char* what, int64_t width, int64_t height) {
  if (width < 1 || height < 1 || width > kMaxExtent || height > kMaxExtent)
    throw Error{std::string(what) + " is " + extents_text(width, height) + " pixels: expected 1 to "
                + std::to_string(kMaxExtent) + " along each axis"};
}

kernels::ImageView image_view(const Image& image) {
  const FormatRow& format = row_of(image.format);
  check_extents("the image", image.width, image.height);
  if (image.width % format.columns != 0 || image.height % format.lines != 0)
    throw Error{std::string(format.name) + " shares chroma between neighbours: expected an even "
                + (format.lines > 1 ? "width and height" : "width") + ", found "
                + extents_text(image.width, image.height)};
  if (image.standard != YuvStandard::kBT601 && image.standard != YuvStandard::kBT709)
    throw Error{"the image's standard is " + std::to_string(static_cast<int>(image.standard))
                + ", which is none: expected BT.601 or BT.709"};
  kernels::ImageView view{};
  view.width = static_cast<int32_t>(image.width);
  view.height = static_cast<int32_t>(image.height);
  view.layout = format.layout;
  view.color = image.standard == YuvStandard::kBT601 ? kernels::bt601() : kernels::bt709();
  for (int i = 0; i < format.plane_count; ++i) {
    const PlaneRow& plane = format.planes[i];
    const std::string name =
        std::string("the plane of ") + plane.name + " of the " + format.name + " image";
    if (image.planes[i] == nullptr) throw Error{name + " is null"};
    const int64_t bytes = image.width / plane.columns * plane.bytes;
    const int64_t stride = image.strides[i] == 0 ? bytes : image.strides[i];
    if (stride < bytes || stride > std::numeric_limits<int64_t>::max() / image.height)
      throw Error{name + " has a stride of " + std::to_string(stride) + " bytes: expected "
                  + std::to_string(bytes) + " or more for " + std::to_string(image.width)
                  + " pixels"};
    view.plane[i] = image.planes[i];
    view.stride[i] = stride;
  }
  return view;
}

}  // namespace tenon::serve
