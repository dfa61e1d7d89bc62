// What a picture shows: the scores of a classifier to classes.
#ifndef TENON_SERVE_CLASSIFICATION_H
#define TENON_SERVE_CLASSIFICATION_H

#include <cstdint>
#include <vector>

#include "tenon/serve/view.h"

namespace tenon::serve {

struct ClassScore {
  int32_t class_label = 0;
  float score = 0;  ///< from 0 to 1
};

/// The `count` best classes, or all if there are fewer. Of equal scores the lower class comes
/// first. NaNs are dropped, and infinite logits share all there is.
/// @param scores (classes), or (classes, 1, 1).
/// @param is_logit scores are given before the softmax, which is over all classes.
/// An error for another shape, no class, or a count below 1.
Result<std::vector<ClassScore>> decode_classes(const View& scores, int64_t count = 5,
                                               bool is_logit = true) noexcept;

}  // namespace tenon::serve

#endif  // TENON_SERVE_CLASSIFICATION_H
