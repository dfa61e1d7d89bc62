// Libraries that were compiled with a sanitizer: its runtime, and what it reports.
#pragma once

#include <cstddef>
#include <string>

namespace tenon::check {

struct Sanitizer {
  const char* mode;    // of --mode
  const char* name;    // as its reports begin
  const char* option;  // of compilers
  const char* runtime;
  const char* symbol;    // that everything compiled with it calls
  const char* variable;  // of its settings, and these
  const char* settings;
};

/// Null for modes that have none.
const Sanitizer* sanitizer_of(const std::string& mode);

/// The file of the sanitizer's runtime, as the library names it. Throws Failure when the library
/// was not compiled with the sanitizer.
std::string runtime_of(const Sanitizer& sanitizer, const std::string& library);

/// Throws Failure when the library was linked with a sanitizer whose runtime this process lacks.
void require_no_sanitizer(const std::string& library);

/// NAME=VALUE for the processes that check; what this process was told comes last.
std::string settings_of(const Sanitizer& sanitizer);

/// The first fault of a process that printed `text`, in one line: its kind, and each access with
/// the line of the source. "" when there is none.
std::string fault_in(const Sanitizer& sanitizer, const std::string& text);

/// From now on close_memory() has an effect: who touches closed memory ends this process with
/// AddressSanitizer's report.
void use_closed_memory();
/// Memory that nobody may touch until it is opened. Nothing unless use_closed_memory() was called:
/// a program that is itself compiled with AddressSanitizer finds broken plugins as any other does.
void close_memory(const void* memory, size_t bytes);
void open_memory(const void* memory, size_t bytes);

}  // namespace tenon::check
