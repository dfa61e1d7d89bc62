// rules.json as values.
#ifndef TENON_MIGRATE_RULES_H
#define TENON_MIGRATE_RULES_H

#include <map>
#include <set>
#include <string>

namespace tenon::migrate {

struct Rule {
  enum class Kind { kHeader, kName, kEnumerator, kMethod };
  Kind kind = Kind::kName;
  /// Classes of a method, the enumeration of an enumerator.
  std::set<std::string, std::less<>> scopes;
  int removed = 0;  ///< the first version without it; 0 while it is deprecated
  std::string instead;
  bool is_in_tenon = true;
  bool is_generic = false;    ///< a name that others have, too
  int arguments = -1;         ///< of a method: calls with so many alone; -1 for all
  std::string rename, first;  ///< of a fix: another name, and another first argument
  bool deletes = false;       ///< of a fix: x->destroy(); becomes delete x;

  bool is_fixable() const { return deletes || !rename.empty(); }
  bool is_about(int to) const { return removed == 0 ? to >= 11 : removed <= to; }
};

struct Rules {
  std::multimap<std::string, Rule, std::less<>> by_name;
  /// Function -> class that it gives a pointer to.
  std::map<std::string, std::string, std::less<>> returned;
  std::set<std::string, std::less<>> classes;
};

const Rules& rules();

}  // namespace tenon::migrate

#endif  // TENON_MIGRATE_RULES_H
