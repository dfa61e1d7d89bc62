#include "characters.h"

#include <sstream>
#include <stdexcept>

#include "common/onnx_metadata.h"

std::vector<std::string> read_characters(const std::string& model_path) {
  std::istringstream lines(examples::onnx_metadata(model_path, "character"));
  std::vector<std::string> characters;
  for (std::string line; std::getline(lines, line);) characters.push_back(line);
  if (characters.empty())
    throw std::runtime_error(model_path + ": has no characters in its metadata");
  characters.push_back(" ");
  return characters;
}
