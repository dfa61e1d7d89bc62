// Inputs of a session, as the command line gives them.
#pragma once

#include <tenon/session/session.h>

#include <random>

#include "model.h"
#include "npz.h"
#include "options.h"

namespace tenon::tool {

/// Name of the tensor that an option means: as given, or the only one there is. Throws Failure.
std::string name_or_only(const std::string& name, const std::vector<std::string>& names,
                         const std::string& option, const char* kind);

/// -1 where only known at run time.
session::Shape declared_shape(const nvinfer1::ICudaEngine& engine, const std::string& name);

/// The arrays of --inputs, an .npz file: a name may have "in:" in front, and those with "out:" are
/// results, which are left out. Throws Failure.
Arrays read_inputs(const std::string& path);

/// The same, which are then `known` to the build of an ONNX model; none without a path.
Arrays read_inputs(const std::string& path, RunInputs& known);

/// The shapes to run with: what --shapes leaves open is the optimum of the profile that is built.
Shapes run_shapes(const BuildOptions& build, int profile, bool is_built);

/// The arrays of --loadInputs: "input:file.bin", or a file alone for the only input. Dynamic inputs
/// have the shapes of --shapes. Throws Failure.
Arrays read_raw_inputs(const std::vector<std::string>& texts, const nvinfer1::ICudaEngine& engine,
                       const std::vector<std::string>& inputs, const Shapes& shapes);

/// A session in the profile of --useProfile. Throws Failure when there is none.
std::unique_ptr<session::Session> make_session(nvinfer1::ICudaEngine& engine, Logger& logger,
                                               const session::SessionOptions& options);

/// Session::set_inputs() with the shapes and values of --shapes. Throws Failure.
void set_inputs(session::Session& session, const Arrays& arrays, const Shapes& shapes);

/// Puts noise in [0, 1) into an array of float32.
void fill_with_noise(Array& array, std::mt19937& random);

/// The same for float inputs that there was no array for.
void fill_with_noise(session::Session& session);

}  // namespace tenon::tool
