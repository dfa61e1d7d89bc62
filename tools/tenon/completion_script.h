// What shells complete the command line by.
#pragma once

#include <string>
#include <vector>

namespace tenon::tool {

/// An option, or a flag.
struct CompletedOption {
  std::vector<std::string> names;  // with their dashes
  std::string description;
  bool takes_value = false;
  std::vector<std::string> choices;  // of its values; none where it takes others, as files
};

/// A command, whose other arguments are files.
struct CompletedCommand {
  std::string name, description;
  std::vector<CompletedOption> options;
  std::vector<CompletedCommand> commands;  // below it
};

/// Scripts that complete `program` when a shell reads them. They call nothing.
std::string bash_completion(const CompletedCommand& program);
std::string zsh_completion(const CompletedCommand& program);
std::string fish_completion(const CompletedCommand& program);

}  // namespace tenon::tool
