// Objects as points: CenterNet.
#ifndef TENON_SERVE_CENTER_NET_H
#define TENON_SERVE_CENTER_NET_H

#include <vector>

#include "tenon/serve/detect_options.h"
#include "tenon/serve/view.h"

namespace tenon::serve {

/// CenterNet (Zhou et al., 2019): heat (classes, height, width), extents (2, height, width) and
/// offsets of centres (2, height, width), x before y, in cells of `stride` pixels of the input. A
/// cell is an object where its heat is the highest of the 3 x 3 cells around it, which is all the
/// NMS there is: of the options in `nms` only `max_boxes` is used.
/// @param is_logit the heat is given before the sigmoid.
/// @return the best first; `index` is the cell within its class, row by row. Cells of equal heat
/// that touch are all objects. An error for other shapes, or options that mean nothing.
Result<std::vector<Box>> decode_center_net(const View& heat, const View& extents,
                                           const View& offsets, const DetectOptions& options,
                                           int stride = 4, bool is_logit = false) noexcept;

}  // namespace tenon::serve

#endif  // TENON_SERVE_CENTER_NET_H
