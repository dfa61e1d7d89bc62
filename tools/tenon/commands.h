// The commands: each adds itself to the application and runs when chosen.
#pragma once

#include <CLI/CLI.hpp>

#include "logger.h"

namespace tenon::tool {

void add_build(CLI::App& app, Logger& logger);
void add_run(CLI::App& app, Logger& logger);
void add_bench(CLI::App& app, Logger& logger);
void add_dump(CLI::App& app, Logger& logger);
void add_inspect(CLI::App& app, Logger& logger);
void add_plugins(CLI::App& app, Logger& logger);
void add_operators(CLI::App& app, Logger& logger);
void add_options(CLI::App& app, Logger& logger);
void add_new_plugin(CLI::App& app, Logger& logger);
void add_quantize(CLI::App& app, Logger& logger);
void add_compare(CLI::App& app, Logger& logger);
void add_report(CLI::App& app, Logger& logger);
void add_onnx(CLI::App& app, Logger& logger);
void add_serve(CLI::App& app, Logger& logger);
void add_load(CLI::App& app, Logger& logger);
void add_doctor(CLI::App& app, Logger& logger);
void add_migrate(CLI::App& app, Logger& logger);
void add_explain(CLI::App& app, Logger& logger);
void add_completion(CLI::App& app, Logger& logger);

}  // namespace tenon::tool
