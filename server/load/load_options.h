// The options of tenon-load, by perf_analyzer's names where it has them.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "generator.h"
#include "model_inputs.h"
#include "request_message.h"

namespace tenon::load {

struct LoadOptions {
  std::string model, version, url, protocol = "http";
  bool prints_json = false, is_verbose = false;
  std::string export_json, export_times;

  GeneratorOptions generator;
  InputOptions inputs;
  MessageOptions message;
  std::vector<Level> levels;

  void add_to(CLI::App& app);
  /// Reads the texts of options into what they mean. Throws session::Error for those that mean
  /// nothing, or do not fit together.
  void check();
  bool is_grpc() const { return protocol == "grpc"; }

 private:
  void add_target(CLI::App& app);
  void add_load(CLI::App& app);
  void add_request(CLI::App& app);
  void check_request();

  std::string concurrency_, rate_, distribution_ = "constant", percentiles_ = "50,90,95,99",
                                   data_ = "random", input_format_ = "binary",
                                   output_format_ = "binary";
  std::vector<std::string> shapes_, parameters_, headers_;
  int64_t interval_ms_ = 5000, warm_up_ms_ = 500, timeout_ms_ = 60'000;
  double stability_ = 10;
};

}  // namespace tenon::load
