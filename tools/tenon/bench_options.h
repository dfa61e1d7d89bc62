// The options of `tenon bench`, which are trtexec's.
#pragma once

#include <string>
#include <vector>

#include "debug_tensors.h"
#include "measure.h"
#include "options.h"
#include "trtexec_options.h"

namespace tenon::tool {

struct BenchOptions {
  std::string model, onnx, load_engine, save_engine, refit_from, inputs, weight_budget;
  std::vector<std::string> load_inputs;
  int profile = 0;
  std::string layer_memory = "static";

  MeasureSettings measure;
  int streams = 1;
  bool exposes_copies = false, skips_copies = false, has_managed_memory = false;

  bool skips_inference = false, times_loading = false, prints_version = false, streams_plan = false;
  bool has_profile_run = false;  // of its own

  int average_runs = 10;
  std::string percentiles = "90,95,99";
  bool print_json = false, roofline = false;
  bool dump_outputs = false, dump_raw = false, dump_profile = false, dump_layers = false,
       prints_kernels = false, dump_profiles = false, dump_refit = false, times_refit = false;
  DebugTensorOptions debug_tensors;
  std::string json, export_trace, export_times, export_outputs, export_profile, export_layers;

  CommonOptions common;
  BuildOptions build;
  OtherOptions others;

  /// @param is_trtexec without what only `tenon bench` has: a model without an option's name.
  void add_to(CLI::App& command, bool is_trtexec);
  /// Throws Failure for what is refused, what does not fit together, and files that cannot be
  /// written. The model is then in `model`.
  void check();
  bool times_layers() const {
    return dump_profile || prints_kernels || !export_profile.empty() || !export_trace.empty()
           || roofline;
  }
  bool wants_outputs() const { return dump_outputs || dump_raw || !export_outputs.empty(); }

 private:
  void add_model(CLI::App& command, bool is_trtexec);
  void add_measuring(CLI::App& command);
  void add_reporting(CLI::App& command);
};

}  // namespace tenon::tool
