// Scattered updates. Where updates meet, the last one counts, or all are combined in order: the
// results are the same each time.
#include "ops/scatter.h"

#include "base/cuda_stream.h"
#include "base/error.h"
#include "cuda/kernels.h"
#include "cuda/launch_kernel.h"
#include "cuda/scatter.h"
#include "cuda/strided_copy.h"
#include "ops/max_unpool.h"

namespace tenon::cuda {
namespace {

using nvinfer1::ScatterMode;

// What all updates of a layer have in common.
struct Updates {
  DataType type;
  ScatterReduction reduction;
  bool is_wide;
  int64_t count, elements;  // updates, and elements of each
  int64_t positions;        // that they may go to
  size_t input;             // that holds them
  bool into_zeros = false;  // instead of what the output holds
};

// Input 1 holds the indices, and `how` says where they send the updates. The output holds the data.
template <class How> LaunchExecution scatter(const Updates& u, const How& how) {
  require(u.count <= INT32_MAX, "{} updates are more than a GPU can put in order", u.count);
  const bool replaces = u.reduction == ScatterReduction::kNone;
  require(replaces || u.positions < UINT32_MAX, "{} positions are more than a GPU can put in order",
          u.positions);
  const size_t sort_bytes = replaces || u.count == 0 ? 0 : sort_scratch_bytes(u.count);
  struct Scratch {
    SortedPairs pairs = {};
    uint32_t* last = nullptr;
    void* sort = nullptr;
    size_t bytes = 0;
  };
  const auto cut = [=](void* memory) {
    ScratchArrays arrays(memory);
    Scratch s;
    s.pairs.keys = arrays.array<uint64_t>(u.count);
    if (replaces) {
      s.last = arrays.array<uint32_t>(u.positions);
    } else {
      s.pairs.other_keys = arrays.array<uint64_t>(u.count);
      s.pairs.values = arrays.array<uint32_t>(u.count);
      s.pairs.other_values = arrays.array<uint32_t>(u.count);
      s.sort = arrays.bytes(sort_bytes);
    }
    s.bytes = arrays.used();
    return s;
  };
  const auto run = [=](const RunArguments& arguments) {
    void* target = arguments.outputs[0];
    if (u.into_zeros)
      check(cudaMemsetAsync(target, 0, bytes_of(u.type, u.positions * u.elements),
                            to_cuda(arguments.stream)),
            "filling with zeros");
    if (u.count * u.elements * u.positions == 0) return;
    const Scratch s = cut(arguments.scratch);
    const void* updates = arguments.inputs[u.input];
    const ScatterPositions positions{arguments.inputs[1], u.is_wide, u.count,
                                     static_cast<uint64_t>(u.positions), s.pairs.keys};
    launch_positions(positions, how, to_cuda(arguments.stream));
    if (replaces) {
      const auto bytes = static_cast<int64_t>(bytes_of(u.type, u.elements));
      const int64_t word = common_word(address_of(updates), address_of(target), bytes);
      launch_replacements(positions, {updates, target, word, bytes / word, s.last},
                          to_cuda(arguments.stream));
    } else {
      launch_combination(positions,
                         {updates, target, u.elements, static_cast<int32_t>(u.type),
                          static_cast<int32_t>(u.reduction)},
                         s.pairs, s.sort, sort_bytes, to_cuda(arguments.stream));
    }
    check_launch("a scatter");
  };
  return LaunchExecution(run, cut(nullptr).bytes);
}

LaunchExecution prepare_scatter(const Op& op, std::span<const TensorSpec> inputs,
                                std::span<const TensorSpec>) {
  const auto& layer = static_cast<const Scatter&>(op);
  const Shape &data = inputs[0].shape, &indices = inputs[1].shape, &updates = inputs[2].shape;
  Updates u{inputs[0].type, layer.reduction, inputs[1].type == DataType::kINT64, 0, 0, 0, 2};
  if (layer.mode == ScatterMode::kND) {
    const auto width = static_cast<int>(indices.back());
    require(width <= data.rank(), "indices of {} elements do not fit data of shape {}", width,
            data);
    u.count = indices.volume(0, indices.rank() - 1);
    u.elements = data.volume(width, data.rank());
    u.positions = data.volume(0, width);
    require(updates.volume() == u.count * u.elements,
            "expected {} updates of {} elements, found updates of shape {}", u.count, u.elements,
            updates);
    ScatterTuples tuples{width, {}};
    for (int axis = 0; axis < width; ++axis) tuples.extents[axis] = data[axis];
    return scatter(u, tuples);
  }
  const int axis = normalized_axis(layer.axis, data.rank());
  require(indices == updates && indices.rank() == data.rank(),
          "indices of shape {} and updates of shape {} do not fit data of shape {}", indices,
          updates, data);
  u.count = indices.volume();
  u.elements = 1;
  u.positions = data.volume();
  ScatterElements elements{axis, data.rank(), {}, {}, data[axis]};
  const Shape steps = data.strides();
  for (int k = 0; k < data.rank(); ++k) {
    require(k == axis || indices[k] <= data[k], "axis {}: expected at most {} indices, found {}", k,
            data[k], indices[k]);
    elements.extents[k] = indices[k];
    elements.steps[k] = steps[k];
  }
  return scatter(u, elements);
}

// Maxima that are scattered into zeros; positions are those of the whole output.
LaunchExecution prepare_max_unpool(const Op&, std::span<const TensorSpec> inputs,
                                   std::span<const TensorSpec> outputs) {
  require(inputs[0].shape == inputs[1].shape, "indices of shape {} do not fit maxima of shape {}",
          inputs[1].shape, inputs[0].shape);
  const int64_t positions = outputs[0].shape.volume();
  const Updates u{inputs[0].type,
                  ScatterReduction::kNone,
                  inputs[1].type == DataType::kINT64,
                  inputs[0].shape.volume(),
                  1,
                  positions,
                  0,
                  true};
  return scatter(u, ScatterTuples{1, {positions}});
}

}  // namespace

Offer offer_scatter(const KernelRequest& request) {
  if (bits_of(request.inputs[0].type) < 8) return "elements narrower than a byte are not supported";
  auto kernel = std::make_unique<LaunchKernel>(request.op, prepare_scatter);
  kernel->aliased_input = 0;
  return kernel;
}

Offer offer_max_unpool(const KernelRequest& request) {
  return std::make_unique<LaunchKernel>(request.op, prepare_max_unpool);
}

}  // namespace tenon::cuda
