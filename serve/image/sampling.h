// From what callers want to what kernels do, and where they do it.
#ifndef TENON_SERVE_IMAGE_SAMPLING_H
#define TENON_SERVE_IMAGE_SAMPLING_H

#include <tenon/kernels/image_sampling.h>

#include <vector>

#include "tenon/serve/preprocess.h"

namespace tenon::serve {

/// A sampling that says how the image, the item and the norm are; `data` of its target is null yet.
/// Throws Error for what is wrong with them.
kernels::ImageSampling sampling_of(const Image& image, const Item& item, const Norm& norm,
                                   uint8_t border);

/// The whole image, resized to columns [left, left + width) and rows [top, top + height).
void set_resize(kernels::ImageSampling& sampling, int64_t left, int64_t top, int64_t width,
                int64_t height);
/// Throws Error for matrices without an inverse.
void set_affine(kernels::ImageSampling& sampling, const Matrix23& d2i);

/// Fills items from `item.index` on, one for each sampling, where the image is. Throws Error when
/// there is no memory, or CUDA fails.
void run(std::vector<kernels::ImageSampling>& samplings, const Image& image, const Item& item);

/// Into memory of the host.
void sample_on_host(const kernels::ImageSampling& sampling);

/// Throws Error where CUDA failed at `what`.
void check_cuda(cudaError_t error, const char* what);

}  // namespace tenon::serve

#endif  // TENON_SERVE_IMAGE_SAMPLING_H
