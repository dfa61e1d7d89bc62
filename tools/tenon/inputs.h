// Inputs of a session, as the command line gives them.
#pragma once

#include <tenon/session/session.h>

#include "npz.h"
#include "options.h"

namespace tenon::tool {

/// A session in the profile of --useProfile. Throws Failure when there is none.
std::unique_ptr<session::Session> make_session(nvinfer1::ICudaEngine& engine, Logger& logger,
                                               int32_t profile);

/// Session::set_inputs() with the shapes and values of --shapes. Throws Failure.
void set_inputs(session::Session& session, const Arrays& arrays, const Shapes& shapes);

/// Puts noise in [0, 1) into float inputs that there was no array for.
void fill_with_noise(session::Session& session);

}  // namespace tenon::tool
