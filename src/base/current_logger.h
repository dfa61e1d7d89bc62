// The logger of the process: where messages go that belong to no object of the API.
#pragma once

#include <NvInferRuntime.h>

namespace tenon {

/// That of the oldest living builder, runtime or engine; null if there is none.
nvinfer1::ILogger* current_logger();

/// An object with this logger lives from hold to release. Null loggers do not count.
void hold_logger(nvinfer1::ILogger* logger);
void release_logger(nvinfer1::ILogger* logger);

/// A message to the current logger; without one, errors go to standard error, the rest is dropped.
void write_message(nvinfer1::ILogger::Severity severity, const char* text) noexcept;

}  // namespace tenon
