#include "weight_streaming.h"

#include <charconv>
#include <cmath>

#include "error.h"

namespace tenon::tool {
namespace {

// Of the weights that can be streamed; throws Failure for what is no budget.
int64_t budget_of(const nvinfer1::ICudaEngine& engine, const std::string& text) {
  const int64_t streamable = engine.getStreamableWeightsSize();
  if (text == "-2") return streamable;
  if (text == "-1") return engine.getWeightStreamingAutomaticBudget();
  if (text.ends_with('%')) {
    double percent = -1;
    const char* const last = text.data() + text.size() - 1;
    const auto [end, error] = std::from_chars(text.data(), last, percent);
    if (error == std::errc() && end == last && percent >= 0 && percent <= 100)
      return static_cast<int64_t>(percent / 100 * static_cast<double>(streamable));
  } else if (const auto bytes = bytes_of(text, 1)) {
    return std::min(*bytes, streamable);
  }
  fail(ErrorClass::kOptions,
       "--weightStreamingBudget: '{}' is no budget; expected bytes as 64M, a share as 50%, -1 for "
       "what is free, or -2 to stream nothing",
       text);
}

}  // namespace

std::optional<int64_t> bytes_of(const std::string& amount, int64_t unit) {
  double value = 0;
  const auto [end, error] = std::from_chars(amount.data(), amount.data() + amount.size(), value);
  const std::string suffix(end, amount.data() + amount.size());
  if (suffix == "B")
    unit = 1;
  else if (suffix == "K")
    unit = int64_t{1} << 10;
  else if (suffix == "M")
    unit = int64_t{1} << 20;
  else if (suffix == "G")
    unit = int64_t{1} << 30;
  else if (!suffix.empty())
    return std::nullopt;
  constexpr double kMaxBytes = 0x1p63;  // also neither infinity nor NaN
  if (error != std::errc() || !(value >= 0 && value < kMaxBytes / static_cast<double>(unit)))
    return std::nullopt;
  return static_cast<int64_t>(value * static_cast<double>(unit));
}

void set_weight_budget(nvinfer1::ICudaEngine& engine, const std::string& budget, Logger& logger) {
  const int64_t bytes = budget_of(engine, budget);
  if (!engine.setWeightStreamingBudgetV2(bytes)) fail_with_log(logger, "--weightStreamingBudget");
  const int64_t streamable = engine.getStreamableWeightsSize();
  logger.say(bytes == streamable
                 ? fmt::format("Weight streaming is disabled: all weights, {} bytes that could be "
                               "streamed, lie in memory of the engine's device.",
                               streamable)
                 : fmt::format("Weight streaming is enabled with a budget of {} of {} bytes; each "
                               "context has {} bytes for copies.",
                               bytes, streamable, engine.getWeightStreamingScratchMemorySize()));
}

}  // namespace tenon::tool
