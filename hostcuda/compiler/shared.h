/// Declarations of shared memory.
#pragma once

#include "hostcuda/compiler/syntax.h"

namespace tenon::nvcc {

/// Of the runtime's names, as generated code spells it.
inline const std::string kNamespace = "::tenon::hostcuda::";

/// What takes the place of tokens [begin, end], of which the last is the semicolon.
struct SharedDeclaration {
  std::size_t begin, end;
  std::string text;
};

/// Reads the declaration around the word `__shared__` at `at`. `next` numbers the types it needs.
/// @throws Failure for forms that are not supported.
SharedDeclaration read_shared(const Source& source, std::size_t at, bool is_at_namespace,
                              int* next);

}  // namespace tenon::nvcc
