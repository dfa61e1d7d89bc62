// The inputs and outputs of a session's last run: printed, as JSON, and as files of raw bytes.
#pragma once

#include <tenon/session/session.h>

#include <string>

#include "logger.h"

namespace tenon::tool {

/// Each element as a text, in which floats have the digits that tell them apart.
std::vector<std::string> texts_of(const session::Array& array);
/// Letters, digits and what is usual in names of files; the rest becomes an underscore.
std::string file_name(std::string text);

/// --dumpOutput.
void print_outputs(session::Session& session, Logger& logger);
/// --exportOutput.
void export_outputs(session::Session& session, const std::string& path);
/// --dumpRawBindingsToFile: into the current folder, as NAME.output.1.10.fp32.raw.
void write_raw_tensors(session::Session& session, Logger& logger);

}  // namespace tenon::tool
