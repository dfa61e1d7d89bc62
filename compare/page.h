// The page that shows a report, which the build embeds.
#ifndef TENON_COMPARE_PAGE_H
#define TENON_COMPARE_PAGE_H

#include <string_view>

namespace tenon::compare {

/// page.html: {{title}} stands once for the title as HTML, before it {{report}} for the report as
/// JSON.
extern const std::string_view kPage;

}  // namespace tenon::compare

#endif  // TENON_COMPARE_PAGE_H
