#include "trtexec_options.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <vector>

#include "commands.h"
#include "error.h"

namespace tenon::tool {
namespace {

const char* name_of(OptionGroup group) {
  constexpr const char* kNames[] = {"model",     "build",     "system",
                                    "inference", "reporting", "earlier"};
  return kNames[static_cast<size_t>(group)];
}

const char* name_of(Effect effect) {
  constexpr const char* kNames[] = {"taken", "on a GPU", "nothing", "refused"};
  return kNames[static_cast<size_t>(effect)];
}

bool takes_value(const TrtexecOption& option) {
  return option.value != OptionValue::kNone;
}

// A list of names with a + or - before each.
std::string refusal_of_switches(const std::string& text, std::span<const char* const> names,
                                bool any_case) {
  for (const std::string& part : CLI::detail::split(text, ',')) {
    if (!part.starts_with('+') && !part.starts_with('-'))
      return fmt::format("'{}' begins neither with + nor with -", part);
    const std::string name = part.substr(1);
    const auto is_it = [&](const std::string& known) {
      return name == known
             || (any_case && CLI::detail::to_lower(name) == CLI::detail::to_lower(known));
    };
    if (std::none_of(names.begin(), names.end(), is_it))
      return fmt::format("'{}' is not known; expected + or - and one of: {}", part,
                         fmt::join(names, ", "));
  }
  return "";
}

std::string refusal_of_tactic_sources(const std::string& text) {
  constexpr const char* kNames[] = {
      "CUBLAS", "CUBLASLT", "CUBLAS_LT", "CUDNN", "EDGE_MASK_CONVOLUTIONS", "JIT_CONVOLUTIONS"};
  return refusal_of_switches(text, kNames, true);
}

std::string refusal_of_preview_features(const std::string& text) {
  constexpr const char* kNames[] = {"profileSharing0806", "aliasedPluginIO1003",
                                    "runtimeActivationResize", "multiDeviceRuntime"};
  return refusal_of_switches(text, kNames, false);
}

std::string refusal_of_file_controls(const std::string& text) {
  for (const std::string& part : CLI::detail::split(text, ',')) {
    const size_t colon = part.find(':');
    const std::string key = part.substr(0, colon);
    const std::string value = colon == std::string::npos ? "" : part.substr(colon + 1);
    if ((key != "in_memory" && key != "temporary") || (value != "allow" && value != "deny"))
      return fmt::format("'{}' is not in_memory or temporary, a colon, and allow or deny", part);
  }
  return "";
}

// What trtexec refuses is refused, also where it would change nothing.
CLI::Validator values_of(const std::string& option) {
  std::string (*refusal)(const std::string&) = nullptr;
  if (option == "--tacticSources") refusal = refusal_of_tactic_sources;
  if (option == "--preview") refusal = refusal_of_preview_features;
  if (option == "--tempfileControls") refusal = refusal_of_file_controls;
  if (refusal == nullptr) return {};
  // CLI11 names no option without a group.
  return {[=](const std::string& text) {
            if (const std::string reason = refusal(text); !reason.empty())
              fail(ErrorClass::kOptions, "{}: {}", option, reason);
            return std::string();
          },
          ""};
}

}  // namespace

std::string TrtexecOption::name() const {
  const std::string_view all = names;
  return std::string(all.substr(0, all.find(',')));
}

std::span<const TrtexecOption> trtexec_options() {
  static const std::vector<TrtexecOption> all = [] {
    std::vector<TrtexecOption> list;
    for (const auto part : {trtexec_build_options(), trtexec_run_options()})
      list.insert(list.end(), part.begin(), part.end());
    return list;
  }();
  return all;
}

const TrtexecOption& trtexec_option(std::string_view name) {
  const auto all = trtexec_options();
  const auto found = std::find_if(
      all.begin(), all.end(), [&](const TrtexecOption& option) { return option.name() == name; });
  if (found == all.end()) throw std::logic_error(fmt::format("{} is no option of trtexec", name));
  return *found;
}

CLI::Option* add_trtexec_flag(CLI::App& command, std::string_view name, bool& value) {
  const TrtexecOption& option = trtexec_option(name);
  return command.add_flag(option.names, value, option.text);
}

void OtherOptions::add_to(CLI::App& command) {
  command_ = &command;
  for (const TrtexecOption& option : trtexec_options()) {
    if (command.get_option_no_throw(option.name()) != nullptr) continue;
    others_.push_back(&option);
    if (takes_value(option))
      command.add_option(option.names)->expected(0, 1)->group("")->check(values_of(option.name()));
    else
      command.add_flag(option.names)->group("");
  }
}

bool OtherOptions::is_given(const TrtexecOption& option) const {
  return command_->get_option_no_throw(option.name())->count() > 0;
}

void OtherOptions::refuse() const {
  for (const TrtexecOption* option : others_) {
    if (!is_given(*option)) continue;
    if (option->effect == Effect::kRefused)
      fail(ErrorClass::kOptions, "{}: {}", option->name(), option->reason);
    if (option->effect != Effect::kNothing)
      fail(ErrorClass::kOptions, "{}: `tenon {}` has no use for it; `tenon bench` takes it",
           option->name(), command_->get_name());
  }
}

void OtherOptions::say(const std::function<bool()>& on_gpu, Logger& logger) const {
  for (const TrtexecOption& option : trtexec_options()) {
    if (!is_given(option)) continue;
    if (option.effect == Effect::kNothing || (option.effect == Effect::kOnGpu && !on_gpu()))
      logger.note(fmt::format("{} changes nothing: {}", option.name(), option.reason));
  }
}

void add_options(CLI::App& app, Logger&) {
  auto json = std::make_shared<bool>(false);
  CLI::App* command =
      app.add_subcommand("options", "List trtexec's options and what each does here");
  command->add_flag("--json", *json, "Print JSON");
  command->callback([json] {
    auto list = nlohmann::ordered_json::array();
    for (const TrtexecOption& option : trtexec_options()) {
      if (!*json) {
        fmt::print("{} ({}, {}): {}{}{}\n", option.names, name_of(option.group),
                   name_of(option.effect), option.text,
                   *option.text != '\0' && *option.reason != '\0' ? "; on the CPU nothing: " : "",
                   option.reason);
        continue;
      }
      list.push_back({{"names", CLI::detail::split(option.names, ',')},
                      {"group", name_of(option.group)},
                      {"takesValue", takes_value(option)},
                      {"effect", name_of(option.effect)},
                      {"text", option.text},
                      {"reason", option.reason}});
    }
    if (*json) fmt::print("{}\n", list.dump(2));
  });
}

}  // namespace tenon::tool
