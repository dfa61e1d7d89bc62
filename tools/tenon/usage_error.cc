#include "usage_error.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <tenon/closest_names.h>

#include <algorithm>
#include <vector>

namespace tenon::tool {
namespace {

// "; the closest are --inputs, --image", or nothing. `dashes` are in front of each.
std::string closest(const std::string& name, const std::vector<std::string>& candidates,
                    const std::string& dashes = "") {
  auto names = closest_names(name.substr(std::min(name.size(), dashes.size())), candidates);
  if (names.empty()) return "";
  for (std::string& close : names) close = dashes + close;
  return fmt::format("; the closest {} {}", names.size() == 1 ? "is" : "are",
                     fmt::join(names, ", "));
}

// The command that was given, down to a command of a command, and its name with all before it.
const CLI::App& given_command(const CLI::App& app, std::string& name) {
  const CLI::App* command = &app;
  name = "tenon";
  while (!command->get_subcommands().empty()) {
    command = command->get_subcommands().back();
    name += " " + command->get_name();
  }
  return *command;
}

std::vector<std::string> option_names(const CLI::App& command) {
  std::vector<std::string> names;
  for (const CLI::Option* option : command.get_options())
    names.insert(names.end(), option->get_lnames().begin(), option->get_lnames().end());
  return names;
}

std::string unknown_argument(const CLI::App& command, const std::string& name) {
  const std::vector<std::string> extra = command.remaining();
  const auto option = std::ranges::find_if(
      extra, [](const std::string& argument) { return argument.starts_with('-'); });
  if (option == extra.end())
    return fmt::format("`{}` takes no argument '{}'", name, fmt::join(extra, " "));
  const std::string wanted = option->substr(0, option->find('='));
  return fmt::format("`{}` has no option {}{}", name, wanted,
                     closest(wanted, option_names(command), "--"));
}

}  // namespace

std::string unknown_command(const CLI::App& app, const std::string& argument) {
  std::vector<std::string> names;
  for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; })) {
    if (command->check_name(argument)) return "";
    names.push_back(command->get_name());
  }
  if (argument.starts_with('-')) return "";
  return fmt::format("there is no command '{}'{}: `tenon --help` lists them", argument,
                     closest(argument, names));
}

std::string usage_error(const CLI::App& app, const CLI::ParseError& error) {
  std::string name;
  const CLI::App& command = given_command(app, name);
  const bool is_unknown = dynamic_cast<const CLI::ExtrasError*>(&error) != nullptr;
  return fmt::format("{}: `{} --help` lists what it takes",
                     is_unknown ? unknown_argument(command, name) : std::string(error.what()),
                     name);
}

}  // namespace tenon::tool
