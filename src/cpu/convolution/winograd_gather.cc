#include "cpu/convolution/winograd_gather.h"

#include <algorithm>

namespace tenon::cpu {

WinogradGather::WinogradGather(const WinogradForm& form, int64_t results) : form_(form) {
  // With a stride, the part of another phase may begin before the first.
  int64_t bottom = form.parts.front().y.begin;
  top_ = bottom;
  for (const WinogradPart& part : form.parts) {
    top_ = std::min(top_, part.y.begin);
    bottom = std::max(bottom, part.y.begin);
  }
  left_ = form.parts.front().x.begin;
  width_ = form.padded(results + form.size - form.results());
  rows_ = bottom - top_ + (form.size - 1) * form.stride[0] + 1;
  columns_ = form.parts.back().x.begin - left_ + width_;
}

void WinogradGather::gather(const float* image, int64_t height, int64_t width, int64_t y, int64_t x,
                            float* workspace) const {
  // The data with its padding, then a row of zeros.
  float* const data = workspace + gathered_floats();
  float* const zeros = data + padded_floats();
  std::fill_n(data, padded_floats() + columns_, 0.f);
  y += top_;
  x += left_;
  const int64_t begin = std::clamp<int64_t>(-x, 0, columns_);
  const int64_t end = std::clamp(width - x, begin, columns_);
  for (int64_t c = 0; c < form_.channels; ++c)
    for (int64_t i = std::max<int64_t>(-y, 0); i < std::min(rows_, height - y); ++i)
      std::copy_n(image + (c * height + y + i) * width + x + begin, end - begin,
                  data + (c * rows_ + i) * columns_ + begin);

  const auto used = static_cast<int64_t>(form_.parts.size()) * form_.channels;
  for (int64_t first = 0; first < form_.depth(); first += form_.lanes)
    for (int64_t row = 0; row < form_.size; ++row, workspace += row_step()) {
      const float* rows[WinogradForm::kMaxLanes];
      for (int64_t lane = 0; lane < form_.lanes; ++lane) {
        const int64_t at = first + lane, c = at % form_.channels;
        const WinogradPart& part =
            form_.parts[static_cast<size_t>(std::min(at, used - 1) / form_.channels)];
        rows[lane] =
            at >= used ? zeros
                       : data + (c * rows_ + part.y.begin - top_ + row * form_.stride[0]) * columns_
                             + part.x.begin - left_;
      }
      simd_kernels().winograd.interleave(rows, width_, workspace);
    }
}

}  // namespace tenon::cpu
