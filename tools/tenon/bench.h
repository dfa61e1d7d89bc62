// What `tenon bench` does, and a program that is called trtexec.
#pragma once

#include "bench_options.h"

namespace tenon::tool {

/// Builds or opens the engine, and measures it, as the options say. Throws Failure.
void bench(BenchOptions& options, Logger& logger);

}  // namespace tenon::tool
