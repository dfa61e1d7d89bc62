// Boxes with a name, drawn into pictures, for the examples.
#ifndef EXAMPLES_COMMON_LABEL_H
#define EXAMPLES_COMMON_LABEL_H

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdint>
#include <string_view>

#include "common/drawing.h"

namespace examples {

/// Red, green and blue from 0 to 255.
using Color = uint8_t[3];

namespace detail {

/// Five rows of three pixels, the upper left one in the highest of 15 bits: a character in
/// capitals, or a blank for what is neither a letter nor a digit, a point or a hyphen.
inline uint16_t glyph(char character) {
  constexpr std::array<uint16_t, 26> kLetters = {
      0b010'101'111'101'101, 0b110'101'110'101'110, 0b011'100'100'100'011, 0b110'101'101'101'110,
      0b111'100'110'100'111, 0b111'100'110'100'100, 0b011'100'101'101'011, 0b101'101'111'101'101,
      0b111'010'010'010'111, 0b001'001'001'101'010, 0b101'101'110'101'101, 0b100'100'100'100'111,
      0b101'111'111'101'101, 0b110'101'101'101'101, 0b010'101'101'101'010, 0b110'101'110'100'100,
      0b010'101'101'110'011, 0b110'101'110'101'101, 0b011'100'010'001'110, 0b111'010'010'010'010,
      0b101'101'101'101'111, 0b101'101'101'101'010, 0b101'101'111'111'101, 0b101'101'010'101'101,
      0b101'101'010'010'010, 0b111'001'010'100'111};
  constexpr std::array<uint16_t, 10> kDigits = {
      0b111'101'101'101'111, 0b010'110'010'010'111, 0b111'001'111'100'111, 0b111'001'011'001'111,
      0b101'101'111'001'001, 0b111'100'111'001'111, 0b111'100'111'101'111, 0b111'001'010'010'010,
      0b111'101'111'101'111, 0b111'101'111'001'111};
  const auto byte = static_cast<unsigned char>(character);
  if (std::isalpha(byte)) return kLetters[static_cast<size_t>(std::toupper(byte) - 'A')];
  if (std::isdigit(byte)) return kDigits[static_cast<size_t>(byte - '0')];
  return character == '.' ? 0b010 : character == '-' ? 0b111'000'000 : 0;
}

inline void fill(tenon::Picture& picture, int left, int top, int width, int height,
                 const Color& color) {
  for (int y = std::max(top, 0); y < std::min(top + height, picture.height); ++y)
    for (int x = std::max(left, 0); x < std::min(left + width, picture.width); ++x)
      std::copy_n(color, 3, picture.at(x, y));
}

}  // namespace detail

/// The edges of a box, in a colour of its class, and above it a line of dark text; inside where
/// there is no room above.
inline void draw_box(tenon::Picture& picture, const tenon::serve::Box& box, std::string_view text) {
  Color color;
  for (int channel = 0; channel < 3; ++channel)  // bright enough for dark text
    color[channel] = static_cast<uint8_t>((box.class_label + 1) * (57 + 40 * channel) % 156 + 100);
  constexpr int kDot = 2, kAdvance = 4 * kDot, kHeight = 7 * kDot;
  draw_box(picture, box, color);
  const int x = std::max(static_cast<int>(box.left) - 1, 0);
  const int y = box.top < kHeight ? static_cast<int>(box.top) : static_cast<int>(box.top) - kHeight;
  const int width = static_cast<int>(text.size()) * kAdvance + kDot;
  detail::fill(picture, x, y, width, kHeight, color);
  for (size_t i = 0; i < text.size(); ++i)
    for (int dot = 0; dot < 15; ++dot)
      if ((detail::glyph(text[i]) >> (14 - dot) & 1) != 0)
        detail::fill(picture, x + kDot + static_cast<int>(i) * kAdvance + dot % 3 * kDot,
                     y + kDot + dot / 3 * kDot, kDot, kDot, {20, 20, 20});
}

}  // namespace examples

#endif  // EXAMPLES_COMMON_LABEL_H
