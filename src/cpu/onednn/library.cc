#include "cpu/onednn/library.h"

#include <fmt/format.h>
#include <tbb/task_arena.h>

#include <cstdlib>

#include "cpu/instruction_set.h"
#include "cpu/kernels.h"

namespace tenon::cpu {
namespace {

// The level that TENON_ISA names. Without it BF16 is the highest, for oneDNN 2.5's convolutions of
// integers by AMX crash on Sapphire Rapids.
dnnl::cpu_isa highest_level() {
  const char* text = std::getenv("TENON_ISA");
  const auto named = instruction_set_named(text != nullptr ? text : "");
  if (!named.has_value()) return dnnl::cpu_isa::avx512_core_bf16;
  switch (*named) {
    case InstructionSet::kBaseline:
      return dnnl::cpu_isa::sse41;
    case InstructionSet::kAvx2:
      return dnnl::cpu_isa::avx2;
    case InstructionSet::kAvx512:
      return dnnl::cpu_isa::avx512_core;
    case InstructionSet::kAvx512Vnni:
      return dnnl::cpu_isa::avx512_core_vnni;
    case InstructionSet::kAvx512Bf16:
    case InstructionSet::kAmx:
      break;
  }
  return dnnl::cpu_isa::avx512_core_bf16;
}

// oneDNN's own variables come first, as it documents. This runs before main(), where nothing may be
// thrown: what TENON_ISA may not be is said by instruction_set_limit().
[[maybe_unused]] const bool kIsLimited =
    std::getenv("ONEDNN_MAX_CPU_ISA") == nullptr && std::getenv("DNNL_MAX_CPU_ISA") == nullptr
    && dnnl::set_max_cpu_isa(highest_level()) == dnnl::status::success;

}  // namespace

std::string onednn_version() {
  const dnnl_version_t& version = *dnnl_version();
  return fmt::format("{}.{}.{}", version.major, version.minor, version.patch);
}

std::string onednn_instruction_set() {
  switch (dnnl::get_effective_cpu_isa()) {
    case dnnl::cpu_isa::sse41:
      return "SSE4.1";
    case dnnl::cpu_isa::avx:
      return "AVX";
    case dnnl::cpu_isa::avx2:
      return "AVX2";
    case dnnl::cpu_isa::avx2_vnni:
      return "AVX2 VNNI";
    case dnnl::cpu_isa::avx512_core:
      return "AVX-512";
    case dnnl::cpu_isa::avx512_core_vnni:
      return "AVX-512 VNNI";
    case dnnl::cpu_isa::avx512_core_bf16:
      return "AVX-512 BF16";
    case dnnl::cpu_isa::avx512_core_amx:
      return "AVX-512 AMX";
    default:
      return "baseline";
  }
}

namespace onednn {

using dnnl::memory;

const dnnl::engine& engine() {
  // Never destroyed: primitives of static objects may outlive it.
  static const auto& instance = *new dnnl::engine(dnnl::engine::kind::cpu, 0);
  return instance;
}

memory::dims dims_of(const Shape& shape) {
  return {shape.begin(), shape.end()};
}

memory::desc desc_of(const Shape& shape, Layout layout) {
  using Tag = memory::format_tag;
  static constexpr Tag kLinear[] = {Tag::a,     Tag::ab,     Tag::abc,     Tag::abcd,
                                    Tag::abcde, Tag::abcdef, Tag::abcdefg, Tag::abcdefgh};
  static constexpr Tag kLast[] = {Tag::acb, Tag::acdb, Tag::acdeb};
  static constexpr Tag kBlocked8[] = {Tag::aBc8b, Tag::aBcd8b, Tag::aBcde8b};
  static constexpr Tag kBlocked16[] = {Tag::aBc16b, Tag::aBcd16b, Tag::aBcde16b};
  const int rank = shape.rank();
  Tag tag = Tag::undef;
  if (layout == Layout::kLinear) {
    if (rank == 0) return {{1}, memory::data_type::f32, Tag::a};
    tag = kLinear[rank - 1];
  } else {
    require(rank >= 3 && rank <= 5, "layout \"{}\" needs a tensor of rank 3 to 5, found {}",
            name_of(layout), shape);
    tag = (layout == Layout::kChannelsLast ? kLast
           : layout == Layout::kBlocked8   ? kBlocked8
                                           : kBlocked16)[rank - 3];
  }
  return {dims_of(shape), memory::data_type::f32, tag};
}

std::optional<Layout> layout_of(const memory::desc& desc, const Shape& shape) {
  for (const Layout layout :
       {Layout::kLinear, Layout::kBlocked16, Layout::kBlocked8, Layout::kChannelsLast}) {
    if (layout != Layout::kLinear && (shape.rank() < 3 || shape.rank() > 5)) continue;
    if (desc == desc_of(shape, layout)) return layout;
  }
  return std::nullopt;
}

Layout preferred_blocked() {
  static const bool wide = (static_cast<unsigned>(dnnl::get_effective_cpu_isa())
                            & static_cast<unsigned>(dnnl::cpu_isa::avx512_core))
                           == static_cast<unsigned>(dnnl::cpu_isa::avx512_core);
  return wide ? Layout::kBlocked16 : Layout::kBlocked8;
}

namespace {

constexpr size_t kAlignment = 64;

size_t aligned(size_t bytes) {
  return (bytes + kAlignment - 1) / kAlignment * kAlignment;
}

/// Bytes without structure. oneDNN clears the padding of a structured memory whenever its address
/// is set, which inputs do not need and constants in a mapped file would not survive.
memory::desc bytes_desc(const memory::desc& desc) {
  return {{static_cast<memory::dim>(std::max<size_t>(desc.get_size(), 1))},
          memory::data_type::u8,
          memory::format_tag::a};
}

void check(dnnl_status_t status) {
  if (status == dnnl_out_of_memory) fail(ErrorCode::kFAILED_ALLOCATION, "oneDNN ran out of memory");
  if (status != dnnl_success)
    fail(ErrorCode::kFAILED_EXECUTION, "a oneDNN primitive failed with status {}",
         static_cast<int>(status));
}

}  // namespace

PrimitiveExecution::PrimitiveExecution() : stream_(engine()), threads_(thread_count()) {}

void PrimitiveExecution::add(const dnnl::primitive_desc_base& description,
                             std::vector<Argument> arguments) {
  Step step;
  step.primitive = call("primitive", [&] { return dnnl::primitive(description.get()); });
  const memory::desc scratchpad = description.scratchpad_desc();
  if (const size_t bytes = scratchpad.get_size(); bytes > 0)
    arguments.push_back(
        {DNNL_ARG_SCRATCHPAD, {Source::From::kScratch, reserve(bytes)}, scratchpad});
  for (const Argument& a : arguments) {
    // Zero points are checked to be a list of integers.
    const bool keeps_structure =
        a.source.from == Source::From::kOutput || (a.id & DNNL_ARG_ATTR_ZERO_POINTS) != 0;
    memory m(keeps_structure ? a.desc : bytes_desc(a.desc), engine(), nullptr);
    step.arguments.push_back({a.id, m.get()});
    step.bound.push_back({std::move(m), a.source});
  }
  steps_.push_back(std::move(step));
}

void PrimitiveExecution::add_reorder(const char* what, const Source& source,
                                     const memory::desc& from, const Source& destination,
                                     const memory::desc& to) {
  if (to.get_size() == 0) return;
  dnnl::primitive_attr attributes;
  attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  const auto description = call(what, [&] {
    return dnnl::reorder::primitive_desc(engine(), from, engine(), to, attributes);
  });
  add(description, {{DNNL_ARG_FROM, source, from}, {DNNL_ARG_TO, destination, to}});
}

size_t PrimitiveExecution::reserve(size_t bytes) {
  const size_t offset = scratch_;
  scratch_ += aligned(bytes);
  return offset;
}

void PrimitiveExecution::set_tail(std::unique_ptr<Execution> tail, const Source& result,
                                  size_t first) {
  tail_result_ = result;
  tail_ = std::move(tail);
  tail_first_ = first;
}

size_t PrimitiveExecution::scratch_bytes() const {
  return std::max(scratch_, tail_ ? tail_->scratch_bytes() : 0);
}

void PrimitiveExecution::run(const RunArguments& arguments) {
  // Primitives are laid out for the threads there were when they were made.
  if (threads_ == thread_count()) return execute(arguments);
  tbb::task_arena arena(threads_);
  arena.execute([&] { execute(arguments); });
}

void* PrimitiveExecution::address_of(const Source& source, const RunArguments& arguments) {
  switch (source.from) {
    case Source::From::kInput:
      return const_cast<void*>(arguments.inputs[source.index]);
    case Source::From::kOutput:
      return arguments.outputs[source.index];
    case Source::From::kScratch:
      return static_cast<std::byte*>(arguments.scratch) + source.index;
    case Source::From::kFixed:
      return const_cast<void*>(source.fixed);
  }
  return nullptr;
}

void PrimitiveExecution::execute(const RunArguments& arguments) {
  for (Step& step : steps_) {
    for (Bound& b : step.bound)
      check(dnnl_memory_set_data_handle(b.memory.get(), address_of(b.source, arguments)));
    check(dnnl_primitive_execute(step.primitive.get(), stream_.get(),
                                 static_cast<int>(step.arguments.size()), step.arguments.data()));
  }
  check(dnnl_stream_wait(stream_.get()));
  if (!tail_) return;
  tail_inputs_.assign(1, address_of(tail_result_, arguments));
  for (size_t i = tail_first_; i < arguments.inputs.size(); ++i)
    tail_inputs_.push_back(arguments.inputs[i]);
  tail_->run({tail_inputs_, arguments.outputs, arguments.scratch, arguments.stream});
}

}  // namespace onednn
}  // namespace tenon::cpu
