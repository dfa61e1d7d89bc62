// Feeds arbitrary bytes behind the magic of a tensor's file to the reader; what it accepts has the
// elements that its shape says.
#include <tenon/serve/tensor_file.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  constexpr uint32_t kMagic = 0xFCCFE2E2;
  std::vector<std::byte> file(sizeof kMagic + size);
  std::memcpy(file.data(), &kMagic, sizeof kMagic);
  if (size > 0) std::memcpy(file.data() + sizeof kMagic, data, size);
  auto tensor = tenon::serve::tensor_of_bytes(file);
  if (!tensor) {
    if (tensor.error().empty()) std::abort();
    return 0;
  }
  const auto array = tensor->to_array();
  if (!array || array->bytes.size() != tensor->bytes() || tensor->bytes() > size) std::abort();
  return 0;
}
