// The process that loads the library: it lists the creators, or checks one.
#pragma once

#include "check/check_options.h"
#include "logger.h"

namespace tenon::tool::check {

/// Reports to kReportDescriptor, errors too, and never returns: the library's destructors are not
/// what is checked.
[[noreturn]] void work(const Options& options, Logger& logger);

}  // namespace tenon::tool::check
