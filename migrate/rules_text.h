// rules.json, as the build embeds it.
#ifndef TENON_MIGRATE_RULES_TEXT_H
#define TENON_MIGRATE_RULES_TEXT_H

#include <string_view>

namespace tenon::migrate {

extern const std::string_view kRules;

}  // namespace tenon::migrate

#endif  // TENON_MIGRATE_RULES_TEXT_H
