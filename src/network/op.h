// What a layer kind must say about itself: attributes, shape rule, reference kernel.
#pragma once

#include <NvInfer.h>

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <type_traits>
#include <vector>

#include "base/expr.h"
#include "base/fields.h"
#include "base/tensor.h"
#include "network/traits.h"

namespace tenon {

using nvinfer1::LayerType;

/// Layer kinds of our own, outside TensorRT's numbering.
enum class PrivateLayer : int32_t {
  kFullyConnected = static_cast<int32_t>(LayerType::kFULLY_CONNECTED),
  kPointwise = 10011,    // a chain of element-wise operations in one loop
  kReorder = 10012,      // a change of memory layout, made by the planner
  kLoop = 10013,         // a body that runs several times: ONNX Loop and Scan, TensorRT's ILoop
  kConditional = 10014,  // one of two bodies: ONNX If, TensorRT's IIfConditional
  kUnique = 10020,
  kRoiAlign = 10030,
  kMaxRoiPool = 10031,
  kDeformableConvolution = 10032,
  kMaxUnpool = 10033,
  kDeterminant = 10034,
  kSeparableConvolution = 10035,  // depthwise, then 1x1
  kQuantizedConvolution = 10040,  // operands of int8 with zero points, or of fp8
  kQuantizedMatrixMultiply = 10041,
  kBytePointwise = 10042,  // as kPointwise, of quantized tensors
  kRecurrent = 10050,      // LSTM, GRU, RNN over a sequence
  kFourier = 10051,        // DFT, STFT
  kBitwise = 10060,        // and, or, xor and shifts
  kBitCast = 10061,        // the same bits as another type
  kDebugTensor = 10070,    // a debug listener is told of its input
  kToFloat64 = 10080,      // bits of float64 in int64, here and in what follows
  kFromFloat64 = 10081,
  kFloat64Order = 10082,  // integers that are ordered as the numbers are
  kFloat64Pointwise = 10083,
  kFloat64Reduce = 10084,
  kFloat64Cumulative = 10085,
};
constexpr LayerType layer_type(PrivateLayer kind) {
  return static_cast<LayerType>(kind);
}

/// Symbolic dimensions of a tensor, rank 0 to 8.
using Dims = std::vector<Dim>;

/// The elements of a small integer (or scale factor) tensor as expressions, rows first.
using Content = std::vector<Dim>;

/// Integer tensors of up to this many elements may decide shapes.
constexpr int64_t kMaxReadableElements = 64;

/// What an op sees and sets when shapes are inferred. The base class Network implements it.
class Inference {
 public:
  virtual ~Inference() = default;
  virtual ExprPool& pool() = 0;
  virtual int input_count() const = 0;
  /// False for an optional input that was left out.
  virtual bool has_input(int i) const = 0;
  virtual DataType type(int i) const = 0;
  virtual const Dims& dims(int i) const = 0;
  /// The elements of input i if they are known on the host before the network runs, else null.
  virtual const Content* content(int i) const = 0;
  /// The constant that input i is, else null.
  virtual const Tensor* constant(int i) const = 0;
  virtual void set_output(int i, DataType type, Dims dims) = 0;
  virtual void set_content(int i, Content content) = 0;
  /// An extent of output `output` that only running the layer tells, at most `upper` (null: nothing
  /// bounds it). The kernel makes such an output itself: ReferenceCall::allocate.
  virtual Dim data_dependent_extent(int output, int axis, Dim upper = nullptr) = 0;
  /// The value that running the layer writes to output `output`, an integer scalar, and that
  /// extents of its other outputs depend on: usually `opt`, at most `upper`. The kernel makes
  /// those outputs with room for the bound: TensorSpec::upper.
  virtual Dim size_output(int output, Dim opt, Dim upper) = 0;
  /// As content(), but where the elements of a small integer tensor are not known before the
  /// network runs, they become symbols that the engine reads from the tensor before this layer
  /// runs. Null when that cannot be: many elements, or a number of them that is not constant.
  virtual const Content* readable_content(int i) { return content(i); }

  int rank(int i) const { return static_cast<int>(dims(i).size()); }
  /// As readable_content(), but throws, naming the input, when there is none.
  const Content& known_content(int i, const char* what);
  /// The extents when all are constants.
  std::optional<Shape> constant_shape(int i) const;
};

/// Makes an output of data-dependent extents; the memory lives until the layer runs again.
using AllocateOutput = std::function<void*(int output, const Shape& shape)>;

/// The call of a reference kernel: concrete shapes, rows first, outputs allocated. Outputs with
/// data-dependent extents have no data, and -1 for those extents.
struct ReferenceCall {
  std::span<const TensorView> inputs;  // data is null for an optional input left out
  std::span<const TensorView> outputs;
  const AllocateOutput* allocate_output = nullptr;

  /// Output i, now that its data-dependent extents are known. Call it once for each such output.
  TensorView allocate(int i, const Shape& shape) const;
};

struct Node;

class Op {
 public:
  virtual ~Op() = default;
  virtual LayerType kind() const = 0;
  virtual const Traits& traits() const = 0;
  bool is_plugin() const { return traits().runs == Runs::kPlugin; }
  /// "Convolution": also the name under which plans store it.
  virtual std::string_view name() const = 0;
  virtual std::unique_ptr<Op> clone() const = 0;
  /// Names every attribute once; saving, dumping and hashing are derived from it.
  virtual void visit(FieldVisitor&) {}
  virtual int output_count() const { return 1; }
  /// Sets types and dims (and content, where it follows) of all outputs. Throws Error on bad
  /// inputs or attributes; the message need not name the node, the caller adds it.
  virtual void infer(Inference& c) const = 0;
  /// Plain, obviously right; the oracle of every tuned kernel and the fallback of the CPU target.
  virtual void reference(const ReferenceCall& call) const = 0;

  // What traits leave to attributes; OpOf checks that those that do are overridden.

  /// @param node of this op.
  /// @param type kHALF or kBF16.
  virtual Magnitude magnitude(const Node&, [[maybe_unused]] DataType type) const {
    return traits().magnitude;
  }
  /// The attributes as they are where axis 0 is the batch, of at most `largest_batch` items.
  virtual void insert_batch_axis([[maybe_unused]] int32_t largest_batch) {}
  /// How many axes of an input are its own, counted from the last: the batch is none of them.
  virtual int min_rank([[maybe_unused]] size_t input) const { return 0; }
  /// What input i is to refitters of weights (IRefitter::setWeights); nothing for an input that has
  /// no role there.
  virtual std::optional<nvinfer1::WeightsRole> weights_role([[maybe_unused]] size_t input) const {
    return std::nullopt;
  }
  /// At these shapes, those of inputs left out being empty. A multiplication, an addition, a
  /// comparison and a function's value count one each, so a multiply-add two; a bias counts
  /// nothing. An epilogue counts.
  virtual double operations(std::span<const Shape> inputs, std::span<const Shape> outputs) const;
};

/// Fills in kind, name, clone and traits. Derived needs `static constexpr std::string_view kName`
/// and `static constexpr Traits kTraits`.
template <class Derived, LayerType Kind, class Base = Op> class OpOf : public Base {
 public:
  using Base::Base;
  LayerType kind() const override { return Kind; }
  const Traits& traits() const override {
    constexpr const Traits& kTraits = Derived::kTraits;
    static_assert((kTraits.magnitude == Magnitude::kByAttributes)
                      == overrides(&Op::magnitude, &Derived::magnitude),
                  "Magnitude::kByAttributes and magnitude() go together");
    static_assert((kTraits.implicit_batch == ImplicitBatch::kMovesAxes
                   || kTraits.implicit_batch == ImplicitBatch::kMovesAttributes)
                      == overrides(&Op::insert_batch_axis, &Derived::insert_batch_axis),
                  "ImplicitBatch::kMoves… and insert_batch_axis() go together");
    static_assert((kTraits.implicit_batch == ImplicitBatch::kCountsFromLast)
                      == overrides(&Op::min_rank, &Derived::min_rank),
                  "ImplicitBatch::kCountsFromLast and min_rank() go together");
    static_assert((kTraits.work == Work::kCounted || kTraits.work == Work::kProducts)
                      == overrides(&Op::operations, &Derived::operations),
                  "Work::kCounted or kProducts and operations() go together");
    return kTraits;
  }
  std::string_view name() const override { return Derived::kName; }
  std::unique_ptr<Op> clone() const override {
    return std::make_unique<Derived>(static_cast<const Derived&>(*this));
  }

 private:
  // A member function that is inherited has the base's type.
  template <class A, class B> static consteval bool overrides(A, B) {
    return !std::is_same_v<A, B>;
  }
};

/// Op::weights_role() of layers whose input 1 is a kernel, and input 2 its bias.
inline std::optional<nvinfer1::WeightsRole> kernel_or_bias(size_t input) {
  if (input == 1) return nvinfer1::WeightsRole::kKERNEL;
  if (input == 2) return nvinfer1::WeightsRole::kBIAS;
  return std::nullopt;
}

/// Makes an op of the given name with default attributes; null for an unknown name.
std::unique_ptr<Op> make_op(std::string_view name);

/// The names that make_op() knows, sorted.
std::vector<std::string_view> op_names();

namespace detail {
bool register_op(std::string_view name, std::unique_ptr<Op> (*make)());
}

/// In the op's .cc: makes the op known to make_op().
#define TENON_REGISTER_OP(Type)                                                          \
  [[maybe_unused]] static const bool k##Type##Registered = ::tenon::detail::register_op( \
      Type::kName, []() -> std::unique_ptr<::tenon::Op> { return std::make_unique<Type>(); })

}  // namespace tenon
