// libnvonnxparser.so: the ONNX parser's functions, forwarded to libtenon.
#include "libraries/entry_points.h"

extern "C" {

void* createNvOnnxParser_INTERNAL(void* network, void* logger, int version) noexcept {
  return tenonEntryPoints()->create_parser(network, logger, version);
}

void* createNvOnnxParserRefitter_INTERNAL(void* refitter, void* logger, int32_t version) noexcept {
  return tenonEntryPoints()->create_parser_refitter(refitter, logger, version);
}

int getNvOnnxParserVersion() noexcept {
  return tenonEntryPoints()->parser_version();
}

}  // extern "C"

namespace nvonnxparser {

IOnnxConfig* createONNXConfig() {
  return tenonEntryPoints()->create_onnx_config();
}

}  // namespace nvonnxparser
