// Non-maximum suppression as its .cu file has it.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "cuda/sort.h"

namespace tenon::cuda {

/// A list for each image and class. Boxes and scores are of one float type, a DataType.
struct NmsLists {
  int32_t type;
  const void *boxes, *scores;
  int64_t images, count, classes, box_classes;  // boxes of an image; one class serves all
  bool classes_first;                           // scores (images, classes, boxes)
  bool are_centers;                             // boxes as centre and size, not corners
  float overlap, min_score;
  int64_t considered, max_boxes;  // of each list
  /// Begins with the scores of all lists; `count` entries each. Values are boxes in the end.
  SortedPairs pairs;
  int64_t* begins;  // of the rows of each list, and how many rows there are

  constexpr int64_t lists() const { return images * classes; }
};

/// Finds what is kept; leaves in begins[lists()] how many rows there are.
void launch_nms(NmsLists& lists, void* scratch, size_t scratch_bytes, cudaStream_t stream);

/// Rows (image, class, box) of int32, or of int64 if is_wide.
void launch_nms_rows(const NmsLists& lists, void* rows, bool is_wide, cudaStream_t stream);

}  // namespace tenon::cuda
