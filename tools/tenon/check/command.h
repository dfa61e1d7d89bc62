// `tenon plugins check`.
#pragma once

#include <CLI/CLI.hpp>

#include "logger.h"

namespace tenon::tool {

/// Adds it to `tenon plugins`.
void add_check(CLI::App& plugins, Logger& logger);

}  // namespace tenon::tool
