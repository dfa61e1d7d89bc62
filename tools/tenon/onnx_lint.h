// `tenon onnx lint`: faults of exports, found by rules.
#pragma once

#include "commands.h"

namespace tenon::tool {

/// Adds the command to `onnx`.
CLI::App* add_onnx_lint(CLI::App& onnx, Logger& logger);

}  // namespace tenon::tool
