// The options of trtexec, and what each does here: one table for the command line, its refusals and
// docs/trtexec.md.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <span>
#include <string>
#include <string_view>

#include "logger.h"

namespace tenon::tool {

/// What an option of trtexec does here.
enum class Effect {
  kTaken,  ///< what it does in trtexec
  kOnGpu,  ///< the same on a GPU; on the CPU the result is the same without it, and a line says why
  kNothing,  ///< the result is the same without it; a line says why
  kRefused,  ///< an error says what to do instead
};

enum class OptionGroup { kModel, kBuild, kSystem, kInference, kReporting, kEarlier };
enum class OptionValue { kNone, kOne };

struct TrtexecOption {
  const char* names;  ///< with commas between; "--infStreams,--streams"
  OptionGroup group;  ///< as trtexec's help has it; kEarlier is of TensorRT 8 only
  OptionValue value;
  Effect effect;
  const char* text;  ///< what it does, "" where it does nothing
  const char*
      reason;  ///< why it does nothing, or what to do instead; "" where there is no more to say

  std::string name() const;  ///< the first one
};

/// All of trtexec 10.16, and those of 8.6 that scripts still carry.
std::span<const TrtexecOption> trtexec_options();
/// @pre there is an option with this first name.
const TrtexecOption& trtexec_option(std::string_view name);

/// Adds an option of the table that the command takes.
/// @param more names of it that are not trtexec's, as "-o,".
template <class Value>
CLI::Option* add_trtexec_option(CLI::App& command, std::string_view name, Value& value,
                                const std::string& more = "") {
  const TrtexecOption& option = trtexec_option(name);
  return command.add_option(more + option.names, value, option.text);
}
CLI::Option* add_trtexec_flag(CLI::App& command, std::string_view name, bool& value);

/// The options of the table that a command has not taken: it knows them, too.
class OtherOptions {
 public:
  /// After the command's own.
  void add_to(CLI::App& command);
  /// Throws a Failure for one on the command line that is refused, or that is another command's.
  void refuse() const;
  /// A line for each on the command line that changes nothing.
  /// @param on_gpu whether the engine runs there; called if that matters.
  void say(const std::function<bool()>& on_gpu, Logger& logger) const;

 private:
  bool is_given(const TrtexecOption& option) const;

  const CLI::App* command_ = nullptr;
  std::vector<const TrtexecOption*> others_;
};

/// The tables that trtexec_options() joins.
std::span<const TrtexecOption> trtexec_build_options();
std::span<const TrtexecOption> trtexec_run_options();

}  // namespace tenon::tool
