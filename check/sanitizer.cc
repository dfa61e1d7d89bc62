#include "check/sanitizer.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <filesystem>
#include <sstream>
#include <string_view>

#include "check/elf.h"
#include "check/error.h"

namespace tenon::check {
namespace {

constexpr Sanitizer kSanitizers[] = {
    {"address", "AddressSanitizer", "-fsanitize=address", "libasan.so", "__asan_init",
     "ASAN_OPTIONS", "detect_leaks=0"},
    {"race", "ThreadSanitizer", "-fsanitize=thread", "libtsan.so", "__tsan_init", "TSAN_OPTIONS",
     "halt_on_error=1"}};

std::string_view trimmed(std::string_view line) {
  line.remove_prefix(std::min(line.find_first_not_of(' '), line.size()));
  return line;
}

std::string_view until(std::string_view text, std::initializer_list<std::string_view> ends) {
  for (const std::string_view end : ends) text = text.substr(0, text.find(end));
  return text;
}

// "write of size 4" of a line that begins the stack of an access; "" for other lines.
std::string access_of(std::string_view line) {
  std::string text(until(line, {" at 0x", " by thread", " here:"}));
  std::ranges::transform(text, text.begin(), [](unsigned char c) { return std::tolower(c); });
  for (const char* kind : {"read of size", "write of size", "freed"})
    if (text.find(kind) != std::string::npos) return text;
  return "";
}

// "kernel.cu:12" of a frame; "" where no line is known, and in headers that stand for the
// toolkit's.
std::string location_of(std::string_view frame) {
  std::istringstream words{std::string(frame)};
  std::string location;
  for (std::string word; words >> word;) {
    const auto colon = word.find(':');
    if (colon != std::string::npos && colon + 1 < word.size() && colon > 0
        && word.find("::") == std::string::npos && std::isdigit(word[colon + 1]) != 0)
      location = word;
  }
  for (const char* folder :
       {"/tenon/hostcuda/", "/cub/", "/thrust/", "/sanitizer_common/", "/asan/"})
    if (location.find(folder) != std::string::npos) return "";
  return location;
}

// "" when it is not linked with it.
std::string runtime_among(const std::vector<std::string>& needed, const Sanitizer& sanitizer) {
  for (const std::string& name : needed)
    if (name.starts_with(sanitizer.runtime)) return name;
  return "";
}

bool closes_memory = false;

void call(const char* name, const void* memory, size_t bytes) {
  using Function = void (*)(const volatile void*, size_t);
  if (const auto function = reinterpret_cast<Function>(dlsym(RTLD_DEFAULT, name)))
    function(memory, bytes);
}

}  // namespace

const Sanitizer* sanitizer_of(const std::string& mode) {
  const auto* found = std::ranges::find(kSanitizers, mode, &Sanitizer::mode);
  return found == std::end(kSanitizers) ? nullptr : found;
}

std::string runtime_of(const Sanitizer& sanitizer, const std::string& library) {
  if (!std::filesystem::exists(library))
    fail(ErrorClass::kFile, "--mode={}: {}: no such file", sanitizer.mode, library);
  const SharedLibrary file = read_shared_library(library);
  const std::string runtime = runtime_among(file.needed, sanitizer);
  if (!runtime.empty()) return runtime;
  const std::string how = fmt::format("nvcc -g {} ... -shared -o {}", sanitizer.option, library);
  if (file.names.find(sanitizer.symbol) == std::string::npos)
    fail(ErrorClass::kOptions,
         "--mode={}: {} is not compiled with {}: compile all of it with {}, as `{}`",
         sanitizer.mode, library, sanitizer.name, sanitizer.option, how);
  fail(ErrorClass::kOptions,
       "--mode={}: {} does not name the runtime of {}: link it with GCC, as `{}`", sanitizer.mode,
       library, sanitizer.name, how);
}

void require_no_sanitizer(const std::string& library) {
  const std::vector<std::string> needed = read_shared_library(library).needed;
  for (const Sanitizer& sanitizer : kSanitizers)
    if (!runtime_among(needed, sanitizer).empty()
        && dlsym(RTLD_DEFAULT, sanitizer.symbol) == nullptr)
      fail(ErrorClass::kOptions, "{} is compiled with {}: check it with --mode={}", library,
           sanitizer.name, sanitizer.mode);
}

std::string settings_of(const Sanitizer& sanitizer) {
  const char* own = std::getenv(sanitizer.variable);
  return fmt::format("{}={}:{}", sanitizer.variable, sanitizer.settings, own == nullptr ? "" : own);
}

std::string fault_in(const Sanitizer& sanitizer, const std::string& text) {
  const std::string begin = std::string(sanitizer.name) + ": ", in = "tenon: in ";
  std::istringstream lines(text);
  std::string fault, access, kernel;
  bool wants_location = false;
  for (std::string line; std::getline(lines, line);) {
    const std::string_view message = trimmed(line);
    const auto at = message.find(begin);
    if (fault.empty()) {
      if (at == std::string_view::npos) continue;
      fault = until(message.substr(at + begin.size()), {" on address", " on unknown", " (pid="});
      if (fault == "use-after-poison") fault = "access outside of a tensor or a variable";
      wants_location = true;
    } else if (message.starts_with("#")) {
      const std::string location = wants_location ? location_of(message) : "";
      if (location.empty()) continue;
      fault += fmt::format("{}{} at {}", access.empty() ? "" : ", ", access, location);
      wants_location = false;
    } else if (const std::string next = access_of(message); !next.empty()) {
      access = next;
      wants_location = true;
    } else if (message.starts_with(in)) {
      kernel = message.substr(in.size());
    } else if (at != std::string_view::npos && !message.starts_with("SUMMARY")) {
      break;  // the next fault
    }
  }
  return kernel.empty() ? fault : fmt::format("{}, in {}", fault, kernel);
}

void use_closed_memory() {
  closes_memory = true;
}

void close_memory(const void* memory, size_t bytes) {
  if (closes_memory) call("__asan_poison_memory_region", memory, bytes);
}
void open_memory(const void* memory, size_t bytes) {
  if (closes_memory) call("__asan_unpoison_memory_region", memory, bytes);
}

}  // namespace tenon::check
