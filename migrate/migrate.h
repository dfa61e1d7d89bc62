// What a source written for TensorRT 8 or 10 uses that later versions have not, and what they have
// instead.
#ifndef TENON_MIGRATE_MIGRATE_H
#define TENON_MIGRATE_MIGRATE_H

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace tenon::migrate {

/// A use of something that is gone.
struct Finding {
  size_t line = 1, column = 1;  ///< from 1; columns count bytes
  std::string what;             ///< "ICudaEngine::getBindingIndex"
  int removed = 0;      ///< the first version of TensorRT without it; 0 while it is deprecated
  std::string instead;  ///< what to write
  /// Whether the receiver's type is known to be TensorRT's. Else the name is one that other types
  /// have, too, and the type is not to be seen in this file.
  bool is_certain = true;
  bool is_in_tenon = true;  ///< Tenon's headers have it still
  bool is_fixable = false;  ///< fixed() takes it away
  size_t at = 0;            ///< of the name, in bytes from the source's begin
};

/// Findings of a source in its order. Types are those that declarations in the same file say: of
/// variables, pointers, smart pointers, and `auto` with a function that gives the type.
/// @param to the version of TensorRT that the source is to compile with: 10 or 11. What is merely
///     deprecated in 11 is found for 11.
std::vector<Finding> findings_of(std::string_view source, int to);

/// The source with the findings that are fixable and certain taken away, and nothing else changed.
std::string fixed(std::string_view source, int to);

/// A name that rules are about, and whether Tenon's headers have it.
struct RuleName {
  std::string name;
  bool is_in_tenon;
};
/// Of all rules but those of headers.
std::vector<RuleName> rule_names();

}  // namespace tenon::migrate

#endif  // TENON_MIGRATE_MIGRATE_H
