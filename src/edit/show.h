// One line for a node, as tables and patches have it.
#pragma once

#include <string>

#include "edit/store.h"

namespace tenon::edit {

/// "Conv 'conv1' (x, w) -> y  strides=[2,2]".
std::string node_line(Store& store, Id node);

}  // namespace tenon::edit
