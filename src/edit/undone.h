// Edits that are done whole or not at all.
#pragma once

#include <tenon/onnx.h>

namespace tenon::edit {

/// What `edit` gives; when it throws, the model is as it was.
template <class Edit> auto undone_unless(Model& model, Edit&& edit) {
  const size_t steps = model.steps();
  try {
    return edit();
  } catch (...) {
    model.undo_to(steps);
    throw;
  }
}

}  // namespace tenon::edit
