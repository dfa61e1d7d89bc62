// Images as kernels read them, once they are known to be right.
#ifndef TENON_SERVE_IMAGE_IMAGE_VIEW_H
#define TENON_SERVE_IMAGE_IMAGE_VIEW_H

#include <tenon/kernels/image_pixels.h>

#include "tenon/serve/image.h"

namespace tenon::serve {

/// Positions are floats, which count pixels as far as this.
inline constexpr int64_t kMaxExtent = int64_t{1} << 24;

/// Throws Error, with what the extents are of, for those that are not from 1 to kMaxExtent.
void check_extents(const char* what, int64_t width, int64_t height);
/// Throws Error for images that are none.
kernels::ImageView image_view(const Image& image);

}  // namespace tenon::serve

#endif  // TENON_SERVE_IMAGE_IMAGE_VIEW_H
