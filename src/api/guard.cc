#include "api/guard.h"

#include "base/current_logger.h"
#include "base/text.h"

namespace tenon {

Reporter::Reporter(nvinfer1::ILogger* logger) : log_(logger) {
  hold_logger(logger);
}

Reporter::Reporter(const Reporter& other) : log_(other.log_) {
  hold_logger(logger());
  set_recorder(other.recorder());
}

Reporter::~Reporter() {
  set_recorder(nullptr);
  release_logger(logger());
}

nvinfer1::IErrorRecorder* Reporter::recorder() const {
  const std::lock_guard lock(mutex_);
  return recorder_;
}

void Reporter::set_recorder(nvinfer1::IErrorRecorder* recorder) {
  if (recorder != nullptr) recorder->incRefCount();
  nvinfer1::IErrorRecorder* before = nullptr;
  {
    const std::lock_guard lock(mutex_);
    before = std::exchange(recorder_, recorder);
  }
  if (before != nullptr) before->decRefCount();
}

void Reporter::report(ErrorCode code, const std::string& text) const noexcept {
  log_.write(
      code == ErrorCode::kINTERNAL_ERROR ? Log::Severity::kINTERNAL_ERROR : Log::Severity::kERROR,
      text.c_str());
  nvinfer1::IErrorRecorder* recorder = nullptr;
  {
    const std::lock_guard lock(mutex_);
    recorder = recorder_;
    if (recorder == nullptr) return;
    recorder->incRefCount();  // a run that ends on another thread reports, too
  }
  char cut[nvinfer1::IErrorRecorder::kMAX_DESC_LENGTH + 1];
  const size_t length = text.copy(cut, sizeof(cut) - 1);
  cut[length] = '\0';
  recorder->reportError(code, cut);
  recorder->decRefCount();
}

void Reporter::report_current(const char* where) const noexcept {
  try {
    try {
      throw;
    } catch (const Error& e) {
      report(e.code(),
             with_code(short_line(fmt::format("{}: {}", where, e.what())), e.error_class()));
    } catch (const std::bad_alloc&) {
      report(ErrorCode::kFAILED_ALLOCATION,
             with_code(fmt::format("{}: out of memory", where), ErrorClass::kMemory));
    } catch (const std::exception& e) {
      report(ErrorCode::kINTERNAL_ERROR,
             with_code(short_line(fmt::format("{}: internal error: {}", where, e.what())),
                       ErrorClass::kInternal));
    } catch (...) {
      report(ErrorCode::kINTERNAL_ERROR,
             with_code(fmt::format("{}: an unknown exception", where), ErrorClass::kInternal));
    }
  } catch (...) {
    log_.write(Log::Severity::kERROR, "out of memory while reporting an error");
  }
}

void ignore_dla_core(int32_t core, const Reporter& reporter) noexcept {
  reporter.run([&] {
    if (core != -1)
      reporter.log().warning("setDLACore: there is no DLA, and core {} is not chosen", core);
  });
}

}  // namespace tenon
