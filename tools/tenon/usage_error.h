// What the command line says of arguments that it does not take.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

namespace tenon::tool {

/// "" where the first argument is an option or one of the app's commands.
std::string unknown_command(const CLI::App& app, const std::string& argument);

/// What is wrong with the command that `app` has parsed, which options are close to one that there
/// is none of, and how to see all.
std::string usage_error(const CLI::App& app, const CLI::ParseError& error);

}  // namespace tenon::tool
