// `tenon completion`: scripts by which shells complete the command line, made of its own
// definition.
#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "commands.h"
#include "completion_script.h"
#include "options.h"

namespace tenon::tool {
namespace {

// Values that a validator allows are in the name of an option's type:
// "TEXT:{import,optimize,plan}", or "{crop->0,resize->1} OR {0,1}" where names stand for others.
std::vector<std::string> choices_of(const CLI::Option& option) {
  const std::string type = option.get_type_name();
  const size_t begin = type.find('{'), end = type.find('}');
  if (begin == std::string::npos || end == std::string::npos || end < begin) return {};
  std::vector<std::string> choices = split(type.substr(begin + 1, end - begin - 1), ',');
  for (std::string& choice : choices) choice.resize(std::min(choice.size(), choice.find("->")));
  return choices;
}

CompletedCommand described(const CLI::App& command) {
  CompletedCommand result{command.get_name(), command.get_description(), {}, {}};
  for (const CLI::Option* option : command.get_options()) {
    CompletedOption one{
        {}, option->get_description(), option->get_items_expected_max() > 0, choices_of(*option)};
    for (const std::string& name : option->get_lnames()) one.names.push_back("--" + name);
    for (const std::string& name : option->get_snames()) one.names.push_back("-" + name);
    // Positional arguments have no names, and options of no group are hidden.
    if (!one.names.empty() && !option->get_group().empty()) result.options.push_back(one);
  }
  const auto shown = [](const CLI::App* inner) { return !inner->get_group().empty(); };
  for (const CLI::App* inner : command.get_subcommands(shown))
    result.commands.push_back(described(*inner));
  return result;
}

}  // namespace

void add_completion(CLI::App& app, Logger& logger) {
  auto shell = std::make_shared<std::string>();
  CLI::App* command = app.add_subcommand(
      "completion", "Print a script by which a shell completes this command line");
  command->add_option("shell", *shell, "The shell")
      ->required()
      ->check(CLI::IsMember({"bash", "zsh", "fish"}));
  command->callback([shell, &app] {
    CompletedCommand program = described(app);
    program.name = "tenon";
    fmt::print("{}", *shell == "bash"  ? bash_completion(program)
                     : *shell == "zsh" ? zsh_completion(program)
                                       : fish_completion(program));
  });
}

}  // namespace tenon::tool
