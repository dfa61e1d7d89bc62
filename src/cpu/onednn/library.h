// oneDNN's objects in our terms: layouts, errors, and primitives as executions.
#pragma once

#include <memory>
#include <oneapi/dnnl/dnnl.hpp>
#include <optional>
#include <vector>

#include "backend/target.h"
#include "base/error.h"
#include "base/parallel.h"

namespace tenon::cpu::onednn {

const dnnl::engine& engine();

/// Runs `body` in the arena, for which oneDNN then sizes its work; its errors become tenon::Error.
template <class Body> auto call(const char* what, Body&& body) {
  using Result = decltype(body());
  std::optional<Result> result;
  in_arena([&] {
    try {
      result.emplace(body());
    } catch (const dnnl::error& e) {
      fail(ErrorCode::kINTERNAL_ERROR, "oneDNN cannot make this {}: {}", what, e.what());
    }
  });
  return std::move(*result);
}

dnnl::memory::dims dims_of(const Shape& shape);
/// A float tensor in that layout. Throws when the layout does not exist for the rank.
dnnl::memory::desc desc_of(const Shape& shape, Layout layout);
/// Which of our layouts it is; none for others.
std::optional<Layout> layout_of(const dnnl::memory::desc& desc, const Shape& shape);
/// The blocked layout that suits the machine.
Layout preferred_blocked();

/// Where a primitive finds an argument each time it runs.
struct Source {
  enum class From : uint8_t { kInput, kOutput, kScratch, kFixed } from;
  size_t index = 0;             // of the input or output; offset into the scratch
  const void* fixed = nullptr;  // kFixed: outlives the execution
};
struct Argument {
  int id;  // DNNL_ARG_…
  Source source;
  dnnl::memory::desc desc;
};

/// Primitives that run one after the other, then perhaps another execution over output 0.
class PrimitiveExecution final : public Execution {
 public:
  PrimitiveExecution();
  /// Adds a primitive; its scratchpad becomes part of ours.
  void add(const dnnl::primitive_desc_base& description, std::vector<Argument> arguments);
  /// Adds a change of layout, unless there are no elements: oneDNN 2.5 divides by their number.
  void add_reorder(const char* what, const Source& source, const dnnl::memory::desc& from,
                   const Source& destination, const dnnl::memory::desc& to);
  /// The offset of that much memory in the scratch.
  size_t reserve(size_t bytes);
  /// Runs afterwards; its inputs are `result`, then ours from `first` on.
  void set_tail(std::unique_ptr<Execution> tail, const Source& result, size_t first);

  size_t scratch_bytes() const override;
  void run(const RunArguments& arguments) override;

 private:
  struct Bound {
    dnnl::memory memory;
    Source source;
  };
  struct Step {
    dnnl::primitive primitive;
    std::vector<Bound> bound;
    std::vector<dnnl_exec_arg_t> arguments;
  };
  void execute(const RunArguments& arguments);
  static void* address_of(const Source& source, const RunArguments& arguments);

  dnnl::stream stream_;
  int threads_;
  std::vector<Step> steps_;
  size_t scratch_ = 0;
  std::unique_ptr<Execution> tail_;
  Source tail_result_{Source::From::kOutput};
  size_t tail_first_ = 0;
  std::vector<const void*> tail_inputs_;
};

/// For outputs without elements.
class EmptyExecution final : public Execution {
 public:
  void run(const RunArguments&) override {}
};

}  // namespace tenon::cpu::onednn
