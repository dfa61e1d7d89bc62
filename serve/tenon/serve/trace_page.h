// A trace as a page for a browser.
#ifndef TENON_SERVE_TRACE_PAGE_H
#define TENON_SERVE_TRACE_PAGE_H

#include <string>
#include <string_view>

namespace tenon::serve {

/// A page of HTML that shows where the time of jobs goes: a lane for each worker with a bar for
/// each span, how many jobs waited for each stage, and each stage's share. It has all that it needs
/// inside, and asks for nothing else.
/// @param trace_json of a pipeline's trace_json(); other text gives a page without figures.
std::string trace_page(std::string_view trace_json);

}  // namespace tenon::serve

#endif  // TENON_SERVE_TRACE_PAGE_H
