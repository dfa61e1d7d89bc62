// Feeds texts to the reader of calibration caches; what it accepts must read back as it is written.
// It may refuse a text with an Error, and nothing else.
#include <cstdint>
#include <cstdlib>

#include "base/error.h"
#include "calibration/calibration_cache.h"

namespace {

using namespace tenon;

void read(std::string_view text) {
  CalibrationCache cache;
  try {
    cache = read_calibration_cache(text);
  } catch (const Error&) {  // the only answer to a bad cache
    return;
  }
  const std::string written = write_calibration_cache(cache);
  if (write_calibration_cache(read_calibration_cache(written)) != written) std::abort();
}

}  // namespace

// An input is a text, and again one behind a right first line.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  read(text);
  read("TRT-101600-EntropyCalibration2\n" + text);
  return 0;
}
