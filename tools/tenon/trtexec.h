// A program that is called trtexec.
#pragma once

#include <string>

#include "logger.h"

namespace tenon::tool {

/// Whether a program of this path is trtexec: what the file is called decides, as of a link.
bool is_trtexec(const std::string& program);

/// trtexec: its options, its lines of what runs, passed and failed. The exit status.
int run_trtexec(int argc, char** argv, Logger& logger);

}  // namespace tenon::tool
