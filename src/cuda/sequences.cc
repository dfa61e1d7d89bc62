// Layers on sequences: reversed ones, caches of keys and values, positions as angles.
#include "cuda/sequences.h"

#include "base/cuda_stream.h"
#include "base/error.h"
#include "cuda/kernels.h"
#include "cuda/launch_kernel.h"
#include "ops/cache_update.h"
#include "ops/reverse_sequence.h"
#include "ops/rotary_embedding.h"

namespace tenon::cuda {
namespace {

Integers integers_of(std::span<const TensorSpec> inputs, size_t i) {
  return {nullptr, is_given(inputs, i) && inputs[i].type == DataType::kINT64};
}

LaunchExecution prepare_reverse(const Op& op, std::span<const TensorSpec> inputs,
                                std::span<const TensorSpec>) {
  const auto& layer = static_cast<const ReverseSequence&>(op);
  const Shape &shape = inputs[0].shape, steps = shape.strides();
  const int batch = normalized_axis(layer.batch_axis, shape.rank());
  const int sequence = normalized_axis(layer.sequence_axis, shape.rank());
  require(inputs[1].shape.volume() == shape[batch],
          "expected {} lengths, one for each entry of axis {}, found {}", shape[batch], batch,
          inputs[1].shape.volume());
  // What lies behind the later of the two axes is copied whole.
  const int last = std::max(batch, sequence);
  const bool is_empty = shape.volume() == 0;
  const int64_t block = is_empty ? 1 : steps[last];
  const ReversedSequences all{nullptr,
                              nullptr,
                              integers_of(inputs, 1),
                              shape.volume(0, last + 1),
                              static_cast<int64_t>(bytes_of(inputs[0].type, steps[last])),
                              steps[sequence] / block,
                              shape[sequence],
                              steps[batch] / block,
                              shape[batch]};
  return LaunchExecution([=](const RunArguments& arguments) {
    if (is_empty) return;
    ReversedSequences s = all;
    s.source = arguments.inputs[0];
    s.lengths.data = arguments.inputs[1];
    s.target = arguments.outputs[0];
    launch_reverse(s, to_cuda(arguments.stream));
    check_launch("reversing sequences");
  });
}

LaunchExecution prepare_cache_update(const Op& op, std::span<const TensorSpec> inputs,
                                     std::span<const TensorSpec>) {
  const auto& layer = static_cast<const CacheUpdate&>(op);
  const Shape &cache = inputs[0].shape, &update = inputs[1].shape;
  const int along = normalized_axis(layer.axis, cache.rank());
  Shape expected = cache;
  expected[along] = update.rank() == cache.rank() ? update[along] : -1;
  require(update == expected && update[along] <= cache[along],
          "an update of {} does not fit a cache of {}", update, cache);
  const bool has_indices = is_given(inputs, 2);
  require(!has_indices || inputs[2].shape.volume() == cache[0],
          "{} positions were given for {} batches", has_indices ? inputs[2].shape.volume() : 0,
          cache[0]);
  const bool is_empty = update.volume() == 0;
  const int64_t rows = cache.volume(0, along);
  const CachedRows all{
      nullptr,
      nullptr,
      integers_of(inputs, 2),
      rows,
      is_empty ? 1 : rows / cache[0],
      update[along],
      cache[along],
      static_cast<int64_t>(bytes_of(inputs[0].type, cache.volume(along + 1, cache.rank()))),
      layer.circular};
  return LaunchExecution([=](const RunArguments& arguments) {
    if (is_empty) return;
    CachedRows c = all;
    c.source = arguments.inputs[1];
    if (has_indices) c.positions.data = arguments.inputs[2];
    c.target = arguments.outputs[0];
    launch_cache_update(c, to_cuda(arguments.stream));
    check_launch("a cache's update");
  });
}

LaunchExecution prepare_rotation(const Op& op, std::span<const TensorSpec> inputs,
                                 std::span<const TensorSpec>) {
  const auto& layer = static_cast<const RotaryEmbedding&>(op);
  const Shape &shape = inputs[0].shape, &table = inputs[1].shape;
  const int64_t rotated = layer.dimension == 0 ? shape[3] : layer.dimension, pairs = rotated / 2;
  const bool has_positions = is_given(inputs, 3);
  require(rotated % 2 == 0 && rotated <= shape[3], "{} of {} elements cannot be rotated in pairs",
          rotated, shape[3]);
  require(table == inputs[2].shape && table.back() == pairs,
          "cosines {} and sines {} do not fit {} pairs", table, inputs[2].shape, pairs);
  require(has_positions ? inputs[3].shape == Shape({shape[0], shape[2]})
                        : (table[0] == 1 || table[0] == shape[0]) && table[1] == shape[2],
          "cosines {} do not fit data {}", table, shape);
  const RotatedPairs all{static_cast<int32_t>(inputs[0].type),
                         nullptr,
                         nullptr,
                         nullptr,
                         nullptr,
                         integers_of(inputs, 3),
                         shape[0],
                         shape[1],
                         shape[2],
                         shape[3],
                         pairs,
                         table[0] == 1 ? 0 : shape[2],
                         table.volume(0, table.rank() - 1),
                         layer.interleaved};
  const bool is_empty = shape.volume() == 0;
  return LaunchExecution([=](const RunArguments& arguments) {
    if (is_empty) return;
    RotatedPairs p = all;
    p.source = arguments.inputs[0];
    p.cosines = arguments.inputs[1];
    p.sines = arguments.inputs[2];
    if (has_positions) p.positions.data = arguments.inputs[3];
    p.target = arguments.outputs[0];
    launch_rotation(p, to_cuda(arguments.stream));
    check_launch("a rotary embedding");
  });
}

}  // namespace

Offer offer_reverse_sequence(const KernelRequest& request) {
  if (bits_of(request.inputs[0].type) < 8) return "elements narrower than a byte are not supported";
  return std::make_unique<LaunchKernel>(request.op, prepare_reverse);
}

Offer offer_cache_update(const KernelRequest& request) {
  if (bits_of(request.inputs[0].type) < 8) return "elements narrower than a byte are not supported";
  auto kernel = std::make_unique<LaunchKernel>(request.op, prepare_cache_update);
  kernel->aliased_input = 0;
  return kernel;
}

Offer offer_rotary_embedding(const KernelRequest& request) {
  if (!is_real_type(request.inputs[0].type)) return "elements of this type are not supported";
  return std::make_unique<LaunchKernel>(request.op, prepare_rotation);
}

}  // namespace tenon::cuda
