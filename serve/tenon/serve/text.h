// What text says: the scores of a text recogniser to characters.
#ifndef TENON_SERVE_TEXT_H
#define TENON_SERVE_TEXT_H

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tenon/serve/view.h"

namespace tenon::serve {

/// The code points of a text in UTF-8, one a character. An error where it is not UTF-8, or empty.
Result<std::vector<std::string>> characters_of(std::string_view text) noexcept;
/// The lines of a dictionary in UTF-8, as PaddleOCR's, one a character; ends of lines are \n or
/// \r\n. An error where it is not UTF-8, or empty.
Result<std::vector<std::string>> characters_of_lines(std::string_view text) noexcept;

struct TextCharacter {
  int32_t class_label = 0;
  int64_t step = 0;  ///< the first at which it was read
  float score = 0;   ///< there
};

struct Text {
  std::string text;  ///< UTF-8
  float score = 0;   ///< the mean of its characters'; 0 for no text
  std::vector<TextCharacter> characters;
};

struct TextOptions {
  int64_t blank = 0;      ///< the class that is none of the alphabet's
  bool is_logit = false;  ///< scores are given before the softmax
};

/// Greedy decoding of connectionist temporal classification (Graves et al., 2006): the best class
/// of each step, without repeats and then without blanks. Of equal scores the lower class is the
/// best, and a step of NaNs is a blank.
/// @param scores (steps, classes).
/// @param alphabet what the classes but the blank mean, in their order: one less than there are.
/// An error for another shape or number of characters, or a blank that is no class.
Result<Text> decode_text(const View& scores, std::span<const std::string> alphabet,
                         const TextOptions& options = {}) noexcept;

/// The same of the best class of each step, and its score. An error for a label that is no class,
/// or other numbers of scores than of labels.
Result<Text> decode_text(std::span<const int32_t> labels, std::span<const float> scores,
                         std::span<const std::string> alphabet, int64_t blank = 0) noexcept;

}  // namespace tenon::serve

#endif  // TENON_SERVE_TEXT_H
