#include "ops/support/data_movement.h"

#include "ops/concatenation.h"
#include "ops/pooling.h"
#include "ops/resize.h"
#include "ops/shuffle.h"
#include "ops/slice.h"
#include "ops/squeeze.h"

namespace tenon {

size_t moved_inputs(const Node& node) {
  if (node.as<Concatenation>() != nullptr) return node.inputs.size();
  const auto* pooling = node.as<Pooling>();
  const auto* resize = node.as<Resize>();
  const auto* slice = node.as<Slice>();
  const bool moves = (pooling != nullptr && pooling->type == nvinfer1::PoolingType::kMAX)
                     || (resize != nullptr && resize->mode == nvinfer1::InterpolationMode::kNEAREST)
                     || (slice != nullptr && slice->mode != nvinfer1::SampleMode::kFILL)
                     || node.as<Shuffle>() != nullptr || node.as<Squeeze>() != nullptr;
  return moves ? 1 : 0;
}

}  // namespace tenon
