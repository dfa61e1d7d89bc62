// Why a library cannot be loaded, in the loader's words, and what helps.
#pragma once

#include <string>

namespace tenon::tool {

/// What to do about a text of dlerror() that says why a library of plugins, or one of NVIDIA's, is
/// not loaded.
std::string fix_of_load_failure(const std::string& text);

}  // namespace tenon::tool
