#include "tenon/serve/job.h"

namespace tenon::serve {

const char* name_of(Stage stage) {
  switch (stage) {
    case Stage::kAdmission:
      return "admission";
    case Stage::kPreprocess:
      return "pre-process";
    case Stage::kInfer:
      return "infer";
    case Stage::kPostprocess:
      return "post-process";
  }
  return "unknown";
}

const char* name_of(Failure failure) {
  switch (failure) {
    case Failure::kRefused:
      return "refused";
    case Failure::kDropped:
      return "dropped";
    case Failure::kExpired:
      return "expired";
    case Failure::kCancelled:
      return "cancelled";
    case Failure::kStopped:
      return "stopped";
    case Failure::kStage:
      return "failed";
    case Failure::kInstance:
      return "instance lost";
  }
  return "unknown";
}

std::string JobError::text() const {
  std::string text = model.empty() ? "" : model + ", ";
  text += std::string(name_of(stage)) + ": " + name_of(failure) + ": " + cause;
  if (!correlation_id.empty()) text += " (job '" + correlation_id + "')";
  return text;
}

}  // namespace tenon::serve
