// Unary and binary operations of integers and booleans, and those that compare floats.
#include <cstdlib>

#include "base/error.h"
#include "cpu/broadcast_rows.h"
#include "cpu/kernels.h"
#include "ops/elementwise.h"
#include "ops/unary.h"

namespace tenon::cpu {
namespace {

using Binary = nvinfer1::ElementWiseOperation;
using nvinfer1::UnaryOperation;

// Integer arithmetic wraps, and dividing by zero gives 0, as in the reference.
template <class T> using Unsigned = std::make_unsigned_t<T>;

template <class T> T wrapped(uint64_t x) {
  return static_cast<T>(x);
}

template <class T> T divide(T a, T b, bool floored) {
  if (b == 0) return 0;
  if constexpr (std::is_signed_v<T>)
    if (b == -1) return wrapped<T>(-static_cast<uint64_t>(a));
  const T q = static_cast<T>(a / b);
  return static_cast<T>(q - (floored && a % b != 0 && (a < 0) != (b < 0)));
}

template <class T> T power(T base, T exponent) {
  if (exponent < 0) return base == 1 ? 1 : base == T(-1) ? (exponent % 2 == 0 ? 1 : T(-1)) : 0;
  uint64_t result = 1, factor = static_cast<uint64_t>(static_cast<int64_t>(base));
  for (; exponent > 0; exponent = static_cast<T>(exponent >> 1), factor *= factor)
    if (exponent & 1) result *= factor;
  return wrapped<T>(result);
}

// A loop over n elements; operands and results of types that the maker knows.
using Loop = void (*)(const void* a, const void* b, void* out, int64_t n);

template <class T, class Out, class Function>
void loop(const void* a, const void* b, void* out, int64_t n) {
  const auto* x = static_cast<const T*>(a);
  const auto* y = static_cast<const T*>(b);
  auto* to = static_cast<Out*>(out);
  for (int64_t i = 0; i < n; ++i) to[i] = Function{}(x[i], y[i]);
}

template <class T, class Out, class Function> Loop loop_of(Function) {
  return loop<T, Out, Function>;
}

template <class T> Loop arithmetic(Binary operation) {
  using U = uint64_t;
  switch (operation) {
    case Binary::kSUM:
      return loop_of<T, T>(
          [](T a, T b) { return wrapped<T>(static_cast<U>(a) + static_cast<U>(b)); });
    case Binary::kPROD:
      return loop_of<T, T>(
          [](T a, T b) { return wrapped<T>(static_cast<U>(a) * static_cast<U>(b)); });
    case Binary::kSUB:
      return loop_of<T, T>(
          [](T a, T b) { return wrapped<T>(static_cast<U>(a) - static_cast<U>(b)); });
    case Binary::kMAX:
      return loop_of<T, T>([](T a, T b) { return a > b ? a : b; });
    case Binary::kMIN:
      return loop_of<T, T>([](T a, T b) { return a < b ? a : b; });
    case Binary::kDIV:
      return loop_of<T, T>([](T a, T b) { return divide(a, b, false); });
    case Binary::kFLOOR_DIV:
      return loop_of<T, T>([](T a, T b) { return divide(a, b, true); });
    case Binary::kPOW:
      return loop_of<T, T>([](T a, T b) { return power(a, b); });
    default:
      return nullptr;
  }
}

template <class T> Loop comparison(Binary operation) {
  switch (operation) {
    case Binary::kEQUAL:
      return loop_of<T, bool>([](T a, T b) { return a == b; });
    case Binary::kGREATER:
      return loop_of<T, bool>([](T a, T b) { return a > b; });
    case Binary::kLESS:
      return loop_of<T, bool>([](T a, T b) { return a < b; });
    default:
      return nullptr;
  }
}

Loop logical(Binary operation) {
  switch (operation) {
    case Binary::kAND:
      return loop_of<bool, bool>([](bool a, bool b) { return a & b; });
    case Binary::kOR:
      return loop_of<bool, bool>([](bool a, bool b) { return a | b; });
    case Binary::kXOR:
      return loop_of<bool, bool>([](bool a, bool b) { return a != b; });
    case Binary::kEQUAL:
      return loop_of<bool, bool>([](bool a, bool b) { return a == b; });
    default:
      return nullptr;
  }
}

template <class T> Loop any_of(Binary operation) {
  const Loop compared = comparison<T>(operation);
  return compared != nullptr ? compared : arithmetic<T>(operation);
}

Loop binary_loop(Binary operation, DataType type) {
  switch (type) {
    case DataType::kFLOAT:
      return comparison<float>(operation);
    case DataType::kINT32:
      return any_of<int32_t>(operation);
    case DataType::kINT64:
      return any_of<int64_t>(operation);
    case DataType::kINT8:
      return any_of<int8_t>(operation);
    case DataType::kUINT8:
      return any_of<uint8_t>(operation);
    case DataType::kBOOL:
      return logical(operation);
    default:
      return nullptr;
  }
}

template <class T> Loop signed_unary(UnaryOperation operation) {
  switch (operation) {
    case UnaryOperation::kABS:
      return loop_of<T, T>(
          [](T a, T) { return a < 0 ? wrapped<T>(-static_cast<uint64_t>(a)) : a; });
    case UnaryOperation::kNEG:
      return loop_of<T, T>([](T a, T) { return wrapped<T>(-static_cast<uint64_t>(a)); });
    case UnaryOperation::kSIGN:
      return loop_of<T, T>([](T a, T) { return static_cast<T>((a > 0) - (a < 0)); });
    default:
      return nullptr;
  }
}

Loop unary_loop(UnaryOperation operation, DataType type) {
  switch (type) {
    case DataType::kFLOAT:
      if (operation == UnaryOperation::kISNAN)
        return loop_of<float, bool>([](float a, float) { return a != a; });
      if (operation == UnaryOperation::kISINF)
        return loop_of<float, bool>(
            [](float a, float) { return a == __builtin_inff() || a == -__builtin_inff(); });
      return nullptr;
    case DataType::kINT32:
      return signed_unary<int32_t>(operation);
    case DataType::kINT64:
      return signed_unary<int64_t>(operation);
    case DataType::kINT8:
      return signed_unary<int8_t>(operation);
    case DataType::kBOOL:
      if (operation != UnaryOperation::kNOT) return nullptr;
      return loop_of<bool, bool>([](bool a, bool) { return !a; });
    default:
      return nullptr;
  }
}

Loop loop_for(const KernelRequest& request) {
  const DataType type = request.inputs[0].type;
  if (const auto* unary = dynamic_cast<const Unary*>(&request.op))
    return unary_loop(unary->operation, type);
  if (const auto* binary = dynamic_cast<const ElementWise*>(&request.op))
    return binary_loop(binary->operation, type);
  return nullptr;
}

class TypedPointwiseExecution final : public Execution {
 public:
  TypedPointwiseExecution(Loop loop, std::span<const TensorSpec> inputs, const TensorSpec& output)
      : loop_(loop),
        bytes_(static_cast<int64_t>(bytes_of(inputs[0].type, 1))),
        out_bytes_(static_cast<int64_t>(bytes_of(output.type, 1))),
        rows_(output.shape, {inputs[0].shape, inputs.back().shape}) {}

  void run(const RunArguments& arguments) override {
    auto* out = static_cast<std::byte*>(arguments.outputs[0]);
    rows_.run([&](const BroadcastRow<2>& row) {
      alignas(64) std::byte workspaces[2][BroadcastRows<2>::kMax * sizeof(int64_t)];
      const void* operands[2];
      for (size_t k = 0; k < 2; ++k)
        operands[k] = operand(arguments.inputs[std::min(k, arguments.inputs.size() - 1)],
                              row.offset[k], row.step[k], row.length, workspaces[k]);
      loop_(operands[0], operands[1], out + row.begin * out_bytes_, row.length);
    });
  }

 private:
  const void* operand(const void* data, int64_t offset, int64_t step, int64_t length,
                      std::byte* workspace) const {
    const auto as = [&](auto zero) -> const void* {
      using T = decltype(zero);
      return adjacent(static_cast<const T*>(data), offset, step, length,
                      reinterpret_cast<T*>(workspace));
    };
    switch (bytes_) {
      case 1:
        return as(uint8_t{});
      case 4:
        return as(uint32_t{});
      default:
        return as(uint64_t{});
    }
  }

  Loop loop_;
  int64_t bytes_, out_bytes_;
  BroadcastRows<2> rows_;
};

class TypedPointwiseKernel final : public Kernel {
 public:
  explicit TypedPointwiseKernel(Loop loop) : loop_(loop) {}
  std::unique_ptr<Execution> prepare(std::span<const TensorSpec> inputs,
                                     std::span<const TensorSpec> outputs) const override {
    return std::make_unique<TypedPointwiseExecution>(loop_, inputs, outputs[0]);
  }

 private:
  Loop loop_;
};

}  // namespace

Offer offer_typed_pointwise(const KernelRequest& request) {
  const Loop loop = loop_for(request);
  if (loop == nullptr) return "there is no loop for this operation and type";
  for (const TensorSpec& in : request.inputs)
    if (in.shape.rank() != request.outputs[0].shape.rank() || in.type != request.inputs[0].type)
      return "inputs of unlike rank or type are not supported";
  return std::make_unique<TypedPointwiseKernel>(loop);
}

}  // namespace tenon::cpu
