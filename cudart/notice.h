/// Tells the user, once for each name, about something that the host runtime cannot do.
#pragma once

#include <tenon/cudart/errors.h>

#include <string_view>

namespace tenon::cudart {

/// Writes one line to standard error: most programs drop the error code that comes with it.
void say_once(std::string_view name, std::string_view what) noexcept;

/// Keeps the error as the thread's last one and returns it.
cudaError_t note_refusal(cudaError_t error) noexcept;

}  // namespace tenon::cudart
