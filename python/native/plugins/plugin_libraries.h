// Plugin libraries in a process of Python's.
#pragma once

namespace tenon::python {

/// Makes plugin libraries that are opened from now on find this package's engine: those that look
/// its functions up, and those that name TensorRT's libraries. Throws when the package lacks one.
void prepare_for_plugin_libraries();

/// Keeps the code of a library that is loaded, for objects of Python that may use it.
void keep_loaded(const char* path);

}  // namespace tenon::python
