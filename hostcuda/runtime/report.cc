/// What the runtime says on standard error.
#include "tenon/hostcuda/report.h"

#include <cstdarg>
#include <cstdio>
#include <mutex>
#include <string>

namespace tenon::hostcuda {
namespace {

constexpr std::size_t kMostKept = 4096;
std::mutex mutex;
std::string& kept() {
  static auto* const text = new std::string;  // kernels may speak until the process ends
  return *text;
}

}  // namespace

void report(const char* format, ...) {
  char line[2048];  // in one piece, as several threads may report
  std::va_list arguments;
  va_start(arguments, format);
  std::vsnprintf(line, sizeof(line), format, arguments);
  va_end(arguments);
  std::fprintf(stderr, "tenon: %s\n", line);
  const std::lock_guard lock(mutex);
  if (!kept().empty()) kept() += '\n';
  kept() += line;
  if (kept().size() > kMostKept) kept().resize(kMostKept);
}

}  // namespace tenon::hostcuda

const char* tenonHostcudaSaid() {
  using namespace tenon::hostcuda;
  thread_local std::string said;
  said.clear();
  const std::lock_guard lock(mutex);
  said.swap(kept());
  return said.c_str();
}
