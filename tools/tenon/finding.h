// What `tenon doctor` finds wrong, and what to do about it.
#pragma once

#include <string>

namespace tenon::tool {

struct Finding {
  enum class Level {
    kError,    // something that was asked for does not work
    kWarning,  // it works, but slowly or otherwise than meant
  };
  Level level;
  std::string what;  // a sentence with what was found, and where
  std::string fix;   // what to do
};

}  // namespace tenon::tool
