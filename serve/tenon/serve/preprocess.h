// Images into items of a batch, in one pass: resized or warped, normalised, and laid out.
#ifndef TENON_SERVE_PREPROCESS_H
#define TENON_SERVE_PREPROCESS_H

#include <cstdint>
#include <span>

#include "tenon/serve/image.h"
#include "tenon/serve/letterbox.h"
#include "tenon/serve/norm.h"
#include "tenon/serve/tensor.h"

namespace tenon::serve {

/// (N, C, H, W); (N, H, W, C); or (N, 4 C, H, W) for the four pixels of each 2x2 pixels: YOLOv5's
/// Focus layer, which takes even rows and columns, odd rows, odd columns, then both.
enum class Layout { kNCHW, kNHWC, kFocus };

/// An item of a batch. The tensor is of float32, float16, or uint8, which is rounded and saturates,
/// and of rank 4. C is 1 for grey, 3, or 4 for images that have alpha; grey fills three channels
/// alike, and three take no alpha.
struct Item {
  Tensor& tensor;
  int64_t index = 0;
  Layout layout = Layout::kNCHW;
};

/// Border around images, in all channels, before it is normalised.
inline constexpr uint8_t kBorder = 114;

// What these have in common: pixels mix by bilinear interpolation as OpenCV's INTER_LINEAR does, in
// floats, without rounding between. Nothing else of the tensor changes. Errors, after which it is
// as before: no image, or one without pixels, with more than 2^24 rows or columns, a stride that is
// less than a row, or chroma for half a pixel; an item that the tensor does not have, another type
// or rank, and channels that the image cannot fill; matrices that have no inverse.

/// The whole image to H x W pixels, as cv2.resize.
Result<void> resize_bilinear_and_normalize(const Image& image, const Item& item,
                                           const Norm& norm = Norm::None()) noexcept;
/// As the letterbox says; an error when it was made for other extents.
Result<void> letterbox(const Image& image, const Letterbox& letterbox, const Item& item,
                       const Norm& norm = Norm::None(), uint8_t border = kBorder) noexcept;
/// As cv2.warpAffine with BORDER_CONSTANT and the matrix i2d.
/// @param d2i from the item's pixels to the image's
Result<void> warp_affine(const Image& image, const Matrix23& d2i, const Item& item,
                         const Norm& norm = Norm::None(), uint8_t border = kBorder) noexcept;
/// The same under tensorRT_Pro's names: planes, and YOLOv5's Focus.
Result<void> warp_affine_bilinear_and_normalize_plane(const Image& image, const Matrix23& d2i,
                                                      Tensor& tensor, int64_t index,
                                                      const Norm& norm = Norm::None(),
                                                      uint8_t border = kBorder) noexcept;
Result<void> warp_affine_bilinear_and_normalize_focus(const Image& image, const Matrix23& d2i,
                                                      Tensor& tensor, int64_t index,
                                                      const Norm& norm = Norm::None(),
                                                      uint8_t border = kBorder) noexcept;
/// As cv2.warpPerspective with BORDER_CONSTANT.
/// @param d2i from the item's pixels to the image's
Result<void> warp_perspective(const Image& image, const Matrix33& d2i, const Item& item,
                              const Norm& norm = Norm::None(), uint8_t border = kBorder) noexcept;

/// Edges in pixels of the image; right and bottom are outside.
struct Rectangle {
  float left = 0, top = 0, right = 0, bottom = 0;
};
/// Rectangle i fills item `first.index + i`: its edges are rounded to whole pixels and clipped to
/// the image, and what they enclose is resized, as cv2.resize(image[top:bottom, left:right]). An
/// error when one has no pixels then.
Result<void> crop_rectangles(const Image& image, std::span<const Rectangle> rectangles,
                             const Item& first, const Norm& norm = Norm::None()) noexcept;
/// Matrix i fills item `first.index + i` as by warp_affine: aligned faces, say.
Result<void> warp_affine_crops(const Image& image, std::span<const Matrix23> d2i, const Item& first,
                               const Norm& norm = Norm::None(), uint8_t border = kBorder) noexcept;

/// Rows of axis 0 are divided by their Euclidean length, or by 1e-12 if that is less, in place
/// where the newest data is, as torch.nn.functional.normalize. An error for other types than
/// float32 and float16, and when there is no data.
Result<void> norm_feature(Tensor& tensor) noexcept;

/// The image in another packed format of the same extents, on the host: YUV to RGB or BGR as
/// cv2.cvtColor, RGBA and BGRA without alpha, grey to three channels; RGB to BGR and back.
/// @param to grey, RGB, BGR, RGBA or BGRA
/// @param stride bytes from a row of `data` to the next; 0 for rows one behind the other
Result<void> convert_color(const Image& image, PixelFormat to, uint8_t* data,
                           int64_t stride = 0) noexcept;
/// The same for NV12 to BGR.
Result<void> convert_nv12_to_bgr(const Image& nv12, uint8_t* bgr, int64_t stride = 0) noexcept;

}  // namespace tenon::serve

#endif  // TENON_SERVE_PREPROCESS_H
