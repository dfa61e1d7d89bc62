// What an engine says of itself, in trtexec's words.
#pragma once

#include <NvInferRuntime.h>

#include <functional>
#include <string>

#include "logger.h"
#include "model.h"

namespace tenon::tool {

/// --dumpLayerInfo.
/// @param context whose shapes the text is about; may be null.
void print_layers(const nvinfer1::ICudaEngine& engine, nvinfer1::IExecutionContext* context,
                  Logger& logger);
/// What the inspector says of all layers, for the shapes of the context.
std::string layers_json(nvinfer1::IExecutionContext& context, Logger& logger);
/// --exportLayerInfo.
void export_layers(const nvinfer1::ICudaEngine& engine, nvinfer1::IExecutionContext* context,
                   const std::string& path, Logger& logger);
/// --dumpOptimizationProfile: the shapes of every input in every profile.
void print_profiles(const nvinfer1::ICudaEngine& engine, Logger& logger);
/// --getPlanVersionOnly: the version in a plan's header. Throws Failure for what is no plan.
void print_plan_version(const std::string& path, Logger& logger);
/// --timeDeserialize: how long `load` takes.
void time_loading(const std::function<session::Engine()>& load, Logger& logger);

}  // namespace tenon::tool
