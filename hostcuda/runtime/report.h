/// What the runtime says on standard error.
#pragma once

namespace tenon::hostcuda {

/// A line that starts with "tenon: "; the format is printf's.
__attribute__((format(printf, 1, 2))) void report(const char* format, ...);

}  // namespace tenon::hostcuda
