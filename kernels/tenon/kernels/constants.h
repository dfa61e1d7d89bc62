/// Lists among a plugin's attributes where kernels can read them.
#pragma once

#include <tenon/plugin/device.h>

#include <vector>

#include "tenon/kernels/workspace.h"

namespace tenon::kernels::inline TENON_TARGET {

/// Workspace for lists, which constants_of() takes in the same order.
template <class... Lists> void reserve_constants(Carver& carver, const Lists&... lists) {
  (carver.array<typename Lists::value_type>(static_cast<int64_t>(lists.size())), ...);
}
/// The elements of a list; null when it has none. On a GPU each call copies them.
template <class V>
const V* constants_of(const kit::Device& device, Carver& carver, const std::vector<V>& list) {
  const auto count = static_cast<int64_t>(list.size());
  V* const at = carver.array<V>(count);
  return count == 0 ? nullptr : device.constants(list.data(), count, at);
}

}  // namespace tenon::kernels::inline TENON_TARGET
