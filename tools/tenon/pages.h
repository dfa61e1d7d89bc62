// Pages for a browser, which the build embeds.
#pragma once

#include <string_view>

namespace tenon::tool {

/// onnx_page.html: {{report}} is what show_json() gives.
extern const std::string_view kOnnxPage;
/// report_page.html: {{report}} is what `tenon report` finds out.
extern const std::string_view kReportPage;

}  // namespace tenon::tool
