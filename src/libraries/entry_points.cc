#include "libraries/entry_points.h"

extern "C" const tenon::EntryPoints* tenonEntryPoints() noexcept {
  static const tenon::EntryPoints kPoints = {
      .create_builder = &createInferBuilder_INTERNAL,
      .create_runtime = &createInferRuntime_INTERNAL,
      .create_refitter = &createInferRefitter_INTERNAL,
      .plugin_registry = &::getPluginRegistry,
      .builder_plugin_registry = &nvinfer1::getBuilderPluginRegistry,
      .builder_safe_plugin_registry = &nvinfer1::getBuilderSafePluginRegistry,
      .logger = &::getLogger,
      .set_internal_library_path = &nvinfer1::setInternalLibraryPath,
      .init_plugins = &initLibNvInferPlugins,
      .create_parser = &createNvOnnxParser_INTERNAL,
      .create_parser_refitter = &createNvOnnxParserRefitter_INTERNAL,
      .parser_version = &getNvOnnxParserVersion,
      .create_onnx_config = &nvonnxparser::createONNXConfig,
  };
  return &kPoints;
}
