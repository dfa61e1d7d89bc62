// page.html, as the build embeds it.
#ifndef TENON_COMPARE_PAGE_TEXT_H
#define TENON_COMPARE_PAGE_TEXT_H

#include <string_view>

namespace tenon::compare {

/// {{report}} is what json_of() gives.
extern const std::string_view kPage;

}  // namespace tenon::compare

#endif  // TENON_COMPARE_PAGE_TEXT_H
