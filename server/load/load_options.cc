#include "load_options.h"

#include <tenon/printable.h>
#include <tenon/session/result.h>

#include <cmath>

#include "range.h"

namespace tenon::load {
namespace {

using session::Error;

constexpr int64_t kDay = 86'400'000;  // milliseconds

std::vector<double> parse_percentiles(const std::string& text) {
  std::vector<double> percentiles = parse_range("--percentile", text);
  for (const double one : percentiles)
    if (one > 100)
      throw Error{"--percentile: expected numbers up to 100, found '" + printable(text) + "'"};
  return percentiles;
}

std::pair<std::string, std::string> parse_header(const std::string& text) {
  const size_t colon = text.find(':');
  const bool is_good = colon != std::string::npos && colon > 0
                       && text.find_first_of("\r\n") == std::string::npos
                       && text.find_first_of(" \t") > colon;
  if (!is_good) throw Error{"--header: expected NAME:VALUE, found '" + printable(text) + "'"};
  const size_t value = text.find_first_not_of(' ', colon + 1);
  return {text.substr(0, colon), value == std::string::npos ? "" : text.substr(value)};
}

TensorFormat format_of(const std::string& name) {
  return name == "json" ? TensorFormat::kJson : TensorFormat::kBinary;
}

}  // namespace

void LoadOptions::add_to(CLI::App& app) {
  add_target(app);
  add_load(app);
  add_request(app);
}

void LoadOptions::add_target(CLI::App& app) {
  app.add_option("-m,--model-name", model, "The model's name")->required();
  app.add_option("-x,--model-version", version, "Its version (default: the newest)");
  app.add_option("-u,--url", url,
                 "HOST:PORT or unix:PATH (default: localhost:8000, localhost:8001 with gRPC)");
  app.add_option("-i,--protocol", protocol, "http or grpc")
      ->transform(CLI::IsMember({"http", "grpc"}, CLI::ignore_case));
  app.add_option("-H,--header", headers_, "NAME:VALUE, of each request, such as a token");
  app.add_flag("-v,--verbose", is_verbose, "Say what is sent");
  app.add_flag("--json", prints_json, "Print the result as JSON, and nothing else");
  app.add_option("--exportJson", export_json, "Write the result as JSON to this file");
  app.add_option("--exportTimes", export_times, "Write the times of each request to a JSON file");
}

void LoadOptions::add_load(CLI::App& app) {
  auto* const concurrency = app.add_option(
      "--concurrency-range", concurrency_,
      "Closed loop: so many requests are under way; 8, 1:64:8 (from, to, step) or 1,8,64");
  app.add_option("--request-rate-range", rate_,
                 "Open loop: so many requests a second, whatever the server does; latencies count "
                 "from when a request should have been sent")
      ->excludes(concurrency);
  app.add_option("--request-distribution", distribution_, "Of an open loop: constant or poisson")
      ->check(CLI::IsMember({"constant", "poisson"}));
  app.add_option("-p,--measurement-interval", interval_ms_, "Milliseconds of a window")
      ->check(CLI::Range(int64_t{1}, kDay));
  app.add_option("-s,--stability-percentage", stability_,
                 "How far rate and mean latency of three windows in a row may lie from their mean")
      ->check(CLI::Range(0.0, 1000.0));
  app.add_option("-r,--max-trials", generator.max_windows, "Windows until then")
      ->check(CLI::Range(1, 100'000));
  app.add_option("--request-count", generator.requests,
                 "Exactly so many requests, without warm-up and windows")
      ->check(CLI::Range(1, 1'000'000'000));
  app.add_option("--warmUp", warm_up_ms_, "Milliseconds before the first window")
      ->check(CLI::Range(int64_t{0}, kDay));
  app.add_option("--percentile", percentiles_, "Of latencies");
  app.add_option("--connections", generator.connections,
                 "Of an open loop, and of gRPC: at most so many")
      ->check(CLI::Range(1, 1 << 20));
  app.add_option("--max-threads", generator.threads, "That send and receive")
      ->check(CLI::Range(1, 256));
  app.add_option("--random-seed", generator.seed, "Of inputs and of Poisson's times");
}

void LoadOptions::add_request(CLI::App& app) {
  app.add_option("-b,--batch-size", inputs.batch, "Items of a request, where the batch varies")
      ->check(CLI::Range(1, 1 << 24));
  app.add_option("--shape", shapes_, "NAME:3,224,224, where other extents vary");
  app.add_option(
      "--input-data", data_,
      "random, zero, or a NumPy .npz file with an array for each input. Random are floats "
      "in [0, 1), any integers of 8 bits, and others of 0 to 99");
  app.add_option("--input-tensor-format", input_format_, "binary or json")
      ->check(CLI::IsMember({"binary", "json"}));
  app.add_option("--output-tensor-format", output_format_, "binary or json")
      ->check(CLI::IsMember({"binary", "json"}));
  app.add_option("--request-parameter", parameters_,
                 "NAME:VALUE:int, bool or string, such as timeout:20000:int");
  app.add_option("--client-timeout", timeout_ms_,
                 "Milliseconds after which a request without an answer counts as expired")
      ->check(CLI::Range(int64_t{1}, kDay));
}

void LoadOptions::check() {
  if (url.empty()) url = is_grpc() ? "localhost:8001" : "localhost:8000";
  const bool is_open = !rate_.empty();
  for (const double value :
       is_open ? parse_range("--request-rate-range", rate_)
               : parse_range("--concurrency-range", concurrency_.empty() ? "1" : concurrency_)) {
    const double max = is_open ? 1e7 : 1 << 20;
    if (value > max || (!is_open && value != std::floor(value)))
      throw Error{(is_open ? "--request-rate-range: expected at most "
                           : "--concurrency-range: expected whole numbers up to ")
                  + std::to_string(static_cast<int>(max)) + ", found " + std::to_string(value)};
    levels.push_back({is_open ? Loop::kOpen : Loop::kClosed, value});
  }
  generator.distribution =
      distribution_ == "poisson" ? Distribution::kPoisson : Distribution::kConstant;
  generator.percentiles = parse_percentiles(percentiles_);
  generator.interval = std::chrono::milliseconds(interval_ms_);
  generator.warm_up = std::chrono::milliseconds(warm_up_ms_);
  generator.timeout = std::chrono::milliseconds(timeout_ms_);
  generator.tolerance = stability_ / 100;
  check_request();
}

void LoadOptions::check_request() {
  inputs.seed = generator.seed;
  for (const std::string& text : shapes_) inputs.shapes.insert(parse_shape(text));
  for (const std::string& text : headers_) message.headers.push_back(parse_header(text));
  for (const std::string& text : parameters_) {
    auto [name, value] = parse_parameter(text);
    message.parameters[name] = std::move(value);
  }
  message.inputs = format_of(input_format_);
  message.outputs = format_of(output_format_);
  if (is_grpc() && (message.inputs != TensorFormat::kBinary || message.outputs != message.inputs))
    throw Error{"--input-tensor-format and --output-tensor-format: tensors of gRPC are binary"};
  if (data_ == "zero")
    inputs.data = InputData::kZero;
  else if (data_.ends_with(".npz"))
    inputs.file = data_;
  else if (data_ != "random")
    throw Error{"--input-data: expected random, zero or an .npz file, found '" + printable(data_)
                + "'"};
}

}  // namespace tenon::load
