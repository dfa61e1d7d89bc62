// Which layers are plugins.
#pragma once

#include "network/op.h"

namespace tenon {

inline bool is_plugin(LayerType kind) {
  return kind == LayerType::kPLUGIN || kind == LayerType::kPLUGIN_V2
         || kind == LayerType::kPLUGIN_V3;
}

}  // namespace tenon
