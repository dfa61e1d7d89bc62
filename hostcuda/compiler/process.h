/// Programs that this one runs.
#pragma once

#include <string>
#include <vector>

namespace tenon::nvcc {

/// Runs a program, found as the shell would, and returns its exit status. Prints it first if
/// `shows`, and does not run it if `is_dry`.
int run(const std::vector<std::string>& command, bool shows, bool is_dry);

/// @throws Failure when it cannot be read or written.
std::string read_file(const std::string& name);
void write_file(const std::string& name, const std::string& text);

/// The folder that has bin/, include/ and lib64/: that of this program.
std::string toolkit_folder();

}  // namespace tenon::nvcc
