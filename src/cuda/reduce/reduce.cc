// Reductions along any axes, of tensors in any layout: one kernel, or two where one result takes
// many blocks.
#include <algorithm>
#include <bit>

#include "base/cuda_stream.h"
#include "base/error.h"
#include "common/coalesced_axes.h"
#include "cuda/empty_execution.h"
#include "cuda/kernels.h"
#include "cuda/nvrtc/generated_kernel.h"
#include "cuda/reduce/reduce_source.h"

namespace tenon::cuda {
namespace {

constexpr int64_t kThreads = 256, kWarp = 32;
constexpr int64_t kWantedBlocks = 264;  // a few for each multiprocessor; the same on every device

/// Axes in the order in which threads walk through them.
struct ReduceAxes : CoalescedAxes {
  int64_t last_stride() const { return extents.rank() == 0 ? 0 : strides.back(); }
  /// Whether steps of `width` elements stay aligned and within a row.
  bool takes_vectors(int64_t width, bool along) const {
    const int last = extents.rank() - 1;
    if (along && (last < 0 || strides[last] != 1 || extents[last] % width != 0)) return false;
    for (int i = 0; i <= last; ++i)
      if (!(along && i == last) && strides[i] % width != 0) return false;
    return true;
  }
  ReduceAxes in_vectors(int64_t width) const {
    ReduceAxes w = *this;
    if (width == 1) return w;
    w.extents[w.extents.rank() - 1] /= width;
    w.strides[w.strides.rank() - 1] *= width;
    return w;
  }
};

/// Elements to skip for a step along each axis of the tensor, and the axes in memory order.
struct Memory {
  Shape strides;
  std::vector<int> order;

  Memory(const Shape& shape, Layout layout) : strides(Shape::filled(shape.rank(), 1)) {
    for (int i = 0; i < shape.rank(); ++i)
      if (layout == Layout::kLinear || i != 1) order.push_back(i);
    if (layout != Layout::kLinear && shape.rank() > 1) order.push_back(1);
    int64_t step = 1;
    for (size_t i = order.size(); i-- > 0; step *= shape[order[i]]) strides[order[i]] = step;
  }
};

int64_t ceil_div(int64_t a, int64_t b) {
  return (a + b - 1) / b;
}

int64_t power_up_to(int64_t n, int64_t max_parts) {
  return std::min<int64_t>(
      max_parts,
      static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(std::max<int64_t>(n, 1)))));
}

/// One launch of the reduction.
struct ReduceLaunch {
  const void* kernel;
  ReduceParameters parameters{};
  dim3 blocks;

  ReduceLaunch(const Module& module, const ReduceAxes& kept, const ReduceAxes& reduced,
               bool by_rows, int64_t width)
      : kernel(module.kernel(by_rows ? (width > 1 ? "rows" : "rows1")
                                     : (width > 1 ? "columns" : "columns1"))) {
    const ReduceAxes k = by_rows ? kept : kept.in_vectors(width);
    const ReduceAxes r = by_rows ? reduced.in_vectors(width) : reduced;
    ReduceParameters& p = parameters;
    p.kept = AxesParameters(k.extents, k.strides);
    if (r.extents.volume() > 0) p.reduced = AxesParameters(r.extents, r.strides);
    p.elements = reduced.extents.volume();
    p.results = static_cast<uint32_t>(kept.extents.volume());
    const int64_t kept_steps = k.extents.volume(), steps = r.extents.volume();
    p.kept_steps = static_cast<uint32_t>(kept_steps);
    p.steps = static_cast<uint32_t>(steps);
    const int64_t lanes = lanes_for(kept_steps, steps, by_rows);
    p.lanes = static_cast<uint32_t>(lanes);
    const int64_t across = ceil_div(kept_steps, kThreads / lanes);
    // Blocks of their own for parts of long reductions that give few results.
    constexpr int64_t kStepsPerLane = 8;
    const int64_t max_parts = std::max<int64_t>(1, steps / (lanes * kStepsPerLane));
    const int64_t wanted =
        std::clamp<int64_t>(kWantedBlocks / across, 1, std::min<int64_t>(max_parts, 1024));
    const int64_t chunk = std::max<int64_t>(1, ceil_div(ceil_div(steps, wanted), lanes) * lanes);
    p.chunk = static_cast<uint32_t>(chunk);
    p.splits = static_cast<uint32_t>(std::max<int64_t>(1, ceil_div(steps, chunk)));
    blocks = dim3(static_cast<unsigned>(across), p.splits);
  }

 private:
  // Few steps for each where there are many results, and all that can be used where there are few.
  static int64_t lanes_for(int64_t kept_steps, int64_t steps, bool by_rows) {
    const bool is_crowded = kept_steps * 32 >= kWantedBlocks * kThreads;
    const int64_t useful = power_up_to(is_crowded ? ceil_div(steps, 4) : steps, kThreads);
    if (by_rows) return useful;
    // A row of 32 threads at least reads neighbours.
    const int64_t width = power_up_to(kept_steps, kThreads);
    const int64_t max_parts =
        kThreads / std::min<int64_t>(width, kept_steps >= kWantedBlocks * kThreads ? kThreads : 32);
    return std::min(useful, max_parts);
  }
};

class ReduceExecution final : public Execution {
 public:
  ReduceExecution(const Module& module, const Reduce& op, const TensorSpec& in)
      : finalize_(module.kernel("finalize")), width_(reduce_width(in.type)) {
    const Memory memory(in.shape, in.layout);
    const auto is_reduced = [&](int axis) { return (op.axes >> axis & 1u) != 0; };
    ReduceAxes kept, reduced;
    for (int axis = 0; axis < in.shape.rank(); ++axis)
      if (!is_reduced(axis)) kept.add(in.shape[axis], memory.strides[axis]);
    for (const int axis : memory.order)
      if (is_reduced(axis)) reduced.add(in.shape[axis], memory.strides[axis]);
    const bool by_rows = kept.last_stride() != 1;
    // Of nothing, results are what sums begin with.
    if (reduced.extents.volume() == 0) reduced = {{Shape{0}, Shape{1}}};
    single_.emplace_back(module, kept, reduced, by_rows, 1);
    if (reduced.extents.volume() > 0 && kept.takes_vectors(width_, !by_rows)
        && reduced.takes_vectors(width_, by_rows))
      wide_.emplace_back(module, kept, reduced, by_rows, width_);
    for (const auto* list : {&single_, &wide_})
      for (const ReduceLaunch& l : *list)
        if (l.parameters.splits > 1)
          scratch_ = std::max(scratch_, size_t{l.parameters.splits} * l.parameters.results
                                            * static_cast<size_t>(partial_bytes(in.type)));
    alignment_ = static_cast<uintptr_t>(width_) * bytes_of(in.type, 1);
  }

  size_t scratch_bytes() const override { return scratch_; }

  void run(const RunArguments& arguments) override {
    const bool is_aligned = reinterpret_cast<uintptr_t>(arguments.inputs[0]) % alignment_ == 0;
    const ReduceLaunch& reduction = !wide_.empty() && is_aligned ? wide_[0] : single_[0];
    ReduceParameters p = reduction.parameters;
    p.in = arguments.inputs[0];
    p.out = arguments.outputs[0];
    p.partial = p.splits > 1 ? arguments.scratch : nullptr;
    void* argument = &p;
    launch(reduction.kernel, reduction.blocks, kThreads, &argument, to_cuda(arguments.stream));
    if (p.splits > 1)
      launch(finalize_, dim3(static_cast<unsigned>(ceil_div(p.results, kThreads / kWarp))),
             kThreads, &argument, to_cuda(arguments.stream));
  }

 private:
  const void* finalize_;
  int64_t width_;
  std::vector<ReduceLaunch> single_,
      wide_;  // element by element; by vectors, where that is possible
  size_t scratch_ = 0;
  uintptr_t alignment_ = 1;
};

class ReduceKernel final : public GeneratedKernel {
 public:
  ReduceKernel(const KernelRequest& request, StoredKernel code)
      : GeneratedKernel(std::move(code)), op_(static_cast<const Reduce&>(request.op)) {
    input_layouts = {request.inputs[0].layout};
    output_layouts = {Layout::kLinear};
  }

  std::unique_ptr<Execution> prepare(std::span<const TensorSpec> inputs,
                                     std::span<const TensorSpec> outputs) const override {
    if (outputs[0].shape.volume() == 0) return std::make_unique<EmptyExecution>();
    return std::make_unique<ReduceExecution>(module(), op_, inputs[0]);
  }

 private:
  Reduce op_;
};

bool takes(DataType type) {
  return bits_of(type) >= 8 && type != DataType::kFP8 && type != DataType::kE8M0
         && type != DataType::kBOOL;
}

constexpr const char* kOtherType = "this type of numbers is not supported";

}  // namespace

Offer offer_reduce(const KernelRequest& request) {
  const DataType type = request.inputs[0].type;
  if (!takes(type)) return kOtherType;
  return offer_generated([&] {
    const auto& op = static_cast<const Reduce&>(request.op);
    auto kernel = std::make_unique<ReduceKernel>(
        request, generated_code(request, reduce_source(op.operation, type)));
    kernel->prepare(request.inputs, request.outputs);  // throws for what is not supported
    return kernel;
  });
}

Offer load_reduce(const KernelRequest& request, const StoredKernel& stored) {
  if (!takes(request.inputs[0].type)) return kOtherType;
  return std::make_unique<ReduceKernel>(request, stored);
}

}  // namespace tenon::cuda
