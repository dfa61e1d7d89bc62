// Feeds configurations of a repository's models to their reader, as text or, where the first byte
// is odd, as JSON; what it accepts goes to all that makes a model of it but for the engine. They
// may refuse it with an error, and nothing else.
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>

#include "model/check_request.h"
#include "model/config_answer.h"
#include "model/ensemble_graph.h"
#include "model/fake_models.h"
#include "model/model_files.h"
#include "model/sequence_tensors.h"
#include "model/stages.h"

using namespace tenon::server;

namespace {

template <class Call> void try_to(const Call& call) {
  try {
    call();
  } catch (const Error&) {}
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const FakeModels models;
  static const ModelMetadata metadata = std::get<0>(models.find("double", ""))->metadata();
  static const ModelFiles files = {{{"m/1/model.plan", {}}, {"m/2/model.onnx", {}}}};
  if (size < 1) return 0;
  auto config = parse_model_config(std::string(data + 1, data + size), data[0] % 2 == 1);
  if (!config) return 0;
  config->name = "m";
  config->folder = "/nowhere";
  try_to([&] { return version_files(files, *config); });
  ModelMetadata configured = metadata;
  config->identify(configured, "1", "tenon_plan");
  try_to([&] { return config_json(configured); });
  try_to([&] { return ensemble_graph(models, "1", *config); });
  try_to([&] { return picture_stage(*config); });
  try_to([&] { return boxes_stage(*config); });
  try_to([&] { check_declared(*config, metadata); });
  if (config->sequence) try_to([&] { return SequenceTensors(*config, metadata); });
  return 0;
}
