// trace_page.html, as the build embeds it.
#pragma once

#include <string_view>

namespace tenon::serve {

extern const std::string_view kTracePage;

}  // namespace tenon::serve
