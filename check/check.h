// Checks that the plugins of a library keep TensorRT's contract. Each plugin is checked in a
// process of its own, so that a crash or a hang is a finding.
#pragma once

#include <tenon/error_codes.h>

#include <algorithm>
#include <cstddef>
#include <functional>
#include <string>
#include <vector>

namespace tenon::check {

/// Nothing can be checked; the text says why, and names options as `tenon plugins check` does.
class Failure : public CodedError {
 public:
  explicit Failure(const std::string& text) : CodedError(ErrorClass::kCommand, text) {}
  using CodedError::CodedError;
};

/// What to check, and how. Texts are as on the command line.
struct Options {
  std::string library;               // a file; the plugins that come along when empty
  std::vector<std::string> plugins;  // names; all when empty
  std::vector<std::string> fields;   // "name=value", "name=1,2,3"
  std::string shapes, types;         // of the inputs: "2x3x8x8,5", "float32,int32"
  std::vector<std::string> cases;    // files with fields, inputs and expected outputs
  std::string device = "cpu";        // where enqueue() runs: a target's name
  std::string cudart = "libcudart.so.13";
  std::string mode;     // "address", "race", "order", or "" for none
  int seeds = 3;        // of the order
  int time_limit = 60;  // seconds, of one check
  bool prints = false;  // what the plugins say goes to standard error

  /// A program and its first arguments: called with one more, it hands that to work().
  std::vector<std::string> worker;
};

enum class Outcome { kPassed, kFailed, kNotRun };

/// How one check of one plugin ended.
struct Result {
  std::string check, input;  // `input` is empty where no tensors or fields are at stake
  Outcome outcome = Outcome::kPassed;
  std::string expected, found;  // of a failure; of a check that could not be made, why in `found`

  bool operator==(const Result&) const = default;
};

struct Identity {
  std::string name, version, name_space;

  bool operator==(const Identity&) const = default;
  /// "Name version 1", and the namespace if there is one.
  std::string text() const;
};

/// What was found of one plugin.
struct PluginReport {
  Identity identity;
  std::string interface;  // the class that it derives from, as "IPluginV3"; "" when none was made
  std::vector<Result> results;

  size_t count(Outcome outcome) const {
    return static_cast<size_t>(std::ranges::count(results, outcome, &Result::outcome));
  }
};

/// Checks a library's plugins, in their order. `on_plugin`, if given, hears of each when it is
/// done; what it throws ends the checks. Throws Failure.
std::vector<PluginReport> check_plugins(
    const Options& options, const std::function<void(const PluginReport&)>& on_plugin = nullptr);

/// In the program that Options::worker names: does what `job`, the argument, says. It reports to
/// the process that started it, errors too, and never returns: the library's destructors are not
/// what is checked.
[[noreturn]] void work(const std::string& job);

/// Names of outcomes: "passed", "failed", "not run".
const char* name_of(Outcome outcome);
/// A report for people: a line for the plugin, one for each failure and each kind of check that was
/// not run.
std::string text_of(const PluginReport& report);
/// The reports for programs, as JSON.
std::string json_of(const std::vector<PluginReport>& reports);

}  // namespace tenon::check
