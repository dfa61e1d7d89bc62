// The import of a model that is parsed already.
#pragma once

#include "import/import.h"

namespace tenon {

/// Like import_onnx(); the model is used up.
void import_parsed(onnx::ModelProto& model, const ImportOptions& options, Network& network,
                   ImportReport& report);

}  // namespace tenon
