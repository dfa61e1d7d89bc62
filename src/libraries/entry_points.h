// How the thin libraries with TensorRT's names reach libtenon: one function that hands out the
// addresses of all others, so that equal names in several libraries cannot bind to each other.
#pragma once

#include <NvInfer.h>
#include <NvInferPlugin.h>
#include <NvOnnxConfig.h>
#include <NvOnnxParser.h>

namespace tenon {

struct EntryPoints {
  decltype(&createInferBuilder_INTERNAL) create_builder;
  decltype(&createInferRuntime_INTERNAL) create_runtime;
  decltype(&createInferRefitter_INTERNAL) create_refitter;
  decltype(&::getPluginRegistry) plugin_registry;
  decltype(&nvinfer1::getBuilderPluginRegistry) builder_plugin_registry;
  decltype(&nvinfer1::getBuilderSafePluginRegistry) builder_safe_plugin_registry;
  decltype(&::getLogger) logger;
  decltype(&nvinfer1::setInternalLibraryPath) set_internal_library_path;
  decltype(&initLibNvInferPlugins) init_plugins;
  decltype(&createNvOnnxParser_INTERNAL) create_parser;
  decltype(&createNvOnnxParserRefitter_INTERNAL) create_parser_refitter;
  decltype(&getNvOnnxParserVersion) parser_version;
  decltype(&nvonnxparser::createONNXConfig) create_onnx_config;
};

}  // namespace tenon

extern "C" TENSORRTAPI const tenon::EntryPoints* tenonEntryPoints() noexcept;
