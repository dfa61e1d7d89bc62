/// What the runtime says on standard error.
#pragma once
#pragma GCC system_header

namespace tenon::hostcuda {

/// A line that starts with "tenon: "; the format is printf's.
__attribute__((format(printf, 1, 2))) void report(const char* format, ...);

}  // namespace tenon::hostcuda

/// For programs that load kernels and find this by its name: what was said since the last call, the
/// first 4 KiB of it. Valid until the calling thread calls again.
extern "C" const char* tenonHostcudaSaid();
