// Feeds arbitrary bytes to the ONNX importer: it may refuse them, and nothing else.
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>

#include "import/import.h"

namespace {

// Where the models seem to lie: beside a file that they may name, and links that lead out.
std::filesystem::path folder() {
  namespace fs = std::filesystem;
  const fs::path folder = fs::temp_directory_path() / "tenon_onnx_fuzz";
  fs::create_directories(folder / "inside");
  std::ofstream(folder / "w.bin", std::ios::binary) << std::string(64, '\0');
  std::error_code there_already;
  fs::create_symlink("/etc/passwd", folder / "link.bin", there_already);
  fs::create_directory_symlink("/", folder / "up", there_already);
  return folder;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const std::string path = folder() / "model.onnx";
  tenon::Network network;
  tenon::ImportReport report;
  tenon::ImportOptions options;
  options.model_path = path;
  options.max_computed_bytes = size_t{1} << 22;
  options.max_nodes = 300;
  try {
    tenon::import_onnx({reinterpret_cast<const std::byte*>(data), size}, options, network, report);
  } catch (const tenon::Error&) {  // the only answer to a bad model
  }
  return 0;
}
