#include "api/guard.h"

#include <algorithm>
#include <mutex>
#include <vector>

#include "base/text.h"

namespace tenon {
namespace {

// Loggers of living reporters, oldest first. Never destroyed: reporters may outlive statics.
struct Loggers {
  std::mutex mutex;
  std::vector<nvinfer1::ILogger*> list;
};
Loggers& loggers() {
  static auto* all = new Loggers;
  return *all;
}

void hold(nvinfer1::ILogger* logger) {
  if (logger == nullptr) return;
  const std::lock_guard lock(loggers().mutex);
  loggers().list.push_back(logger);
}

void release(nvinfer1::ILogger* logger) {
  const std::lock_guard lock(loggers().mutex);
  auto& list = loggers().list;
  const auto found = std::find(list.begin(), list.end(), logger);
  if (found != list.end()) list.erase(found);
}

}  // namespace

nvinfer1::ILogger* current_logger() {
  const std::lock_guard lock(loggers().mutex);
  return loggers().list.empty() ? nullptr : loggers().list.front();
}

Reporter::Reporter(nvinfer1::ILogger* logger) : log_(logger) {
  hold(logger);
}

Reporter::Reporter(const Reporter& other) : log_(other.log_) {
  hold(logger());
  set_recorder(other.recorder_);
}

Reporter::~Reporter() {
  set_recorder(nullptr);
  release(logger());
}

void Reporter::set_recorder(nvinfer1::IErrorRecorder* recorder) {
  if (recorder != nullptr) recorder->incRefCount();
  if (recorder_ != nullptr) recorder_->decRefCount();
  recorder_ = recorder;
}

void Reporter::report(ErrorCode code, const std::string& text) const noexcept {
  log_.write(
      code == ErrorCode::kINTERNAL_ERROR ? Log::Severity::kINTERNAL_ERROR : Log::Severity::kERROR,
      text.c_str());
  if (recorder_ == nullptr) return;
  char cut[nvinfer1::IErrorRecorder::kMAX_DESC_LENGTH + 1];
  const size_t length = text.copy(cut, sizeof(cut) - 1);
  cut[length] = '\0';
  recorder_->reportError(code, cut);
}

void Reporter::report_current(const char* where) const noexcept {
  try {
    try {
      throw;
    } catch (const Error& e) {
      report(e.code(), one_line(fmt::format("{}: {}", where, e.what())));
    } catch (const std::bad_alloc&) {
      report(ErrorCode::kFAILED_ALLOCATION, fmt::format("{}: out of memory", where));
    } catch (const std::exception& e) {
      report(ErrorCode::kINTERNAL_ERROR,
             one_line(fmt::format("{}: internal error: {}", where, e.what())));
    } catch (...) {
      report(ErrorCode::kINTERNAL_ERROR, fmt::format("{}: an unknown exception", where));
    }
  } catch (...) {
    log_.write(Log::Severity::kERROR, "out of memory while reporting an error");
  }
}

}  // namespace tenon
