#include "cuda/pointwise/element_kernel.h"

#include <algorithm>
#include <cstring>
#include <optional>

#include "base/cuda_stream.h"
#include "base/error.h"
#include "cuda/nvrtc/generated_kernel.h"

namespace tenon::cuda {
namespace {

constexpr unsigned kThreads = 256;
constexpr int64_t kMaxVectors = int64_t{1} << 30;

/// The launch for one iteration, complete but for the addresses.
class ElementLaunch {
 public:
  ElementLaunch(const void* kernel, const Iteration& loop, int width, int elements_per_thread)
      : kernel_(kernel), offsets_(loop.offsets) {
    const int rank = loop.extents.rank(), last = rank - 1;
    const size_t operands = loop.offsets.size();
    parameters_.resize(sizeof(ElementParameters) + operands * sizeof(ElementOperand));
    ElementParameters p{};
    p.rank = static_cast<uint32_t>(rank);
    p.elements = loop.extents.volume();
    int64_t vectors = 1;
    for (int a = 0; a < rank; ++a) {
      const int64_t extent = a == last ? (loop.extents[a] + width - 1) / width : loop.extents[a];
      p.axes[a] = axis_parameters(extent);
      vectors *= extent;
    }
    p.vectors = static_cast<uint32_t>(vectors);
    std::memcpy(parameters_.data(), &p, sizeof p);
    for (size_t k = 0; k < operands; ++k) {
      ElementOperand x{};
      x.step = loop.strides[k][last];
      for (int a = 0; a < rank; ++a) x.stride[a] = loop.strides[k][a] * (a == last ? width : 1);
      std::memcpy(operand(k), &x, sizeof x);
    }
    const int64_t per_block = int64_t{kThreads} * elements_per_thread;
    blocks_ = static_cast<unsigned>((vectors + per_block - 1) / per_block);
  }

  /// Addresses and bits of an element: of the result, and of the operands.
  void run(std::span<void* const> addresses, std::span<const int> bits, cudaStream_t stream) {
    for (size_t k = 0; k < addresses.size(); ++k) {
      void* data = static_cast<std::byte*>(addresses[k]) + offsets_[k] * bits[k] / 8;
      std::memcpy(operand(k) + offsetof(ElementOperand, data), &data, sizeof data);
    }
    void* argument = parameters_.data();
    launch(kernel_, dim3(blocks_), kThreads, &argument, stream);
  }

 private:
  std::byte* operand(size_t k) {
    return parameters_.data() + sizeof(ElementParameters) + k * sizeof(ElementOperand);
  }

  const void* kernel_;
  std::vector<int64_t> offsets_;
  std::vector<std::byte> parameters_;
  unsigned blocks_ = 0;
};

/// Whether vectors of that many elements neither cross rows nor lie askew in any operand. The last
/// one may be a part, unless its elements share bytes.
bool takes_vectors(const Iteration& loop, int width, bool has_pairs) {
  const int last = loop.extents.rank() - 1;
  if (loop.strides[0][last] != 1) return false;
  if ((last > 0 || has_pairs) && loop.extents[last] % width != 0) return false;
  for (size_t k = 0; k < loop.strides.size(); ++k) {
    if (loop.strides[k][last] > 1) return false;
    if (loop.strides[k][last] == 0) continue;
    if (loop.offsets[k] % width != 0) return false;
    for (int a = 0; a < last; ++a)
      if (loop.strides[k][a] % width != 0) return false;
  }
  return true;
}

class ElementExecution final : public Execution {
 public:
  ElementExecution(const Module& module, int width, std::span<const OperandView> operands,
                   std::vector<size_t> inputs, std::vector<int> bits)
      : width_(width), inputs_(std::move(inputs)), bits_(std::move(bits)) {
    const void* const vectors = module.kernel("vectors");
    const void* const elements = module.kernel("elements");
    const bool has_pairs = bits_[0] < 8;  // results that share bytes
    std::vector<Iteration> open = iterations(operands);
    require(open.size() <= 1 || !has_pairs,
            "blocks that do not divide an axis are not supported for elements that share a byte");
    while (!open.empty()) {
      const Iteration loop = std::move(open.back());
      open.pop_back();
      if (loop.extents.volume() > kMaxVectors) {
        for (Iteration& half : halves(loop)) open.push_back(std::move(half));
        continue;
      }
      single_.emplace_back(elements, loop, 1, has_pairs ? 2 : 1);
      const bool whole = takes_vectors(loop, width, has_pairs);
      if (whole)
        wide_.emplace_back(vectors, loop, width, 1);
      else
        wide_.push_back(single_.back());
      has_vectors_ |= whole;
    }
    for (const OperandView& x : operands) is_one_.push_back(x.shape.volume() == 1);
  }

  void run(const RunArguments& arguments) override {
    std::vector<void*>& to = addresses_;
    to.assign(1, arguments.outputs[0]);
    for (const size_t i : inputs_) to.push_back(const_cast<void*>(arguments.inputs[i]));
    for (ElementLaunch& one : has_vectors_&& are_aligned() ? wide_ : single_)
      one.run(to, bits_, to_cuda(arguments.stream));
  }

 private:
  // The engine's memory is; a user's own may begin anywhere.
  bool are_aligned() const {
    for (size_t k = 0; k < addresses_.size(); ++k) {
      const auto bytes = static_cast<uintptr_t>(std::min(16, width_ * bits_[k] / 8));
      if (!is_one_[k] && reinterpret_cast<uintptr_t>(addresses_[k]) % bytes != 0) return false;
    }
    return true;
  }

  int width_;
  std::vector<size_t> inputs_;
  std::vector<int> bits_;
  std::vector<bool> is_one_;
  std::vector<ElementLaunch> wide_, single_;
  bool has_vectors_ = false;
  std::vector<void*> addresses_;
};

/// The layout of the first large input; all of them are wanted in it.
Layout common_layout(const KernelRequest& request, const ElementLayer& layer) {
  const size_t count = std::min(layer.data_inputs, request.inputs.size());
  for (size_t i = 0; i < count; ++i)
    if (request.inputs[i].present && request.inputs[i].shape == request.outputs[0].shape)
      return request.inputs[i].layout == Layout::kChannelsLast ? Layout::kChannelsLast
                                                               : Layout::kLinear;
  return Layout::kLinear;
}

/// What a plan keeps besides the code.
struct ElementForm {
  int64_t width = 1;
  std::vector<int64_t> inputs;  // that are read

  void visit(FieldVisitor& v) {
    v("width", width);
    v("inputs", inputs);
  }
  bool reads(size_t input) const {
    return std::find(inputs.begin(), inputs.end(), static_cast<int64_t>(input)) != inputs.end();
  }
};

ElementForm form_of(const ElementFunction& function) {
  ElementForm form;
  form.width = vector_width(function);
  for (const auto& x : function.operands) form.inputs.push_back(static_cast<int64_t>(x.input));
  return form;
}

class ElementKernel final : public GeneratedKernel {
 public:
  /// In the layouts of the request's tensors.
  ElementKernel(const KernelRequest& request, const ElementLayer& layer, StoredKernel code)
      : GeneratedKernel(std::move(code)), view_(layer.view) {
    set_fields(form_, state);
    for (size_t i = 0; i < request.inputs.size(); ++i) {
      const TensorSpec& x = request.inputs[i];
      input_layouts.push_back(x.layout);
      input_is_packed.push_back(x.present && !form_.reads(i));
    }
    output_layouts = {request.outputs[0].layout};
  }

  std::unique_ptr<Execution> prepare(std::span<const TensorSpec> in,
                                     std::span<const TensorSpec> out) const override {
    const Shape& result = out[0].shape;
    std::vector<OperandView> views = {{result, out[0].layout}};
    std::vector<int> bits = {bits_of(out[0].type)};
    std::vector<size_t> read;
    for (const int64_t i : form_.inputs) {
      read.push_back(static_cast<size_t>(i));
      const TensorSpec& x = in[read.back()];
      OperandView view = view_ ? view_(read.back(), x.shape, result) : OperandView{x.shape};
      view.layout = x.layout;
      views.push_back(view);
      bits.push_back(bits_of(x.type));
    }
    return std::make_unique<ElementExecution>(module(), static_cast<int>(form_.width), views,
                                              std::move(read), std::move(bits));
  }

 private:
  ElementForm form_;
  std::function<OperandView(size_t, const Shape&, const Shape&)> view_;
};

}  // namespace

Offer offer_elements(const KernelRequest& request, const ElementOffer& offer) {
  if (const auto* reason = std::get_if<std::string>(&offer)) return *reason;
  const auto& layer = std::get<ElementLayer>(offer);
  return offer_generated([&] {
    const Layout layout = common_layout(request, layer);
    std::vector<TensorSpec> inputs(request.inputs.begin(), request.inputs.end());
    for (size_t i = 0; i < inputs.size(); ++i) {
      const bool is_full = i < layer.data_inputs && inputs[i].shape == request.outputs[0].shape;
      inputs[i].layout = is_full ? layout : Layout::kLinear;
    }
    TensorSpec output = request.outputs[0];
    output.layout = layout;
    KernelRequest placed = request;
    placed.inputs = inputs;
    placed.outputs = {&output, 1};
    ElementForm form = form_of(layer.function);
    auto kernel = std::make_unique<ElementKernel>(
        placed, layer, generated_code(request, element_source(layer.function), fields_of(form)));
    kernel->prepare(placed.inputs, placed.outputs);  // throws for what is not supported
    return kernel;
  });
}

Offer load_elements(const KernelRequest& request, const ElementOffer& offer,
                    const StoredKernel& stored) {
  if (const auto* reason = std::get_if<std::string>(&offer)) return *reason;
  return std::make_unique<ElementKernel>(request, std::get<ElementLayer>(offer), stored);
}

}  // namespace tenon::cuda
