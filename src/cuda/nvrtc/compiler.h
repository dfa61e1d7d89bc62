// NVRTC: CUDA C++ becomes machine code while a plan is built. Needs no GPU.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "base/digest.h"

namespace tenon::cuda {

/// Why nothing can be compiled: libnvrtc.so.13 is not there, or lacks a function; "" when it can.
const std::string& reason_for_no_compiler();

/// "13.0". Throws when there is no compiler.
std::string compiler_version();

/// Machine code (a cubin) of a CUDA C++ source for one architecture, "sm_90". Products and sums are
/// not contracted, so that results are those of the same arithmetic on the host; fmaf() is there
/// where it is wanted. Throws Error with the compiler's log. Thread-safe.
std::vector<std::byte> compile_cuda(const std::string& source, const std::string& architecture);

/// Stands for that machine code: for source, architecture, options and compiler_version().
Digest code_key(const std::string& source, const std::string& architecture);

}  // namespace tenon::cuda
