#include "head.h"

#include "guard.h"
#include "suppress.h"
#include "tenon/plugin/convert.h"

namespace tenon::serve {

void fail(std::string_view who, const std::string& expected, const std::string& found) {
  throw Error{std::string(who) + ": expected " + expected + ", found " + found};
}

void require_threshold(std::string_view who, std::string_view what, float threshold) {
  if (!(threshold >= 0 && threshold <= 1))
    fail(who, "a " + std::string(what) + " from 0 to 1", std::to_string(threshold));
}

void require_options(std::string_view who, const DetectOptions& options) {
  require_threshold(who, "score threshold", options.score_threshold);
  require_nms_options(options.nms);
  if (options.classes < 0)
    fail(who, "0 or more classes in the options", std::to_string(options.classes));
  require_finite(who, options.to_picture);
  if (options.width < 0 || options.height < 0)
    fail(who, "0 or more pixels of the picture",
         std::to_string(options.width) + "x" + std::to_string(options.height));
}

void require_classes(std::string_view who, int64_t wanted, int64_t found) {
  if (wanted != 0 && wanted != found)
    fail(who, std::to_string(wanted) + " classes", std::to_string(found));
}

void require_finite(std::string_view who, const Matrix23& to_picture) {
  for (const float number : to_picture)
    if (!std::isfinite(number))
      fail(who, "a matrix of finite numbers to the picture", std::to_string(number));
}

void require_inverse(std::string_view who, const Matrix23& to_picture) {
  // So that no pixel of any picture becomes infinite.
  const auto is_usual = [](const Matrix23& m) {
    return std::all_of(m.begin(), m.end(), [](float number) { return std::abs(number) <= 1e20F; });
  };
  const auto back = inverted(to_picture);
  if (!back) fail(who, "a matrix to the picture that has an inverse", back.error());
  if (!is_usual(to_picture) || !is_usual(*back))
    fail(who, "a matrix to the picture that has an inverse", "one with numbers above 1e20");
}

void require_picture(std::string_view who, const Matrix23& to_picture, int64_t width,
                     int64_t height, int64_t input_width, int64_t input_height) {
  constexpr int64_t kMaxSide = 1 << 16, kMaxPixels = 1 << 28;
  if (input_width < 1 || input_height < 1)
    fail(who, "an input of 1 or more pixels a side",
         std::to_string(input_width) + "x" + std::to_string(input_height));
  if (width < 1 || height < 1 || width > kMaxSide || height > kMaxSide
      || width * height > kMaxPixels)
    fail(who, "a picture of 1 to 65536 pixels a side and 2^28 in all",
         std::to_string(width) + "x" + std::to_string(height));
  require_inverse(who, to_picture);
}

void require_map(std::string_view who, const View& view, int64_t width, int64_t height) {
  constexpr int64_t kMaxSide = 1 << 16;
  if (width < 1 || height < 1 || width > kMaxSide || height > kMaxSide)
    fail(who, "a map of 1 to 65536 cells a side", view.text());
}

Matrix23 picture_to_cells(const Matrix23& to_picture, int64_t input_width, int64_t input_height,
                          int64_t width, int64_t height) {
  const float x = static_cast<float>(width) / static_cast<float>(input_width);
  const float y = static_cast<float>(height) / static_cast<float>(input_height);
  const Matrix23 back = session::value_of(inverted(to_picture));
  return {back[0] * x, back[1] * x, (back[2] + 0.5F) * x - 0.5F,
          back[3] * y, back[4] * y, (back[5] + 0.5F) * y - 0.5F};
}

Floats::Floats(const View& view) : data_(static_cast<const float*>(view.data())) {
  if (view.type() == DataType::kFLOAT) return;
  widened_.resize(static_cast<size_t>(view.count()));
  kit::convert(static_cast<const kit::Half*>(view.data()), widened_.data(), view.count());
  data_ = widened_.data();
}

}  // namespace tenon::serve
