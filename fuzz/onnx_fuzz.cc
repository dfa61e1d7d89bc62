// Feeds arbitrary bytes to the ONNX importer: it may refuse them, and nothing else.
#include <cstddef>
#include <cstdint>

#include "import/import.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  tenon::Network network;
  tenon::ImportReport report;
  tenon::ImportOptions options;
  options.most_computed_bytes = size_t{1} << 22;
  try {
    tenon::import_onnx({reinterpret_cast<const std::byte*>(data), size}, options, network, report);
  } catch (const tenon::Error&) {  // the only answer to a bad model
  }
  return 0;
}
