// How the stand-ins for removed headers say that they do nothing.
#ifndef TENON_COMPAT8_UNSUPPORTED_H
#define TENON_COMPAT8_UNSUPPORTED_H

#include <cstddef>
#include <cstdio>

#include "NvInferRuntime.h"

#if !TENON_TRT_OLDER_NAMES
#error "TensorRT 11 has not got this header: leave the #include out, or set TENON_TRT_OLDER_NAMES=1"
#endif

namespace tenon {

/// Logs an error to the library's logger, or to stderr while there is none; returns null.
inline std::nullptr_t unsupported(const char* message) noexcept {
  if (nvinfer1::ILogger* logger = ::getLogger()) {
    logger->log(nvinfer1::ILogger::Severity::kERROR, message);
  } else {
    std::fprintf(stderr, "%s\n", message);
  }
  return nullptr;
}

}  // namespace tenon

#endif  // TENON_COMPAT8_UNSUPPORTED_H
