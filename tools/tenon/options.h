// Options that several commands share, named and spelled as trtexec's.
#pragma once

#include <tenon/session/engine.h>
#include <tenon/session/shape.h>

#include <CLI/CLI.hpp>
#include <optional>
#include <string>
#include <vector>

#include "files.h"
#include "logger.h"
#include "picture_options.h"

namespace tenon::tool {

using session::Shapes;

/// Parses "a:1x3x224x224,b:1" (names may be quoted, "scalar" is rank 0). Throws Failure.
Shapes parse_shapes(const std::string& option, const std::string& text);

/// Parses "1x3x224x224"; "scalar" is rank 0. Throws Failure.
session::Shape parse_shape(const std::string& option, const std::string& text);

/// The parts of a text between separators that stand in no quotes; one where there is none.
std::vector<std::string> split(const std::string& text, char separator);

/// Whether a text is as the pattern says, in which one * stands for anything.
bool matches(const std::string& pattern, const std::string& text);

/// The shapes of a model's inputs, where names with a * stand for all that match and have no shape
/// of their own. What matches none stays as it is.
Shapes shapes_of_inputs(const Shapes& given, const std::vector<std::string>& inputs);

/// Splits "name:value"; a text without a colon gets an empty name.
std::pair<std::string, std::string> split_name(const std::string& text);

/// The one of these (option, path) that is given; "" when none is. Throws Failure when several are.
std::string only_model(const std::vector<NamedFile>& given);

/// Throws Failure when `name` is not among `names`, the model's tensors of a `kind` ("input").
void check_name(const std::string& name, const std::vector<std::string>& names, const char* kind);

/// A name without a slash is a file of the current folder, else one on the linker's path.
std::string library_path(const std::string& name);

/// For options of real numbers: one from `min` to `max`, which NaN is not.
CLI::Validator number_from(double min, double max);

/// What every command takes.
struct CommonOptions {
  bool verbose = false;
  int threads = 0;
  int device = 0;
  std::vector<std::string> plugins;

  void add_to(CLI::App& app);
  /// Sets the log level, the threads and the GPU, loads the plugin libraries. Throws Failure.
  void apply(Logger& logger) const;
};

/// The shapes of one optimization profile, as they were given.
struct ProfileOptions {
  std::string min, opt, max;
};

/// How an engine is built from an ONNX model.
struct BuildOptions {
  std::string shapes;
  std::vector<ProfileOptions> profiles{1};  // set when the command line has been read
  std::string calibration_cache, calibration_data, calibration_algorithm;
  ProfileOptions calibration_shapes;
  PictureSampleOptions calibration_pictures;
  std::optional<int> calibration_profile;
  std::string input_formats, output_formats;
  std::vector<std::string> memory_pools;
  double workspace_mib = -1;
  std::string timing_cache, verbosity = "layer_names_only";
  bool no_timing_cache = false, error_on_timing_cache_miss = false, no_compilation_cache = false;
  int optimization_level = -1;
  int aux_streams = -1;
  bool fp16 = false, bf16 = false, tf32 = false, no_tf32 = false, int8 = false, fp8 = false,
       int4 = false, best = false, strongly_typed = false;
  std::string precision_constraints = "none";
  std::vector<std::string> layer_precisions, layer_output_types, layer_devices;
  std::string sparsity = "disable", hardware = "none", platform = "SameAsBuild";
  std::string target;
  bool portable = false, deterministic = false, prefers_plugins = false;
  bool version_compatible = false;  // as trtexec has it: the plan may hold code
  bool refit = false, strips_weights = false, strips_all_weights = false, debugs_unfused = false;
  bool allows_weight_streaming = false;
  std::vector<std::string> debug_tensors, plan_libraries;
  bool unknown_extents_are_one = false;  // where no option gives a shape: trtexec's way
  bool has_default_tf32 = false;         // kTF32 stays as TensorRT has it by default: trtexec's way

  void add_to(CLI::App& app);
  /// Throws Failure for values of options that cannot be honoured.
  void check() const;
  bool has_profile() const { return has_profile_; }
  /// How the plan is loaded.
  session::EngineOptions engine_options() const { return {.allows_host_code = version_compatible}; }
  /// Names of the options on the command line that only say how to build; --shapes also says how to
  /// run, and --versionCompatible how to load.
  std::vector<std::string> given() const;

 private:
  void add_shapes(CLI::App& app);
  void add_precision(CLI::App& app);
  void add_search(CLI::App& app);
  void add_machine(CLI::App& app);
  void add_plan(CLI::App& app);
  // --minShapes and the like belong to the --profile before them.
  void sort_into_profiles(const CLI::App& app);

  std::vector<const CLI::Option*> options_;  // of add_to(), for given()
  bool has_profile_ = false;
  std::vector<int> profile_;
  std::vector<std::string> min_, opt_, max_;
};

}  // namespace tenon::tool
