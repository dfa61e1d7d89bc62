// Select (Where) for elements of any size, rows at a time.
#include "ops/select.h"

#include "base/error.h"
#include "cpu/broadcast_rows.h"
#include "cpu/kernels.h"
#include "cpu/words.h"

namespace tenon::cpu {
namespace {

// By masks, which compilers make vectors of; T is unsigned.
template <class T>
void select_row(const bool* condition, const T* a, const T* b, T* out, int64_t n) {
  for (int64_t i = 0; i < n; ++i) {
    const T mask = static_cast<T>(-static_cast<T>(condition[i]));
    out[i] = static_cast<T>((a[i] & mask) | (b[i] & static_cast<T>(~mask)));
  }
}

class SelectExecution final : public Execution {
 public:
  SelectExecution(std::span<const TensorSpec> inputs, const TensorSpec& output)
      : rows_(output.shape, {inputs[0].shape, inputs[1].shape, inputs[2].shape}),
        bytes_(bits_of(output.type) / 8) {}

  void run(const RunArguments& arguments) override {
    with_word(bytes_, [&](auto zero) { run_as<decltype(zero)>(arguments); });
  }

 private:
  template <class T> void run_as(const RunArguments& arguments) const {
    const auto* condition = static_cast<const bool*>(arguments.inputs[0]);
    const auto* a = static_cast<const T*>(arguments.inputs[1]);
    const auto* b = static_cast<const T*>(arguments.inputs[2]);
    auto* out = static_cast<T*>(arguments.outputs[0]);
    rows_.run([&](const BroadcastRow<3>& row) {
      T* to = out + row.begin;
      // One condition for the whole row copies it.
      if (row.step[0] == 0) {
        const size_t k = condition[row.offset[0]] ? 1 : 2;
        const T* from = k == 1 ? a : b;
        const T* data = adjacent(from, row.offset[k], row.step[k], row.length, to);
        if (data != to) std::copy_n(data, row.length, to);
        return;
      }
      bool workspace[BroadcastRows<3>::kMax];
      T workspace_a[BroadcastRows<3>::kMax], workspace_b[BroadcastRows<3>::kMax];
      select_row(adjacent(condition, row.offset[0], row.step[0], row.length, workspace),
                 adjacent(a, row.offset[1], row.step[1], row.length, workspace_a),
                 adjacent(b, row.offset[2], row.step[2], row.length, workspace_b), to, row.length);
    });
  }

  BroadcastRows<3> rows_;
  int64_t bytes_;  // of an element; offers are for whole bytes
};

class SelectKernel final : public Kernel {
 public:
  std::unique_ptr<Execution> prepare(std::span<const TensorSpec> inputs,
                                     std::span<const TensorSpec> outputs) const override {
    return std::make_unique<SelectExecution>(inputs, outputs[0]);
  }
};

}  // namespace

Offer offer_select(const KernelRequest& request) {
  if (bits_of(request.outputs[0].type) < 8)
    return "elements narrower than a byte are not supported";
  for (const TensorSpec& in : request.inputs)
    if (in.shape.rank() != request.outputs[0].shape.rank())
      return "inputs of unlike rank are not supported";
  return std::make_unique<SelectKernel>();
}

}  // namespace tenon::cpu
