// The page that shows a model as a picture, which the build embeds.
#pragma once

#include <string_view>

namespace tenon::tool {

/// onnx_page.html: {{report}} is what show_json() gives.
extern const std::string_view kOnnxPage;

}  // namespace tenon::tool
