#include "base/current_logger.h"

#include <algorithm>
#include <cstdio>
#include <mutex>
#include <vector>

namespace tenon {
namespace {

// Loggers of living objects, oldest first. Never destroyed: objects may outlive statics.
struct Loggers {
  std::mutex mutex;
  std::vector<nvinfer1::ILogger*> list;
};
Loggers& loggers() {
  static auto* const all = new Loggers;
  return *all;
}

}  // namespace

nvinfer1::ILogger* current_logger() {
  const std::lock_guard lock(loggers().mutex);
  return loggers().list.empty() ? nullptr : loggers().list.front();
}

void hold_logger(nvinfer1::ILogger* logger) {
  if (logger == nullptr) return;
  const std::lock_guard lock(loggers().mutex);
  loggers().list.push_back(logger);
}

void release_logger(nvinfer1::ILogger* logger) {
  const std::lock_guard lock(loggers().mutex);
  auto& list = loggers().list;
  const auto found = std::find(list.begin(), list.end(), logger);
  if (found != list.end()) list.erase(found);
}

void write_message(nvinfer1::ILogger::Severity severity, const char* text) noexcept {
  if (nvinfer1::ILogger* const logger = current_logger())
    logger->log(severity, text);
  else if (severity <= nvinfer1::ILogger::Severity::kERROR)
    std::fprintf(stderr, "tenon: %s\n", text);
}

}  // namespace tenon
