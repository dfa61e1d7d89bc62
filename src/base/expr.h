// Symbolic integers: what dimensions, IExprBuilder expressions and host-evaluated shape arithmetic
// have in common. Expressions live in a pool, equal ones are the same object, and a ShapeProgram
// evaluates all that a plan needs in one pass.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

namespace tenon {

/// A number of the shape program: an integer (also booleans) or, for scale factors, a real that
/// apply() rounds to float32.
struct Number {
  bool is_float = false;
  int64_t integer = 0;
  double real = 0;
  bool is_known = true;

  static Number of(int64_t v) { return {.integer = v}; }
  static Number of_float(double v) { return {.is_float = true, .real = v}; }
  /// What depends on a symbol that is not known yet.
  static Number unknown() { return {.is_known = false}; }
  double as_double() const { return is_float ? real : static_cast<double>(integer); }
  friend bool operator==(const Number&, const Number&) = default;
};

enum class ExprOp : uint8_t {
  kConstant,
  kSymbol,  // value known when shapes are set; `payload` is its number
  kAdd,
  kSub,
  kMul,
  kFloorDiv,  // towards minus infinity
  kCeilDiv,   // towards plus infinity
  kTruncDiv,  // towards zero, as C++ and ONNX integer Div
  kFloorMod,  // sign of the divisor, as Python
  kTruncMod,  // sign of the dividend, as C++
  kMin,
  kMax,
  kPow,
  kEqual,
  kLess,
  kAnd,
  kOr,
  kXor,
  kNot,
  kSelect,  // a ? b : c
  kNeg,
  kAbs,
  kSign,
  kDivide,  // real division
  kToFloat,
  kTruncate,  // float to integer towards zero
  kFloor,
  kCeil,
  kRoundEven,
  kSqrt,
  kExp,
  kLog,  // real to real
  // Float64 as its bits, which are integers. `payload` is the operation that is meant of the
  // numbers; kToFloat takes a number as it is.
  kFloat64,
  kFromFloat64,  // bits to a real
};

class Expr {
 public:
  ExprOp op = ExprOp::kConstant;
  bool is_float = false;
  Number value;         // kConstant
  int64_t payload = 0;  // kSymbol: the symbol's index in the network; kFloat64: an ExprOp
  const Expr* a = nullptr;
  const Expr* b = nullptr;
  const Expr* c = nullptr;

  bool is_constant() const { return op == ExprOp::kConstant; }
  bool is_integer_constant() const { return is_constant() && !value.is_float; }
};

/// A dimension (or an element of a shape tensor): never null once known.
using Dim = const Expr*;

/// Applies one operation to numbers; throws on division by zero and on integer overflow.
Number apply(ExprOp op, Number a, Number b = {}, Number c = {});

/// The same of float64, as bits: what is a real number becomes bits, too. `op` takes one real
/// number or two, or (kToFloat) any number.
Number apply_float64(ExprOp op, Number a, Number b = {});

/// Makes and owns expressions. Simplifies, so that equal shapes usually are the same pointers.
class ExprPool {
 public:
  ExprPool() = default;
  ExprPool(const ExprPool&) = delete;
  ExprPool& operator=(const ExprPool&) = delete;

  Dim constant(int64_t value);
  Dim constant_float(double value);
  Dim number(Number value) {
    return value.is_float ? constant_float(value.real) : constant(value.integer);
  }
  Dim symbol(int64_t index);
  Dim make(ExprOp op, Dim a, Dim b = nullptr, Dim c = nullptr);
  /// apply_float64() as an expression.
  Dim float64(ExprOp op, Dim a, Dim b = nullptr);
  /// The bits of a number.
  Dim constant_float64(double value);

  Dim add(Dim a, Dim b) { return make(ExprOp::kAdd, a, b); }
  Dim sub(Dim a, Dim b) { return make(ExprOp::kSub, a, b); }
  Dim mul(Dim a, Dim b) { return make(ExprOp::kMul, a, b); }
  Dim min(Dim a, Dim b) { return make(ExprOp::kMin, a, b); }
  Dim max(Dim a, Dim b) { return make(ExprOp::kMax, a, b); }
  Dim floor_div(Dim a, Dim b) { return make(ExprOp::kFloorDiv, a, b); }
  Dim ceil_div(Dim a, Dim b) { return make(ExprOp::kCeilDiv, a, b); }

 private:
  struct Key {
    ExprOp op;
    Number value;
    int64_t payload;
    Dim a, b, c;
    bool operator==(const Key&) const = default;
  };
  struct KeyHash {
    size_t operator()(const Key& k) const;
  };
  Dim intern(const Expr& e);

  std::deque<Expr> nodes_;
  std::unordered_map<Key, Dim, KeyHash> known_;
};

/// "4", "s0", "(s0 + 1)": for dumps. `names` names the symbols where it has an entry.
std::string text_of(Dim dim, std::span<const std::string> names = {});

/// The value of a symbol, any number; none: it is not known yet.
using SymbolValue = std::optional<int64_t>;

/// A set of expressions in evaluation order; it is what a plan stores.
struct ShapeProgram {
  struct Instruction {
    ExprOp op = ExprOp::kConstant;
    bool is_float = false;
    Number value;
    int64_t payload = 0;
    int32_t a = -1, b = -1, c = -1;
  };
  std::vector<Instruction> instructions;
  int64_t symbol_count = 0;

  /// The slot of `dim`, which is appended with what it needs if it is not there yet.
  int32_t add(Dim dim);
  /// All slots for the given symbol values. Throws as apply() does. What depends on a symbol that
  /// is not known is unknown.
  std::vector<Number> evaluate(std::span<const SymbolValue> symbols) const;
  /// The same for symbols that are guesses: what cannot be computed is 1.
  std::vector<Number> estimate(std::span<const SymbolValue> symbols) const;

 private:
  Number value_of(const Instruction& in, std::span<const Number> before,
                  std::span<const SymbolValue> symbols) const;

  std::unordered_map<Dim, int32_t> slots_;
};

}  // namespace tenon
