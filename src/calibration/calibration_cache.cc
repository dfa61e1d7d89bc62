#include "calibration/calibration_cache.h"

#include <bit>
#include <charconv>
#include <cmath>
#include <optional>
#include <unordered_map>

#include "base/error.h"

namespace tenon {
namespace {

using nvinfer1::CalibrationAlgoType;

constexpr std::string_view kPrefix = "TRT-";
constexpr std::pair<CalibrationAlgoType, std::string_view> kKinds[] = {
    {CalibrationAlgoType::kENTROPY_CALIBRATION_2, "EntropyCalibration2"},
    {CalibrationAlgoType::kENTROPY_CALIBRATION, "EntropyCalibration"},
    {CalibrationAlgoType::kMINMAX_CALIBRATION, "MinMaxCalibration"},
    {CalibrationAlgoType::kLEGACY_CALIBRATION, "LegacyCalibration"},
};

// What an error shows of a text that may be anything.
std::string excerpt(std::string_view text) {
  constexpr size_t kLongest = 60;
  std::string shown(text.substr(0, kLongest));
  for (char& c : shown)
    if (static_cast<unsigned char>(c) < ' ' || c == 0x7f) c = '?';
  return shown + (text.size() > kLongest ? "…" : "");
}

// The text up to the end of its first line, which is taken off it.
std::string_view take_line(std::string_view& text) {
  const size_t end = text.find('\n');
  std::string_view line = text.substr(0, end);
  text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  if (line.ends_with('\r')) line.remove_suffix(1);
  return line;
}

void read_header(std::string_view line, CalibrationCache& cache) {
  const size_t dash = line.rfind('-');
  if (line.starts_with(kPrefix) && dash > kPrefix.size())
    for (const auto& [kind, name] : kKinds)
      if (line.substr(dash + 1) == name) {
        cache.kind = kind;
        cache.version = line.substr(kPrefix.size(), dash - kPrefix.size());
        return;
      }
  fail(ErrorCode::kINVALID_ARGUMENT,
       "the calibration cache does not begin with a line like \"TRT-101600-EntropyCalibration2\", "
       "but with \"{}\"",
       excerpt(line));
}

std::optional<uint32_t> hexadecimal(std::string_view digits) {
  uint32_t bits = 0;
  const auto [end, error] = std::from_chars(digits.begin(), digits.end(), bits, 16);
  if (error != std::errc() || end != digits.end()) return std::nullopt;
  return bits;
}

struct Entry {
  std::string name;
  float scale;
};

Entry read_entry(std::string_view line, int number) {
  const size_t colon = line.rfind(": ");
  const auto bits =
      colon == std::string_view::npos ? std::nullopt : hexadecimal(line.substr(colon + 2));
  require(bits && colon > 0,
          "line {} of the calibration cache is not \"tensor: scale in hexadecimal\", but \"{}\"",
          number, excerpt(line));
  const auto scale = std::bit_cast<float>(*bits);
  require(std::isfinite(scale) && scale >= 0,
          "line {} of the calibration cache gives '{}' the scale {}: expected one above 0", number,
          excerpt(line.substr(0, colon)), scale);
  return {std::string(line.substr(0, colon)), scale};
}

}  // namespace

std::string_view name_of(CalibrationAlgoType kind) {
  for (const auto& [known, name] : kKinds)
    if (known == kind) return name;
  fail(ErrorCode::kINVALID_ARGUMENT, "{} is no kind of calibration", static_cast<int>(kind));
}

CalibrationCache read_calibration_cache(std::string_view text) {
  CalibrationCache cache;
  read_header(take_line(text), cache);
  std::unordered_map<std::string, int> lines;  // of names
  for (int number = 2; !text.empty(); ++number) {
    const std::string_view line = take_line(text);
    if (line.empty()) continue;
    Entry entry = read_entry(line, number);
    const auto [first, is_new] = lines.emplace(entry.name, number);
    require(is_new, "lines {} and {} of the calibration cache are both of tensor '{}'",
            first->second, number, excerpt(entry.name));
    if (entry.scale > 0)
      cache.scales.emplace_back(std::move(entry.name), entry.scale);
    else
      cache.without_scale.push_back(std::move(entry.name));
  }
  return cache;
}

std::string write_calibration_cache(const CalibrationCache& cache) {
  std::string text = fmt::format("{}{}-{}\n", kPrefix, cache.version, name_of(cache.kind));
  for (const auto& [name, scale] : cache.scales)
    text += fmt::format("{}: {:08x}\n", name, std::bit_cast<uint32_t>(scale));
  for (const std::string& name : cache.without_scale) text += fmt::format("{}: {:08x}\n", name, 0);
  return text;
}

}  // namespace tenon
