// Graphs inside nodes, and functions, when inputs of the model get other shapes.
#pragma once

#include <span>

#include "edit/shapes.h"
#include "edit/store.h"

namespace tenon::edit {

/// An extent of an input that is another one now.
struct ChangedExtent {
  size_t axis = 0;
  int64_t before = 0;
};

/// Throws, naming the node, where a Reshape or Expand in a graph inside a node, or in a function
/// that is called, has a constant shape that may hold one of these extents. Only those of the main
/// graph follow.
void require_open_inside(Store& store, std::span<const ChangedExtent> changed,
                         const Inference& before, const Inference& now);

/// Types that graphs inside nodes declare become those that were found, or open.
void renew_inner_types(Store& store, const Inference& now);

}  // namespace tenon::edit
