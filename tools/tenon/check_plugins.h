// `tenon plugins check`.
#pragma once

#include <CLI/CLI.hpp>

namespace tenon::tool {

/// Adds it to `tenon plugins`.
void add_check(CLI::App& plugins);

}  // namespace tenon::tool
