// What is known of models, as messages of gRPC.
#pragma once

#include "inference.grpc.pb.h"
#include "model/models.h"
#include "model/settings.h"

namespace tenon::server {

void describe(const ModelMetadata& metadata, const std::vector<std::string>& versions,
              inference::ModelMetadataResponse& to);

void describe(const ModelMetadata& metadata, inference::ModelConfig& to);

/// Durations in nanoseconds; those of queue, input, infer and output are of all requests.
void describe(const Model& model, inference::ModelStatistics& to);

/// Those that have no value are as the server does by itself.
SettingChanges changes_of(const inference::TraceSettingRequest& request);
SettingChanges changes_of(const inference::LogSettingsRequest& request);
void describe_settings(const Settings& settings, inference::TraceSettingResponse& to);
void describe_settings(const Settings& settings, inference::LogSettingsResponse& to);

/// @param only_ready leaves out the others.
void describe(const std::vector<ModelStatus>& index, bool only_ready,
              inference::RepositoryIndexResponse& to);

}  // namespace tenon::server
