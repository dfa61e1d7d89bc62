/// What the runtime says on standard error.
#include "hostcuda/runtime/report.h"

#include <cstdarg>
#include <cstdio>

namespace tenon::hostcuda {

void report(const char* format, ...) {
  char line[2048];  // in one piece, as several threads may report
  std::va_list arguments;
  va_start(arguments, format);
  std::vsnprintf(line, sizeof(line), format, arguments);
  va_end(arguments);
  std::fprintf(stderr, "tenon: %s\n", line);
}

}  // namespace tenon::hostcuda
