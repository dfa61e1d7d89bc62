// Loads arbitrary bytes as an ONNX model, edits and saves it: it may be refused, and undoing gives
// the bytes back.
#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "edit/testing.h"
#include "import/import.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace tenon::edit;  // NOLINT: this function is about nothing else
  tenon::set_computed_bytes_limit(size_t{1} << 22);
  tenon::set_node_limit(300);
  const std::string bytes(reinterpret_cast<const char*>(data), size);
  try {
    Model model = Model::parse(bytes);
    for (const NamedEdit& edit : every_edit()) attempt(edit, model);
    model.undo();
    if (model.serialize() != bytes) std::abort();
  } catch (const std::runtime_error&) {  // the only answer to a bad model
  }
  return 0;
}
