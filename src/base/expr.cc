#include "base/expr.h"

#include <fmt/format.h>

#include <bit>
#include <cmath>
#include <functional>

#include "base/error.h"

namespace tenon {
namespace {

int64_t floor_div(int64_t a, int64_t b) {
  return a / b - ((a % b != 0) && ((a < 0) != (b < 0)));
}

int64_t checked(ExprOp op, int64_t a, int64_t b) {
  int64_t r = 0;
  const bool overflow = op == ExprOp::kAdd   ? __builtin_add_overflow(a, b, &r)
                        : op == ExprOp::kSub ? __builtin_sub_overflow(a, b, &r)
                                             : __builtin_mul_overflow(a, b, &r);
  require(!overflow, "shape arithmetic overflows 64 bits ({} and {})", a, b);
  return r;
}

int64_t integer_power(int64_t base, int64_t exponent) {
  require(exponent >= 0, "shape arithmetic: negative exponent {}", exponent);
  int64_t r = 1;
  for (; exponent > 0; --exponent) {
    r = checked(ExprOp::kMul, r, base);
    if (r == 0 || r == 1) break;
  }
  return r;
}

Number apply_integers(ExprOp op, int64_t a, int64_t b, int64_t c) {
  const auto divides = op == ExprOp::kFloorDiv || op == ExprOp::kCeilDiv || op == ExprOp::kTruncDiv
                       || op == ExprOp::kFloorMod || op == ExprOp::kTruncMod;
  if (divides) {
    require(b != 0, "shape arithmetic divides {} by zero", a);
    if (b == -1)  // INT64_MIN / -1 overflows
      return Number::of(
          op == ExprOp::kFloorMod || op == ExprOp::kTruncMod ? 0 : checked(ExprOp::kSub, 0, a));
  }
  switch (op) {
    case ExprOp::kAdd:
    case ExprOp::kSub:
    case ExprOp::kMul:
      return Number::of(checked(op, a, b));
    case ExprOp::kFloorDiv:
      return Number::of(floor_div(a, b));
    case ExprOp::kCeilDiv:
      return Number::of(floor_div(a, b) + (a % b != 0));
    case ExprOp::kTruncDiv:
      return Number::of(a / b);
    case ExprOp::kFloorMod:
      return Number::of(a % b + (a % b != 0 && (a < 0) != (b < 0) ? b : 0));
    case ExprOp::kTruncMod:
      return Number::of(a % b);
    case ExprOp::kMin:
      return Number::of(std::min(a, b));
    case ExprOp::kMax:
      return Number::of(std::max(a, b));
    case ExprOp::kPow:
      return Number::of(integer_power(a, b));
    case ExprOp::kEqual:
      return Number::of(a == b);
    case ExprOp::kLess:
      return Number::of(a < b);
    case ExprOp::kAnd:
      return Number::of(a != 0 && b != 0);
    case ExprOp::kOr:
      return Number::of(a != 0 || b != 0);
    case ExprOp::kXor:
      return Number::of((a != 0) != (b != 0));
    case ExprOp::kNot:
      return Number::of(a == 0);
    case ExprOp::kSelect:
      return Number::of(a != 0 ? b : c);
    case ExprOp::kNeg:
      return Number::of(checked(ExprOp::kSub, 0, a));
    case ExprOp::kAbs:
      return Number::of(a < 0 ? checked(ExprOp::kSub, 0, a) : a);
    case ExprOp::kSign:
      return Number::of((a > 0) - (a < 0));
    case ExprOp::kTruncate:
      return Number::of(a);
    default:
      fail(ErrorCode::kINTERNAL_ERROR, "shape program: bad operation");
  }
}

Number apply_reals(ExprOp op, double a, double b) {
  switch (op) {
    case ExprOp::kAdd:
      return Number::of_float(a + b);
    case ExprOp::kSub:
      return Number::of_float(a - b);
    case ExprOp::kMul:
      return Number::of_float(a * b);
    case ExprOp::kDivide:
    case ExprOp::kTruncDiv:
      return Number::of_float(a / b);
    case ExprOp::kTruncMod:
      return Number::of_float(std::fmod(a, b));
    case ExprOp::kMin:
      return Number::of_float(std::min(a, b));
    case ExprOp::kMax:
      return Number::of_float(std::max(a, b));
    case ExprOp::kPow:
      return Number::of_float(std::pow(a, b));
    case ExprOp::kEqual:
      return Number::of(a == b);
    case ExprOp::kLess:
      return Number::of(a < b);
    case ExprOp::kNeg:
      return Number::of_float(-a);
    case ExprOp::kAbs:
      return Number::of_float(std::fabs(a));
    case ExprOp::kSign:
      return Number::of_float((a > 0) - (a < 0));
    case ExprOp::kToFloat:
      return Number::of_float(a);
    case ExprOp::kTruncate:
      require(std::fabs(a) < 9.2e18, "shape arithmetic: {} does not fit 64 bits", a);
      return Number::of(static_cast<int64_t>(a));
    case ExprOp::kFloor:
      return Number::of_float(std::floor(a));
    case ExprOp::kCeil:
      return Number::of_float(std::ceil(a));
    case ExprOp::kRoundEven:
      return Number::of_float(std::nearbyint(a));
    case ExprOp::kSqrt:
      return Number::of_float(std::sqrt(a));
    case ExprOp::kExp:
      return Number::of_float(std::exp(a));
    case ExprOp::kLog:
      return Number::of_float(std::log(a));
    default:
      fail(ErrorCode::kINTERNAL_ERROR, "shape program: bad operation on reals");
  }
}

Number rounded(Number real) {
  real.real = static_cast<double>(static_cast<float>(real.real));
  return real;
}

bool always_real(ExprOp op) {
  switch (op) {
    case ExprOp::kDivide:
    case ExprOp::kToFloat:
    case ExprOp::kFloor:
    case ExprOp::kCeil:
    case ExprOp::kRoundEven:
    case ExprOp::kSqrt:
    case ExprOp::kExp:
    case ExprOp::kLog:
      return true;
    default:
      return false;
  }
}

bool result_is_float(ExprOp op, Dim a, Dim b, Dim c) {
  switch (op) {
    case ExprOp::kEqual:
    case ExprOp::kLess:
    case ExprOp::kAnd:
    case ExprOp::kOr:
    case ExprOp::kXor:
    case ExprOp::kNot:
    case ExprOp::kTruncate:
      return false;
    case ExprOp::kSelect:
      return b->is_float || c->is_float;
    case ExprOp::kFromFloat64:
      return true;
    default:
      return always_real(op) || a->is_float || (b != nullptr && b->is_float);
  }
}

bool is(Dim d, int64_t value) {
  return d->is_integer_constant() && d->value.integer == value;
}

// Expressions share parts, so that a short chain of operations can have a text without end; and
// each level adds a character before it goes down, so that this bounds the depth, too.
constexpr size_t kLongestText = 500;

void append(std::string& text, Dim d, std::span<const std::string> names) {
  static constexpr const char* kNames[] = {
      "",     "",       "+",    "-",   "*",    "//",      "ceildiv",     "/",   "mod",
      "%",    "min",    "max",  "pow", "==",   "<",       "and",         "or",  "xor",
      "not",  "select", "neg",  "abs", "sign", "divide",  "float",       "int", "floor",
      "ceil", "round",  "sqrt", "exp", "log",  "float64", "from_float64"};
  if (text.size() > kLongestText) {
    text += "...";
    return;
  }
  if (d->is_constant()) {
    text += d->is_float ? fmt::format("{}", d->value.real) : fmt::format("{}", d->value.integer);
    return;
  }
  if (d->op == ExprOp::kSymbol) {
    const auto index = static_cast<size_t>(d->payload);
    text += index < names.size() ? names[index] : fmt::format("s{}", index);
    return;
  }
  const std::string name = kNames[static_cast<size_t>(d->op)];
  const bool infix = d->op <= ExprOp::kMul || d->op == ExprOp::kFloorDiv
                     || d->op == ExprOp::kTruncDiv || d->op == ExprOp::kEqual
                     || d->op == ExprOp::kLess;
  text += infix ? "(" : name + "(";
  append(text, d->a, names);
  for (Dim operand : {d->b, d->c}) {
    if (operand == nullptr) continue;
    text += infix ? " " + name + " " : ", ";
    append(text, operand, names);
  }
  text += ")";
}

}  // namespace

Number apply_float64(ExprOp op, Number a, Number b) {
  const auto number = [](Number bits) { return std::bit_cast<double>(bits.integer); };
  const double first = op == ExprOp::kToFloat ? a.as_double() : number(a);
  const Number result = apply_reals(op, first, number(b));
  return result.is_float ? Number::of(std::bit_cast<int64_t>(result.real)) : result;
}

Number apply(ExprOp op, Number a, Number b, Number c) {
  if (op == ExprOp::kSelect) return a.as_double() != 0 ? b : c;
  if (a.is_float || b.is_float || always_real(op)) {
    // Reals are elements of float32 tensors: round as the kernel that would compute them does.
    return rounded(apply_reals(op, a.as_double(), b.as_double()));
  }
  if (op == ExprOp::kFromFloat64)
    return rounded(Number::of_float(std::bit_cast<double>(a.integer)));
  return apply_integers(op, a.integer, b.integer, c.integer);
}

size_t ExprPool::KeyHash::operator()(const Key& k) const {
  size_t h = static_cast<size_t>(k.op);
  const auto mix = [&](size_t v) { h = (h ^ v) * 0x9e3779b97f4a7c15ull; };
  mix(std::hash<int64_t>{}(k.value.integer));
  mix(std::hash<double>{}(k.value.real));
  mix(std::hash<int64_t>{}(k.payload));
  mix(std::hash<Dim>{}(k.a));
  mix(std::hash<Dim>{}(k.b));
  mix(std::hash<Dim>{}(k.c));
  return h;
}

Dim ExprPool::intern(const Expr& e) {
  const Key key{e.op, e.value, e.payload, e.a, e.b, e.c};
  if (const auto it = known_.find(key); it != known_.end()) return it->second;
  nodes_.push_back(e);
  return known_[key] = &nodes_.back();
}

Dim ExprPool::constant(int64_t value) {
  Expr e;
  e.value = Number::of(value);
  return intern(e);
}

Dim ExprPool::constant_float(double value) {
  Expr e;
  e.is_float = true;
  e.value = Number::of_float(value);
  return intern(e);
}

Dim ExprPool::symbol(int64_t index) {
  Expr e;
  e.op = ExprOp::kSymbol;
  e.payload = index;
  return intern(e);
}

Dim ExprPool::make(ExprOp op, Dim a, Dim b, Dim c) {
  const bool foldable =
      a->is_constant() && (b == nullptr || b->is_constant()) && (c == nullptr || c->is_constant());
  if (foldable)
    return number(apply(op, a->value, b != nullptr ? b->value : Number{},
                        c != nullptr ? c->value : Number{}));
  const bool integers = !result_is_float(op, a, b, c);
  if (integers) {
    switch (op) {
      case ExprOp::kAdd:
        if (is(a, 0)) return b;
        if (is(b, 0)) return a;
        if (a->is_constant()) std::swap(a, b);
        if (b->is_constant() && a->op == ExprOp::kAdd && a->b->is_constant())
          return add(a->a, add(a->b, b));
        break;
      case ExprOp::kSub:
        if (a == b) return constant(0);
        if (b->is_constant() && b->value.integer != INT64_MIN)  // which has no negative
          return add(a, constant(-b->value.integer));
        break;
      case ExprOp::kMul:
        if (is(a, 1)) return b;
        if (is(b, 1)) return a;
        if (is(a, 0) || is(b, 0)) return constant(0);
        if (a->is_constant()) std::swap(a, b);
        break;
      case ExprOp::kFloorDiv:
      case ExprOp::kCeilDiv:
      case ExprOp::kTruncDiv:
        if (is(b, 1)) return a;
        if (a->op == ExprOp::kMul && a->b == b && b->is_constant() && !is(b, 0)) return a->a;
        break;
      case ExprOp::kMin:
      case ExprOp::kMax:
        if (a == b) return a;
        break;
      case ExprOp::kEqual:
        if (a == b) return constant(1);
        break;
      case ExprOp::kTruncate:
        if (!a->is_float) return a;
        break;
      default:
        break;
    }
  }
  if (op == ExprOp::kSelect) {
    if (b == c) return b;
    if (a->is_constant()) return a->value.as_double() != 0 ? b : c;
  }
  if (op == ExprOp::kTruncate && a->op == ExprOp::kToFloat) return a->a;
  Expr e;
  e.op = op;
  e.is_float = !integers;
  e.a = a;
  e.b = b;
  e.c = c;
  return intern(e);
}

Dim ExprPool::float64(ExprOp op, Dim a, Dim b) {
  if (a->is_constant() && (b == nullptr || b->is_constant()))
    return number(apply_float64(op, a->value, b != nullptr ? b->value : Number{}));
  Expr e;
  e.op = ExprOp::kFloat64;
  e.payload = static_cast<int64_t>(op);
  e.a = a;
  e.b = b;
  return intern(e);
}

Dim ExprPool::constant_float64(double value) {
  return constant(std::bit_cast<int64_t>(value));
}

std::string text_of(Dim dim, std::span<const std::string> names) {
  std::string text;
  append(text, dim, names);
  return text;
}

// Depth first without recursion: a model may chain thousands of shape operations.
int32_t ShapeProgram::add(Dim root) {
  std::vector<Dim> stack{root};
  while (!stack.empty()) {
    const Dim d = stack.back();
    if (slots_.contains(d)) {
      stack.pop_back();
      continue;
    }
    bool ready = true;
    for (Dim child : {d->a, d->b, d->c})
      if (child != nullptr && !slots_.contains(child)) {
        stack.push_back(child);
        ready = false;
      }
    if (!ready) continue;
    stack.pop_back();
    const auto slot = [&](Dim child) { return child == nullptr ? -1 : slots_.at(child); };
    slots_[d] = static_cast<int32_t>(instructions.size());
    instructions.push_back(
        {d->op, d->is_float, d->value, d->payload, slot(d->a), slot(d->b), slot(d->c)});
    if (d->op == ExprOp::kSymbol) symbol_count = std::max(symbol_count, d->payload + 1);
  }
  return slots_.at(root);
}

Number ShapeProgram::value_of(const Instruction& in, std::span<const Number> before,
                              std::span<const SymbolValue> symbols) const {
  if (in.op == ExprOp::kConstant) return in.value;
  if (in.op == ExprOp::kSymbol) {
    const SymbolValue& symbol = symbols[static_cast<size_t>(in.payload)];
    return symbol ? Number::of(*symbol) : Number::unknown();
  }
  Number operands[3];
  const int32_t slots[] = {in.a, in.b, in.c};
  for (size_t i = 0; i < 3; ++i) {
    if (slots[i] < 0) continue;
    operands[i] = before[static_cast<size_t>(slots[i])];
    if (!operands[i].is_known) return Number::unknown();
  }
  if (in.op == ExprOp::kFloat64)
    return apply_float64(static_cast<ExprOp>(in.payload), operands[0], operands[1]);
  return apply(in.op, operands[0], operands[1], operands[2]);
}

std::vector<Number> ShapeProgram::evaluate(std::span<const SymbolValue> symbols) const {
  std::vector<Number> values(instructions.size());
  for (size_t i = 0; i < instructions.size(); ++i)
    values[i] = value_of(instructions[i], values, symbols);
  return values;
}

std::vector<Number> ShapeProgram::estimate(std::span<const SymbolValue> symbols) const {
  std::vector<Number> values(instructions.size());
  for (size_t i = 0; i < instructions.size(); ++i) {
    try {
      values[i] = value_of(instructions[i], values, symbols);
    } catch (const Error&) {
      values[i] = instructions[i].is_float ? Number::of_float(1) : Number::of(1);
    }
  }
  return values;
}

}  // namespace tenon
