#include "completion_script.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace tenon::tool {
namespace {

// In single quotes, in which shells change nothing.
std::string quoted(const std::string& text, const char* apostrophe = "'\\''") {
  std::string result = "'";
  for (char c : text) result += c == '\'' ? std::string(apostrophe) : std::string(1, c);
  return result + "'";
}

// The program's own part of a path is "", that of the others as typed: "plugins check".
template <class Visit>
void each_command(const CompletedCommand& command, const std::string& path, const Visit& visit) {
  visit(command, path);
  for (const CompletedCommand& inner : command.commands)
    each_command(inner, path.empty() ? inner.name : path + " " + inner.name, visit);
}

std::string words_of(const CompletedCommand& command) {
  std::string words;
  for (const CompletedOption& option : command.options)
    for (const std::string& name : option.names)
      words += fmt::format("{}{}{}", words.empty() ? "" : " ", name,
                           option.takes_value && name.starts_with("--") ? "=" : "");
  return words;
}

std::string names_of(const std::vector<CompletedCommand>& commands) {
  std::vector<std::string> names;
  for (const CompletedCommand& command : commands) names.push_back(command.name);
  return fmt::format("{}", fmt::join(names, " "));
}

}  // namespace

std::string bash_completion(const CompletedCommand& program) {
  std::string paths, words, values;
  each_command(program, "", [&](const CompletedCommand& command, const std::string& path) {
    if (!path.empty()) paths += fmt::format("{}{}", paths.empty() ? "" : " | ", quoted(path));
    words += fmt::format("    {}) options={} commands={} ;;\n", quoted(path),
                         quoted(words_of(command)), quoted(names_of(command.commands)));
    for (const CompletedOption& option : command.options) {
      if (!option.takes_value) continue;
      std::vector<std::string> patterns;
      for (const std::string& name : option.names) patterns.push_back(quoted(path + ":" + name));
      values += fmt::format("    {}) takes_value=1 values={} ;;\n", fmt::join(patterns, " | "),
                            quoted(fmt::format("{}", fmt::join(option.choices, " "))));
    }
  });
  return fmt::format(R"(# bash completion for {0}: source <({0} completion bash)
_{0}() {{
  local word=${{COMP_WORDS[COMP_CWORD]}} before=${{COMP_WORDS[COMP_CWORD - 1]}}
  local path= options= commands= values= takes_value= i
  # Where = is between words, --option=value is three of them.
  if [ "$word" = = ]; then word=; elif [ "$before" = = ]; then before=${{COMP_WORDS[COMP_CWORD - 2]}}; fi
  for ((i = 1; i < COMP_CWORD; ++i)); do
    case "${{path:+$path }}${{COMP_WORDS[i]}}" in
      {1}) path="${{path:+$path }}${{COMP_WORDS[i]}}" ;;
    esac
  done
  case "$path" in
{2}  esac
  case "$path:$before" in
{3}  esac
  COMPREPLY=()
  if [ -n "$takes_value" ]; then
    if [ -n "$values" ]; then COMPREPLY=($(compgen -W "$values" -- "$word")); return; fi
    compopt -o default
  elif [[ $word == -* ]]; then
    COMPREPLY=($(compgen -W "$options" -- "$word"))
    [[ ${{#COMPREPLY[@]}} == 1 && ${{COMPREPLY[0]}} == *= ]] && compopt -o nospace
  else
    COMPREPLY=($(compgen -W "$commands" -- "$word"))
    [ -n "$path" ] && compopt -o default
  fi
}}
complete -F _{0} {0}
)",
                     program.name, paths, words, values);
}

namespace {

// Within a specification of _arguments, which brackets and colons have a meaning in.
std::string zsh_text(const std::string& text) {
  std::string result;
  for (char c : text) {
    if (c == '[' || c == ']' || c == ':' || c == '\\') result += '\\';
    result += c;
  }
  return result;
}

std::string zsh_arguments(const CompletedCommand& command) {
  std::string text = "_arguments -S";
  for (const CompletedOption& option : command.options)
    for (const std::string& name : option.names) {
      const std::string value = !option.takes_value ? ""
                                : option.choices.empty()
                                    ? ":value:_files"
                                    : fmt::format(":value:({})", fmt::join(option.choices, " "));
      const char* const joins = !option.takes_value ? "" : name.starts_with("--") ? "=" : "+";
      text += fmt::format(" {}", quoted(fmt::format("*{}{}[{}]{}", name, joins,
                                                    zsh_text(option.description), value)));
    }
  return text;
}

// A function for each command, which those around it call.
void zsh_functions(const CompletedCommand& command, const std::string& function, std::string& out) {
  for (const CompletedCommand& inner : command.commands)
    zsh_functions(inner, function + "_" + inner.name, out);
  if (command.commands.empty()) {
    out += fmt::format("{}() {{\n  {} '*:file:_files'\n}}\n", function, zsh_arguments(command));
    return;
  }
  std::string list, cases;
  for (const CompletedCommand& inner : command.commands) {
    list += " " + quoted(fmt::format("{}:{}", inner.name, inner.description));
    cases += fmt::format("      {}) {}_{} ;;\n", inner.name, function, inner.name);
  }
  out += fmt::format(R"({0}() {{
  local state line
  local -a commands
  commands=({1})
  {2} -C '1: :->command' '*:: :->rest'
  case $state in
    command) _describe command commands ;;
    rest) case $words[1] in
{3}    esac ;;
  esac
}}
)",
                     function, list, zsh_arguments(command), cases);
}

}  // namespace

std::string zsh_completion(const CompletedCommand& program) {
  std::string text = fmt::format(
      "#compdef {0}\n# zsh completion for {0}: source <({0} completion zsh), after compinit\n",
      program.name);
  zsh_functions(program, "_" + program.name, text);
  return text
         + fmt::format(
             "if [ \"$funcstack[1]\" = _{0} ]; then _{0} \"$@\"; else compdef _{0} {0}; fi\n",
             program.name);
}

std::string fish_completion(const CompletedCommand& program) {
  std::string text =
      fmt::format("# fish completion for {0}: {0} completion fish | source\n", program.name);
  each_command(program, "", [&](const CompletedCommand& command, const std::string& path) {
    // The words of the path were seen, and none of the commands below them.
    std::string seen;
    for (size_t begin = 0; begin < path.size();) {
      const size_t end = std::min(path.find(' ', begin), path.size());
      seen += fmt::format("{}__fish_seen_subcommand_from {}", seen.empty() ? "" : "; and ",
                          path.substr(begin, end - begin));
      begin = end + 1;
    }
    const std::string inner = names_of(command.commands);
    const std::string none = inner.empty() ? "" : "not __fish_seen_subcommand_from " + inner;
    const std::string condition = seen + (seen.empty() || none.empty() ? "" : "; and ") + none;
    const std::string begin =
        fmt::format("complete -c {} -n {}", program.name, quoted(condition, "\\'"));
    for (const CompletedCommand& below : command.commands)
      text += fmt::format("{} {} -a {} -d {}\n", begin, path.empty() ? "-f" : "", below.name,
                          quoted(below.description, "\\'"));
    for (const CompletedOption& option : command.options) {
      text += begin;
      for (const std::string& name : option.names)
        text += name.starts_with("--") ? " -l " + name.substr(2) : " -s " + name.substr(1);
      if (option.takes_value) text += option.choices.empty() ? " -r" : " -x";
      if (!option.choices.empty())
        text +=
            fmt::format(" -a {}", quoted(fmt::format("{}", fmt::join(option.choices, " ")), "\\'"));
      text += fmt::format(" -d {}\n", quoted(option.description, "\\'"));
    }
  });
  return text;
}

}  // namespace tenon::tool
