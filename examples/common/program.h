// What main() does in the examples.
#ifndef EXAMPLES_COMMON_PROGRAM_H
#define EXAMPLES_COMMON_PROGRAM_H

#include <cstdio>
#include <exception>
#include <sstream>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <vector>

namespace examples {

using Arguments = std::vector<std::string>;

/// Calls run(arguments) and gives what main() returns: what that does, or 0; 1 where it throws,
/// after a line that says what.
/// @param usage the program's name and its arguments, those in brackets optional; other numbers of
/// them are an error.
template <class Run> int run_program(int argc, char** argv, const std::string& usage, Run run) {
  std::istringstream words(usage);
  std::string name;
  words >> name;
  size_t least = 0, most = 0;
  for (std::string word; words >> word; ++most) least += word[0] != '[';
  try {
    const Arguments arguments(argv + 1, argv + argc);
    if (arguments.size() < least || arguments.size() > most)
      throw std::runtime_error("usage: " + usage);
    if constexpr (std::is_void_v<decltype(run(arguments))>) {
      run(arguments);
      return 0;
    } else {
      return run(arguments);
    }
  } catch (const std::exception& e) {
    std::fprintf(stderr, "%s: %s\n", name.c_str(), e.what());
    return 1;
  }
}

}  // namespace examples

#endif  // EXAMPLES_COMMON_PROGRAM_H
