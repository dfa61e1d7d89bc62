// What a text recogniser's classes mean.
#ifndef EXAMPLES_OCR_CHARACTERS_H
#define EXAMPLES_OCR_CHARACTERS_H

#include <cstdint>
#include <string>
#include <vector>

/// The characters that PaddleOCR keeps, one a line, in the ONNX file's metadata ("character"), and
/// a space: the classes but the blank, which is class 0. Throws when the file holds none.
std::vector<std::string> read_characters(const std::string& model_path);

#endif  // EXAMPLES_OCR_CHARACTERS_H
