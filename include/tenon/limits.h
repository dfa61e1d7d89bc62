// What models from strangers may cost.
#ifndef TENON_LIMITS_H
#define TENON_LIMITS_H

#include <cstddef>

#include "tenon/extensions.h"

/// What the functions below call.
TENON_EXTENSION void tenonSetImportLimit(size_t bytes) noexcept;
TENON_EXTENSION size_t tenonImportLimit() noexcept;
TENON_EXTENSION void tenonSetImportNodeLimit(size_t nodes) noexcept;
TENON_EXTENSION size_t tenonImportNodeLimit() noexcept;

namespace tenon {

/// Limits the memory, in bytes, of constants that an ONNX model computes rather than stores (a
/// shape filled with a number, a range, a converted weight): a parser refuses a model that asks for
/// more. It holds for models that are parsed afterwards, in any thread. 0 brings back the default:
/// the environment variable TENON_IMPORT_LIMIT in MiB, or 2 GiB.
inline void set_import_limit(size_t bytes) noexcept {
  if (tenonSetImportLimit != nullptr) tenonSetImportLimit(bytes);
}

/// The limit now; 0 when the library is not Tenon, or when TENON_IMPORT_LIMIT is no number.
inline size_t import_limit() noexcept {
  return tenonImportLimit != nullptr ? tenonImportLimit() : 0;
}

/// Limits the nodes of an ONNX model, with those of its functions each time they are called: a
/// parser refuses a model that has more. Otherwise as set_import_limit(); the environment variable
/// is TENON_IMPORT_NODES, and the default 200,000.
inline void set_import_node_limit(size_t nodes) noexcept {
  if (tenonSetImportNodeLimit != nullptr) tenonSetImportNodeLimit(nodes);
}

/// The limit now; 0 when the library is not Tenon, or when TENON_IMPORT_NODES is no number.
inline size_t import_node_limit() noexcept {
  return tenonImportNodeLimit != nullptr ? tenonImportNodeLimit() : 0;
}

}  // namespace tenon

#endif  // TENON_LIMITS_H
