// Pages that show JSON as a picture, and which the build embeds.
#ifndef TENON_PAGE_PAGE_H
#define TENON_PAGE_PAGE_H

#include <string>
#include <string_view>

namespace tenon {

/// `page` with the title at its mark {{title}}, and the JSON at its mark {{report}}, which stands
/// in a script element; each mark is there once. No text of either can be read as a part of the
/// page.
std::string filled_page(std::string_view page, const std::string& title, const std::string& json);

}  // namespace tenon

#endif  // TENON_PAGE_PAGE_H
