// What runs a plan. The optimizer and the planner see a target only through this description:
// which fusions it takes, and an ordered list of kernels for each layer.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "backend/device.h"
#include "base/layout.h"
#include "base/tensor.h"
#include "base/variant.h"
#include "network/op.h"
#include "ops/support/pointwise_program.h"

namespace tenon {

class CodeCache;
struct Folded;

/// A tensor as a kernel is offered it.
struct TensorSpec {
  DataType type = DataType::kFLOAT;
  Layout layout = Layout::kLinear;
  Shape shape;          // at the profile's optimum
  bool present = true;  // false: an optional input that was left out
  Shape upper = {};     // outputs with data-dependent extents: what bounds them, -1 for nothing

  friend bool operator==(const TensorSpec&, const TensorSpec&) = default;
};

/// Of results, as parts of the range of the exact ones.
struct KernelError {
  float largest = 0, rms = 0;
};

/// A kernel's form of its constants, as a plan stores it.
struct StoredKernel {
  FieldList state;
  std::vector<Tensor> packed;
};

/// What a kernel is asked to do. While building, `inputs[i].layout` is the layout in which the
/// tensor arrives, and the kernel answers with the layouts it wants; while loading a plan
/// constants are null, and the layouts of inputs and outputs are those the kernel answered.
struct KernelRequest {
  const Op& op;
  std::span<const TensorSpec> inputs;
  std::span<const TensorSpec> outputs;
  std::span<const Tensor* const> constants;  // per input; null where it is not a constant
  /// Products of float32 (convolutions, matrix products, attention) may round their operands to
  /// TF32. The same when the plan is loaded, so kernels need not store it.
  bool tf32 = false;
  /// While building: where generated code is looked for and kept; null for nowhere.
  CodeCache* code_cache = nullptr;
  /// While building: when the layer runs, its weights are in no cache of the host, since those of
  /// the network are too many.
  bool cold_weights = false;
  /// While building: products of float32 may round their operands to bfloat16. A kernel that does
  /// is known by its name, so that nothing need be known of it when the plan is loaded.
  bool bf16 = false;
  /// While building, per input: what a constant was dequantized from; null where it was not. Empty
  /// for none.
  std::span<const Folded* const> folded = {};
};

/// Pointers to run with, into the target's memory: inputs that were packed or left out, and outputs
/// with data-dependent extents, are null. Inputs that the kernel wants on the host are there.
struct RunArguments {
  std::span<const void* const> inputs;
  std::span<void* const> outputs;
  void* scratch = nullptr;
  /// Where a device's kernels put their work; on the host, for plugins.
  Stream* stream = nullptr;
  const AllocateOutput* allocate_output = nullptr;
  /// The kernel's packed constants in the target's memory. Empty on the host, where kernels read
  /// Kernel::packed.
  std::span<const void* const> packed = {};

  /// Null where it was left out; those at the end of the list may be missing.
  const void* input(size_t i) const { return i < inputs.size() ? inputs[i] : nullptr; }
};

/// A kernel made ready for certain shapes, owned by one execution context.
class Execution {
 public:
  virtual ~Execution() = default;
  /// Memory of the target wanted in RunArguments::scratch, 64-byte aligned.
  virtual size_t scratch_bytes() const { return 0; }
  /// Allocates nothing, throws Error on failure. On a device it returns once the work is in the
  /// stream.
  virtual void run(const RunArguments& arguments) = 0;
};

/// The chosen implementation of one layer; immutable and shared by all contexts of an engine.
class Kernel {
 public:
  virtual ~Kernel() = default;
  /// Makes it ready. `inputs` and `outputs` hold concrete shapes, and layouts as chosen.
  virtual std::unique_ptr<Execution> prepare(std::span<const TensorSpec> inputs,
                                             std::span<const TensorSpec> outputs) const = 0;
  virtual StoredKernel store() const { return {state, packed}; }
  /// Bytes of what store() packs, which need not be there yet.
  virtual size_t packed_bytes() const {
    size_t bytes = 0;
    for (const Tensor& t : packed) bytes += t.bytes();
    return bytes;
  }
  /// Others of the same candidate, to be timed against this one. Asked while building.
  virtual std::vector<std::unique_ptr<Kernel>> variants() const { return {}; }

  std::string name;     // the candidate that made it
  std::string variant;  // which one of the candidate's, "" where it has one
  /// What else timings depend on, part of their key in timing caches; nothing: they are not kept.
  std::optional<std::string> timing_id = "";
  std::vector<Layout> input_layouts;   // wanted, one per input
  std::vector<Layout> output_layouts;  // produced, one per output
  /// Inputs that the kernel reads from its packed constants, and never from RunArguments.
  std::vector<bool> input_is_packed;
  /// Inputs that the kernel reads on the host while it is called. On a device that costs a wait,
  /// and a run cannot be captured, unless the elements are known before the network runs.
  std::vector<bool> input_on_host;
  /// Whether run() only puts work into the stream. False for kernels that wait for the device: a
  /// network that has one cannot be captured into a CUDA graph.
  bool can_be_captured = true;
  /// What the user should know of the choice, a warning of the build; "" for nothing.
  std::string note;
  /// On the layer's own weights, where the build has measured it.
  std::optional<KernelError> error;
  /// Output 0 overwrites this input (same bytes); -1 for none. The planner sees to it that nobody
  /// else needs the input afterwards.
  int aliased_input = -1;
  FieldList state;
  std::vector<Tensor> packed;
};

/// Completes what a kernel may leave out: linear layouts, nothing packed, nothing on the host.
void complete(Kernel& kernel, const KernelRequest& request);

/// A kernel, or why there is none: "groups and dilation together are not supported".
using Offer = Variant<std::unique_ptr<Kernel>, std::string>;

/// One row of the table of a layer kind: implementations, best first, last one that takes whatever
/// the kind can be. A row that this build or machine lacks refuses, and says so.
struct Candidate {
  using Offering = std::function<Offer(const KernelRequest&)>;
  using Loading = std::function<Offer(const KernelRequest&, const StoredKernel&)>;

  /// A kernel that stores nothing: to load it is to offer it again.
  Candidate(std::string name, Offering offer)
      : name(std::move(name)),
        offer(offer),
        load([offer = std::move(offer)](const KernelRequest& request, const StoredKernel&) {
          return offer(request);
        }) {}
  Candidate(std::string name, Offering offer, Loading load)
      : name(std::move(name)), offer(std::move(offer)), load(std::move(load)) {}

  std::string name;  // as plans store it, the only one in its list
  /// While a plan is built: chooses layouts and packs weights.
  Offering offer;
  /// When a plan is loaded: makes the kernel again from what it stored. Throws where that does not
  /// fit the layer.
  Loading load;
  /// Worth timing against those behind it, up to the first that accepts and is not marked so.
  bool timed = false;
};
inline Candidate timed(Candidate candidate) {
  candidate.timed = true;
  return candidate;
}

/// What a machine can at best. What else runs on it while this is measured makes them smaller.
struct Peaks {
  double operations_per_second = 0;  // of float32; a multiply-add counts as two
  double bytes_per_second = 0;       // read from memory, no cache
};

struct LibraryVersion {
  std::string name, version;
};

class Target {
 public:
  virtual ~Target() = default;
  virtual std::string_view name() const = 0;  // "cpu"
  /// What decides speed and packed forms: processor, instruction set, threads. Part of cache keys.
  virtual std::string fingerprint() const = 0;
  /// Whether a plan of that fingerprint was timed on this machine. A process may have other threads
  /// than the one that timed it: its kernels are good ones still.
  virtual bool is_this_machine(std::string_view other) const { return other == fingerprint(); }
  /// The instruction set that packed weights are made for.
  virtual std::string instruction_set() const = 0;
  /// Whether kernels that were chosen for that instruction set can be loaded here.
  virtual bool loads(std::string_view set) const { return set == instruction_set(); }
  virtual std::span<const Candidate> candidates(const Op& op) const = 0;
  /// Whether a kernel computes `op` with that epilogue at no extra pass over memory.
  virtual bool fuses(const Op& op, const PointwiseProgram& epilogue) const = 0;
  /// Whether layers are faster in that float type than in float32. If so, BuilderFlag::kFP16 and
  /// kBF16 make the optimizer choose it.
  virtual bool is_fast_in([[maybe_unused]] DataType type) const { return false; }
  /// Whether only products (convolutions, matrix products, attention) gain by such a type. Tensors
  /// between layers then stay in float32: kernels round what they multiply, and nothing else.
  virtual bool only_products_are_fast() const { return false; }
  /// Whether matrix products store weights of 4 bits as they are: they need not be dequantized by
  /// each run then.
  virtual bool stores_int4_weights() const { return false; }
  /// Where kernels work.
  virtual const Device& device() const = 0;
  /// What the machine can at best, measured in about a third of a second; nothing: not known.
  virtual std::optional<Peaks> measure_peaks() const { return std::nullopt; }
  /// Libraries whose kernels it uses, with their versions.
  virtual std::vector<LibraryVersion> libraries() const { return {}; }
};

/// The first candidate that accepts, and why those before it refused, for `TENON_LOG=choose` and
/// messages.
struct Choice {
  std::unique_ptr<Kernel> kernel;     // null when nobody accepts
  std::vector<std::string> refusals;  // "onednn_convolution: …"
};
/// The first candidate that accepts, from `first` on. Throws where operands are of another number
/// or of other types than the layer kind has: no kernel is asked then.
Choice choose(const Target& target, const KernelRequest& request, size_t first = 0);
/// The kernel that a plan names. Throws when the target does not have it or it refuses, and as
/// choose() does.
std::unique_ptr<Kernel> load_kernel(const Target& target, std::string_view name,
                                    const KernelRequest& request, const StoredKernel& stored = {});

}  // namespace tenon
