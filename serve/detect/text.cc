#include "tenon/serve/text.h"

#include "candidates.h"

namespace tenon::serve {
namespace {

constexpr std::string_view kRecogniser = "text", kAlphabet = "an alphabet";

// Bytes of the code point at `begin`; 0 where there is none: RFC 3629.
size_t code_point_size(std::string_view text, size_t begin) {
  const auto byte = [&](size_t i) -> unsigned {
    return begin + i < text.size() ? static_cast<unsigned char>(text[begin + i]) : 0U;
  };
  const unsigned first = byte(0);
  if (first < 0x80) return 1;
  const size_t size = first < 0xC2 ? 0 : first < 0xE0 ? 2 : first < 0xF0 ? 3 : first < 0xF5 ? 4 : 0;
  for (size_t i = 1; i < size; ++i)
    if ((byte(i) & 0xC0U) != 0x80) return 0;
  const unsigned second = byte(1);
  const bool is_overlong = (first == 0xE0 && second < 0xA0) || (first == 0xF0 && second < 0x90);
  const bool is_surrogate = first == 0xED && second >= 0xA0;
  const bool is_beyond = first == 0xF4 && second >= 0x90;
  return is_overlong || is_surrogate || is_beyond ? 0 : size;
}

std::vector<std::string> code_points(std::string_view text) {
  if (text.empty()) fail(kAlphabet, "one character or more", "none");
  std::vector<std::string> characters;
  for (size_t i = 0; i < text.size();) {
    const size_t size = code_point_size(text, i);
    if (size == 0) fail(kAlphabet, "UTF-8", "other bytes at offset " + std::to_string(i));
    characters.emplace_back(text.substr(i, size));
    i += size;
  }
  return characters;
}

// By the softmax of a step, or as it is. NaNs are no class.
float likelihood(const float* scores, int64_t classes, int64_t best, bool is_logit) {
  if (!is_logit) return scores[best];
  float sum = 0;
  for (int64_t i = 0; i < classes; ++i)
    if (scores[i] == scores[best])
      sum += 1;  // infinite ones too
    else if (scores[i] == scores[i])
      sum += std::exp(scores[i] - scores[best]);
  return 1 / sum;
}

void check_alphabet(std::span<const std::string> alphabet, int64_t blank) {
  if (alphabet.empty()) fail(kRecogniser, "an alphabet of one character or more", "none");
  const auto classes = static_cast<int64_t>(alphabet.size()) + 1;
  if (blank < 0 || blank >= classes)
    fail(kRecogniser, "a blank from 0 to below " + std::to_string(classes), std::to_string(blank));
}

// Without repeats, and then without blanks.
template <class LabelAt, class ScoreAt>
Text read(int64_t steps, std::span<const std::string> alphabet, int64_t blank,
          const LabelAt& label_at, const ScoreAt& score_at) {
  Text result;
  int64_t last = blank;
  for (int64_t step = 0; step < steps; ++step) {
    const int64_t label = label_at(step);
    if (label != blank && label != last) {
      const float score = score_at(step, label);
      result.characters.push_back({static_cast<int32_t>(label), step, score});
      result.text += alphabet[static_cast<size_t>(label > blank ? label - 1 : label)];
      result.score += score;
    }
    last = label;
  }
  if (!result.characters.empty()) result.score /= static_cast<float>(result.characters.size());
  return result;
}

}  // namespace

Result<std::vector<std::string>> characters_of(std::string_view text) noexcept {
  return session::guard([&] { return code_points(text); });
}

Result<std::vector<std::string>> characters_of_lines(std::string_view text) noexcept {
  return session::guard([&] {
    code_points(text);
    std::vector<std::string> lines;
    while (!text.empty()) {
      const size_t end = std::min(text.find('\n'), text.size());
      std::string_view line = text.substr(0, end);
      if (line.ends_with('\r')) line.remove_suffix(1);
      lines.emplace_back(line);
      text.remove_prefix(std::min(end + 1, text.size()));
    }
    return lines;
  });
}

Result<Text> decode_text(const View& scores, std::span<const std::string> alphabet,
                         const TextOptions& options) noexcept {
  return session::guard([&] {
    check_alphabet(alphabet, options.blank);
    const int64_t classes = static_cast<int64_t>(alphabet.size()) + 1;
    if (scores.rank() != 2 || scores.size(1) != classes)
      fail(kRecogniser,
           "scores of shape (steps, " + std::to_string(classes) + "), for "
               + std::to_string(alphabet.size()) + " characters and a blank",
           scores.text());
    const Floats data(scores);
    const auto row = [&](int64_t step) { return data.data() + step * classes; };
    return read(
        scores.size(0), alphabet, options.blank,
        [&](int64_t step) {
          const int64_t best = best_class(row(step), classes, 1);
          return best < 0 ? options.blank : best;
        },
        [&](int64_t step, int64_t best) {
          return likelihood(row(step), classes, best, options.is_logit);
        });
  });
}

Result<Text> decode_text(std::span<const int32_t> labels, std::span<const float> scores,
                         std::span<const std::string> alphabet, int64_t blank) noexcept {
  return session::guard([&] {
    check_alphabet(alphabet, blank);
    if (labels.size() != scores.size())
      fail(kRecogniser, "a score for each of " + std::to_string(labels.size()) + " labels",
           std::to_string(scores.size()));
    for (const int32_t label : labels)
      if (label < 0 || label > static_cast<int64_t>(alphabet.size()))
        fail(kRecogniser, "labels from 0 to " + std::to_string(alphabet.size()),
             std::to_string(label));
    return read(
        static_cast<int64_t>(labels.size()), alphabet, blank,
        [&](int64_t step) { return int64_t{labels[static_cast<size_t>(step)]}; },
        [&](int64_t step, int64_t) { return scores[static_cast<size_t>(step)]; });
  });
}

}  // namespace tenon::serve
