// What a text recogniser's classes mean, and how its output becomes text.
#ifndef EXAMPLES_OCR_CHARACTERS_H
#define EXAMPLES_OCR_CHARACTERS_H

#include <cstdint>
#include <string>
#include <vector>

/// The characters that PaddleOCR keeps, one a line, in the ONNX file's metadata ("character");
/// class 0 is the blank, and the last is a space. Throws when the file holds none.
std::vector<std::string> read_characters(const std::string& model_path);

struct Text {
  std::string text;
  float score = 0;  ///< the mean of the characters' scores
};

/// Greedy decoding of connectionist temporal classification: the best class of each step, repeats
/// and blanks left out. `scores` is (steps, classes).
Text decode(const float* scores, int64_t steps, int64_t classes,
            const std::vector<std::string>& characters);

#endif  // EXAMPLES_OCR_CHARACTERS_H
