// What the command line says when it cannot go on; main() prints it and exits with 1.
#pragma once

#include <fmt/format.h>

#include <stdexcept>

namespace tenon::tool {

class Failure : public std::runtime_error {
  using std::runtime_error::runtime_error;
};

template <class... Args> [[noreturn]] void fail(fmt::format_string<Args...> text, Args&&... args) {
  throw Failure(fmt::format(text, std::forward<Args>(args)...));
}

}  // namespace tenon::tool
