// trace_page.html, as the build embeds it.
#pragma once

#include <string_view>

namespace tenon::serve {

std::string_view trace_page_text();

}  // namespace tenon::serve
