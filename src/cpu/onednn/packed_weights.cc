#include "cpu/onednn/packed_weights.h"

#include <cstring>
#include <numeric>

#include "base/parallel.h"
#include "cpu/kernels.h"
#include "cpu/onednn/library.h"
#include "cpu/turn_rows.h"

namespace tenon::cpu::onednn {
namespace {

using dnnl::memory;
using List = std::vector<int64_t>;

/// A dense blocked layout: the axes from the outermost in, then blocks of axes from the outermost
/// in.
struct Form {
  List order, block_axes, block_sizes;
};

Form form_of(const memory::desc& desc) {
  const auto& blocking = desc.data.format_desc.blocking;
  const int rank = desc.data.ndims;
  Form form;
  form.order.resize(static_cast<size_t>(rank));
  std::iota(form.order.begin(), form.order.end(), 0);
  std::stable_sort(form.order.begin(), form.order.end(), [&](int64_t a, int64_t b) {
    return blocking.strides[a] != blocking.strides[b]
               ? blocking.strides[a] > blocking.strides[b]
               : desc.data.padded_dims[a] > desc.data.padded_dims[b];
  });
  for (int i = 0; i < blocking.inner_nblks; ++i) {
    form.block_axes.push_back(blocking.inner_idxs[i]);
    form.block_sizes.push_back(blocking.inner_blks[i]);
  }
  return form;
}

void check(const Form& form, size_t rank) {
  constexpr int64_t kLargestBlock = 1024;
  require(form.order.size() == rank, "stored weights have {} axes, expected {}", form.order.size(),
          rank);
  List sorted = form.order;
  std::sort(sorted.begin(), sorted.end());
  for (size_t i = 0; i < rank; ++i)
    require(sorted[i] == static_cast<int64_t>(i), "the axis order of stored weights is damaged");
  require(form.block_axes.size() == form.block_sizes.size() && form.block_axes.size() <= 6,
          "the blocks of stored weights are damaged");
  for (size_t i = 0; i < form.block_axes.size(); ++i)
    require(form.block_axes[i] >= 0 && form.block_axes[i] < static_cast<int64_t>(rank)
                && form.block_sizes[i] >= 1 && form.block_sizes[i] <= kLargestBlock,
            "the blocks of stored weights are damaged");
}

memory::desc desc_of_form(const Form& form, const memory::dims& dims) {
  // Any dense layout to begin with.
  memory::desc desc(dims, memory::data_type::f32,
                    dims_of(Shape(std::span<const int64_t>(dims)).strides()));
  auto& data = desc.data;
  auto& blocking = data.format_desc.blocking;
  List blocks(dims.size(), 1);
  int64_t stride = 1;
  blocking.inner_nblks = static_cast<int>(form.block_axes.size());
  for (size_t i = 0; i < form.block_axes.size(); ++i) {
    blocking.inner_idxs[i] = form.block_axes[i];
    blocking.inner_blks[i] = form.block_sizes[i];
    int64_t& block = blocks[static_cast<size_t>(form.block_axes[i])];
    require(!__builtin_mul_overflow(block, form.block_sizes[i], &block)
                && !__builtin_mul_overflow(stride, form.block_sizes[i], &stride)
                && stride <= int64_t{1} << 32,
            "the blocks of stored weights are damaged");
  }
  for (size_t i = form.order.size(); i-- > 0;) {
    const int64_t axis = form.order[i];
    const int64_t block = blocks[static_cast<size_t>(axis)];
    const int64_t count = (dims[static_cast<size_t>(axis)] + block - 1) / block;
    data.padded_dims[axis] = count * block;
    blocking.strides[axis] = stride;
    require(!__builtin_mul_overflow(stride, std::max<int64_t>(count, 1), &stride)
                && stride <= int64_t{1} << 40,
            "stored weights are damaged: their layout is too large");
  }
  return desc;
}

const List& list_of(const FieldList& fields, std::string_view name) {
  for (const auto& [key, value] : fields)
    if (key == name)
      if (const auto* list = std::get_if<List>(&value)) return *list;
  fail(ErrorCode::kFAILED_INITIALIZATION, "stored weights are damaged: \"{}\" is missing", name);
}

// Whether it is a matrix of which columns lie together.
bool is_turned(const memory::desc& desc) {
  const auto& strides = desc.data.format_desc.blocking.strides;
  return desc.data.ndims == 2 && desc.data.format_kind == dnnl_blocked
         && desc.data.format_desc.blocking.inner_nblks == 0 && strides[0] == 1
         && strides[1] == desc.data.dims[0] && desc.data.dims[0] > 1 && desc.data.dims[1] > 1;
}

// The matrix with rows that lie together, which the library packs faster than one whose columns do.
Tensor turned(const float* columns, const memory::desc& desc) {
  const int64_t height = desc.data.dims[0], width = desc.data.dims[1];
  Tensor rows(DataType::kFLOAT, {height, width});
  auto* const to = rows.mutable_data<float>();
  constexpr int64_t kRows = 64;
  parallel_for(height, kRows, [&](int64_t begin, int64_t end) {
    turn_rows(columns + begin, height, width, end - begin, to + begin * width, width);
  });
  return rows;
}

int64_t floats_of(const memory::desc& desc) {
  return static_cast<int64_t>((desc.get_size() + sizeof(float) - 1) / sizeof(float));
}

}  // namespace

PackedWeights pack(const void* constant, const memory::desc& from, const memory::desc& to) {
  if (is_turned(from)) {
    const Tensor rows = turned(static_cast<const float*>(constant), from);
    return pack(rows.data(), {from.dims(), memory::data_type::f32, memory::format_tag::ab}, to);
  }
  PackedWeights packed{Tensor(DataType::kFLOAT, {floats_of(to)}), to};
  if (from == to) {
    if (to.get_size() > 0) std::memcpy(packed.memory.mutable_data<void>(), constant, to.get_size());
    return packed;
  }
  PrimitiveExecution execution;
  execution.add_reorder("packing of weights", {Source::From::kInput, 0}, from,
                        {Source::From::kOutput, 0}, to);
  const auto scratch = allocate_aligned(execution.scratch_bytes());
  void* const output = packed.memory.mutable_data<void>();
  in_arena([&] { execution.run({{&constant, 1}, {&output, 1}, scratch.get()}); });
  return packed;
}

bool can_save(const memory::desc& desc) {
  return desc.data.format_kind == dnnl_blocked && desc.data.extra.flags == 0
         && desc_of_form(form_of(desc), desc.dims()) == desc;
}

void save(const PackedWeights& weights, Kernel& kernel) {
  const Form form = form_of(weights.desc);
  kernel.state.emplace_back("instruction_set", onednn_instruction_set());
  kernel.state.emplace_back("order", form.order);
  kernel.state.emplace_back("block_axes", form.block_axes);
  kernel.state.emplace_back("block_sizes", form.block_sizes);
  kernel.packed.push_back(weights.memory);
}

PackedWeights load(const StoredKernel& stored, const memory::dims& dims) {
  const Form form{list_of(stored.state, "order"), list_of(stored.state, "block_axes"),
                  list_of(stored.state, "block_sizes")};
  check(form, dims.size());
  PackedWeights weights;
  weights.desc = desc_of_form(form, dims);
  require(stored.packed.size() == 1, "{} tensors of weights are stored, expected 1",
          stored.packed.size());
  const Tensor& memory = stored.packed[0];
  require(memory.type() == DataType::kFLOAT && memory.data() != nullptr
              && memory.bytes() >= weights.desc.get_size(),
          "stored weights take {} bytes of {}, expected {} of float32", memory.bytes(),
          name_of(memory.type()), weights.desc.get_size());
  if (reinterpret_cast<uintptr_t>(memory.data()) % 64 == 0) {
    weights.memory = memory;
  } else {
    weights.memory = Tensor(DataType::kFLOAT, memory.shape());
    std::memcpy(weights.memory.mutable_data<void>(), memory.data(), memory.bytes());
  }
  return weights;
}

}  // namespace tenon::cpu::onednn
