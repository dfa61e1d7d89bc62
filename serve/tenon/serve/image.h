// Images in memory of others: what pre-processing reads.
#ifndef TENON_SERVE_IMAGE_H
#define TENON_SERVE_IMAGE_H

#include <tenon/session/result.h>

#include <cstdint>

namespace tenon::serve {

using session::Error;
using session::Result;

/// Bytes of pixels: channels side by side, or luma and chroma. NV12 is a plane of Y and, at half
/// the height, one of U and V in turn; I420 has three planes; YUYV is Y, U, Y, V for two pixels.
enum class PixelFormat { kGrey, kRGB, kBGR, kRGBA, kBGRA, kNV12, kI420, kYUYV };

/// "NV12"; "unknown format" for what is none.
const char* format_name(PixelFormat format);

/// What Y, U and V mean, Y from 16 to 235: BT.601 as OpenCV's cvtColor, or BT.709.
enum class YuvStandard { kBT601, kBT709 };

/// A view: the pixels stay the caller's, and must live until what reads them is done, on a GPU
/// until the tensor's stream has come so far. Strides are bytes from a row to the next, and may be
/// larger than a row; 0 stands for rows one behind the other.
struct Image {
  PixelFormat format = PixelFormat::kBGR;
  int64_t width = 0, height = 0;  ///< in pixels
  const uint8_t* planes[3] = {};
  int64_t strides[3] = {};
  YuvStandard standard = YuvStandard::kBT601;
  /// In memory of the device that the tensor is on; then the tensor is filled there too, in the
  /// order of its stream.
  bool on_device = false;

  /// Grey, RGB, BGR, RGBA, BGRA, or YUYV.
  static Image packed(PixelFormat format, const uint8_t* data, int64_t width, int64_t height,
                      int64_t stride = 0);
  static Image nv12(const uint8_t* y, int64_t y_stride, const uint8_t* uv, int64_t uv_stride,
                    int64_t width, int64_t height);
  static Image i420(const uint8_t* y, int64_t y_stride, const uint8_t* u, const uint8_t* v,
                    int64_t chroma_stride, int64_t width, int64_t height);
  /// Planes one behind the other, without gaps, as OpenCV has them.
  static Image nv12(const uint8_t* data, int64_t width, int64_t height);
  static Image i420(const uint8_t* data, int64_t width, int64_t height);
};

}  // namespace tenon::serve

#endif  // TENON_SERVE_IMAGE_H
