/// The kit's wide vectors, by the names that kernels have for them.
#pragma once

#include <tenon/plugin/wide_vectors.h>

#if !defined(__CUDACC__)

namespace tenon::kernels::inline TENON_TARGET {

using kit::Vector;             // NOLINT: for the kernels that include this
using kit::Width;              // NOLINT
using kit::with_wide_vectors;  // NOLINT

}  // namespace tenon::kernels::inline TENON_TARGET
#endif
