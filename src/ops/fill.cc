#include "ops/fill.h"

#include <cmath>
#include <numbers>

#include "ops/support/infer.h"
#include "ops/support/reference.h"

namespace tenon {

using nvinfer1::FillOperation;

TENON_REGISTER_OP(Fill);

void Fill::visit(FieldVisitor& v) {
  v("operation", operation);
  v("dimensions", dimensions);
  v("alpha", alpha);
  v("beta", beta);
  v("alpha_integer", alpha_integer);
  v("beta_integer", beta_integer);
  v("integers", integers);
  v("type", type);
  v("seed", seed);
}

namespace {

enum Input { kDimensions, kAlpha, kBeta };

Dims wanted_dims(const Fill& op, Inference& c) {
  Dims dims;
  if (c.has_input(kDimensions)) {
    require_index(c, kDimensions, "the dimensions");
    require(c.rank(kDimensions) == 1, "expected one-dimensional dimensions (input 0), found {}",
            text_of(c.dims(kDimensions)));
    dims = c.known_content(kDimensions, "the dimensions");
  } else {
    for (int64_t extent : op.dimensions) dims.push_back(c.pool().constant(extent));
  }
  for (Dim d : dims)
    require(!d->is_constant() || d->value.integer >= 0,
            "expected dimensions of at least 0, found {}", text_of(dims));
  return dims;
}

// Towards zero; what does not fit becomes the nearest that does.
int64_t to_integer(double x) {
  if (std::isnan(x)) return 0;
  return x >= 0x1p63 ? INT64_MAX : x < -0x1p63 ? INT64_MIN : static_cast<int64_t>(x);
}

// alpha, or the betas, as numbers of the type that they are computed in.
template <class Number>
std::vector<Number> numbers(const ReferenceCall& call, size_t input, Number otherwise) {
  if (input >= call.inputs.size() || call.inputs[input].data == nullptr) return {otherwise};
  const TensorView& view = call.inputs[input];
  std::vector<Number> values;
  with_type(view.type, [&](auto zero) {
    for (int64_t i = 0; i < view.shape.volume(); ++i)
      values.push_back(static_cast<Number>(load(view.as<decltype(zero)>()[i])));
  });
  return values;
}

// Integers wrap, as everywhere.
template <class T> void linspace(const Fill& op, const ReferenceCall& call) {
  using Number = std::conditional_t<is_real<T>, double, int64_t>;
  const auto otherwise = [&](double real, int64_t integer) -> Number {
    if constexpr (is_real<T>)
      return op.integers ? static_cast<Number>(integer) : real;
    else
      return op.integers ? integer : to_integer(real);
  };
  const TensorView& out = call.outputs[0];
  const auto start = numbers(call, kAlpha, otherwise(op.alpha, op.alpha_integer));
  const auto steps = numbers(call, kBeta, otherwise(op.beta, op.beta_integer));
  const int rank = out.shape.rank();
  require(start.size() == 1, "expected one start (alpha), found {}", start.size());
  require(static_cast<int>(steps.size()) == rank || rank == 0,
          "expected {} steps (beta), one for each axis, found {}", rank, steps.size());
  parallel_for(out.shape.volume(), 8192, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      int64_t rest = i;
      if constexpr (is_real<T>) {
        double value = start[0];
        for (int axis = rank - 1; axis >= 0; rest /= out.shape[axis], --axis)
          value += static_cast<double>(rest % out.shape[axis]) * steps[static_cast<size_t>(axis)];
        out.as<T>()[i] = store<T>(value);
      } else {
        auto value = static_cast<uint64_t>(start[0]);
        for (int axis = rank - 1; axis >= 0; rest /= out.shape[axis], --axis)
          value += static_cast<uint64_t>(rest % out.shape[axis])
                   * static_cast<uint64_t>(steps[static_cast<size_t>(axis)]);
        out.as<T>()[i] = store<T>(value);
      }
    }
  });
}

// In [0, 1), with 24 bits.
double fraction(uint32_t word) {
  return static_cast<double>(word >> 8) * 0x1p-24;
}

// Four numbers for a counter: uniform, or normal by the method of Box and Muller.
void random_numbers(const Fill& op, int64_t counter, double* to) {
  const RandomWords random =
      philox(static_cast<uint64_t>(counter), 0, static_cast<uint64_t>(op.seed));
  for (int i = 0; i < 4; ++i) to[i] = fraction(random.word[i]);
  if (op.operation == FillOperation::kRANDOM_UNIFORM) return;
  for (int i = 0; i < 4; i += 2) {
    const double radius = std::sqrt(-2 * std::log(1 - to[i]));
    const double angle = 2 * std::numbers::pi * to[i + 1];
    to[i] = radius * std::cos(angle);
    to[i + 1] = radius * std::sin(angle);
  }
}

template <class T> void random(const Fill& op, const ReferenceCall& call) {
  const TensorView& out = call.outputs[0];
  const auto alpha =
      numbers<double>(call, kAlpha, op.integers ? static_cast<double>(op.alpha_integer) : op.alpha);
  const auto beta =
      numbers<double>(call, kBeta, op.integers ? static_cast<double>(op.beta_integer) : op.beta);
  require(alpha.size() == 1 && beta.size() == 1, "expected one alpha and one beta, found {} and {}",
          alpha.size(), beta.size());
  const bool uniform = op.operation == FillOperation::kRANDOM_UNIFORM;
  const double scale = uniform ? beta[0] - alpha[0] : beta[0];
  const int64_t count = out.shape.volume();
  parallel_for((count + 3) / 4, 1024, [&](int64_t begin, int64_t end) {
    double four[4];
    for (int64_t block = begin; block < end; ++block) {
      random_numbers(op, block, four);
      for (int64_t i = block * 4; i < std::min(count, block * 4 + 4); ++i)
        out.as<T>()[i] = store<T>(alpha[0] + scale * four[i - block * 4]);
    }
  });
}

}  // namespace

RandomWords philox(uint64_t counter, uint64_t stream, uint64_t key) {
  const auto low = [](uint64_t x) { return static_cast<uint32_t>(x); };
  const auto high = [](uint64_t x) { return static_cast<uint32_t>(x >> 32); };
  RandomWords c{{low(counter), high(counter), low(stream), high(stream)}};
  uint32_t k0 = low(key), k1 = high(key);
  for (int round = 0; round < 10; ++round) {
    const uint64_t a = uint64_t{0xD2511F53} * c.word[0], b = uint64_t{0xCD9E8D57} * c.word[2];
    c = {{high(b) ^ c.word[1] ^ k0, low(b), high(a) ^ c.word[3] ^ k1, low(a)}};
    k0 += 0x9E3779B9;
    k1 += 0xBB67AE85;
  }
  return c;
}

void Fill::infer(Inference& c) const {
  require(c.input_count() <= 3, "expected at most 3 inputs, found {}", c.input_count());
  require(operation >= FillOperation::kLINSPACE && operation <= FillOperation::kRANDOM_NORMAL,
          "expected a FillOperation (0 to 2), found {}", static_cast<int32_t>(operation));
  Dims dims = wanted_dims(*this, c);
  DataType result = type;
  for (int i : {kBeta, kAlpha})
    if (c.has_input(i)) result = c.type(i);
  if (c.has_input(kAlpha) && c.has_input(kBeta))
    require(c.type(kAlpha) == c.type(kBeta),
            "expected alpha and beta of equal type, found {} and {}", name_of(c.type(kAlpha)),
            name_of(c.type(kBeta)));
  require(result != DataType::kBOOL && bits_of(result) >= 8,
          "expected numbers of 8 bits or more, found {}", name_of(result));
  if (operation != FillOperation::kLINSPACE)
    require(is_float(result), "expected a floating-point type for random numbers, found {}",
            name_of(result));
  if (c.has_input(kAlpha)) require_count(c, kAlpha, "alpha", 1);
  const bool each_axis = operation == FillOperation::kLINSPACE && !dims.empty();
  const auto steps = each_axis ? static_cast<int64_t>(dims.size()) : 1;
  if (c.has_input(kBeta))
    require_count(c, kBeta, "beta", steps);
  else
    require(steps == 1, "expected beta as an input, with a step for each of {} axes", steps);
  set_output_and_content(c, result, std::move(dims), {kAlpha, kBeta}, [&](const Shape& shape) {
    // Integers evenly spaced along an axis.
    require(operation == FillOperation::kLINSPACE && shape.rank() == 1 && !is_float(result),
            "not for shapes");
    const auto number = [&](int i, double real, int64_t integer) {
      return c.has_input(i) ? c.content(i)->at(0)
                            : c.pool().constant(integers ? integer : to_integer(real));
    };
    const Dim first = number(kAlpha, alpha, alpha_integer);
    const Dim step = number(kBeta, beta, beta_integer);
    Content content;
    for (int64_t i = 0; i < shape[0]; ++i)
      content.push_back(c.pool().add(first, c.pool().mul(c.pool().constant(i), step)));
    return content;
  });
}

void Fill::reference(const ReferenceCall& call) const {
  with_type(call.outputs[0].type, [&](auto zero) {
    using T = decltype(zero);
    if (operation == FillOperation::kLINSPACE)
      linspace<T>(*this, call);
    else
      random<T>(*this, call);
  });
}

Magnitude Fill::magnitude(const Node&, DataType) const {
  return operation == FillOperation::kLINSPACE ? Magnitude::kLarge : Magnitude::kOrdinary;
}

}  // namespace tenon
