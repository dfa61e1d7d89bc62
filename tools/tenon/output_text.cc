#include "output_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <nlohmann/json.hpp>

#include "error.h"
#include "io_formats.h"
#include "npz.h"

namespace tenon::tool {

std::vector<std::string> texts_of(const Array& array) {
  std::vector<std::string> texts;
  if (is_float(array.type)) {
    for (double value : value_or_fail(session::numbers(array)))
      texts.push_back(fmt::format("{}", static_cast<float>(value)));
  } else {
    for (int64_t value : value_or_fail(session::integers(array)))
      texts.push_back(fmt::format("{}", value));
  }
  return texts;
}

std::string file_name(std::string text) {
  std::replace_if(
      text.begin(), text.end(),
      [](char c) {
        return std::isalnum(static_cast<unsigned char>(c)) == 0
               && std::string_view("._-").find(c) == std::string_view::npos;
      },
      '_');
  return text;
}

namespace {

void write_raw(const std::string& name, const char* kind, const Array& array,
               const nvinfer1::ICudaEngine& engine, Logger& logger) {
  std::string extents;
  for (int64_t extent : array.shape)
    extents += fmt::format("{}{}", extents.empty() ? "" : ".", extent);
  const char* const type = type_option_name(array.type);
  const std::string path = file_name(fmt::format("{}.{}.{}.{}.raw", name, kind, extents, type));
  logger.say(
      fmt::format("Writing file for {} binding {} (with datatype {} and dimensions {}) to {}", kind,
                  name, type, extents, path));
  const session::Format format(engine.getTensorFormat(name.c_str()));
  std::vector<std::byte> bytes(value_or_fail(format.bytes(array.type, array.shape)));
  value_or_fail(format.pack(array, bytes.data()));
  write_file(path, bytes.data(), bytes.size());
}

}  // namespace

void print_outputs(session::Session& session, Logger& logger) {
  logger.say("Output Tensors:");
  for (const auto& [name, array] : session.outputs()) {
    logger.say(fmt::format("{}: ({})", name, session::shape_text(array.shape)));
    logger.say(fmt::format("{}", fmt::join(texts_of(array), " ")));
  }
}

void export_outputs(session::Session& session, const std::string& path) {
  std::string text = "[\n";
  const char* separator = "  ";
  for (const auto& [name, array] : session.outputs()) {
    auto values = texts_of(array);
    for (std::string& value : values)
      if (value.find("n") != std::string::npos) value = "null";  // nan and inf are not JSON
    text += fmt::format(
        "{}{{ \"name\" : {},\n    \"dimensions\" : \"{}\",\n    \"values\" : [ {} ]\n  }}",
        separator,
        nlohmann::json(name).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace),
        session::shape_text(array.shape), fmt::join(values, ", "));
    separator = ",\n  ";
  }
  text += "\n]\n";
  write_file(path, text.data(), text.size());
}

void write_raw_tensors(session::Session& session, Logger& logger) {
  logger.say("Dumping I/O Bindings to RAW Files:");
  const nvinfer1::ICudaEngine& engine = session.context().engine();
  for (const auto& [name, array] : session.inputs())
    write_raw(name, "input", array, engine, logger);
  for (const auto& [name, array] : session.outputs())
    write_raw(name, "output", array, engine, logger);
}

}  // namespace tenon::tool
