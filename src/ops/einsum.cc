#include "ops/einsum.h"

#include <algorithm>

#include "ops/support/infer.h"
#include "ops/support/reference.h"

namespace tenon {

TENON_REGISTER_OP(Einsum);

void Einsum::visit(FieldVisitor& v) {
  v("equation", equation);
}

namespace {

constexpr size_t kMaxOperands = 64;

bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

std::vector<std::string> split(const std::string& text) {
  std::vector<std::string> parts(1);
  for (char c : text)
    if (c == ',')
      parts.emplace_back();
    else
      parts.back() += c;
  return parts;
}

// The labels of a term; `rank` is -1 for the output, whose ellipsis has `ellipsis_axes`.
std::vector<int> labels_of(const std::string& term, int rank, int ellipsis_axes) {
  const size_t dots = term.find("...");
  const int letters = static_cast<int>(term.size()) - (dots == std::string::npos ? 0 : 3);
  const int hidden = rank < 0 ? ellipsis_axes : rank - letters;
  require(dots == std::string::npos ? rank < 0 || letters == rank : hidden >= 0,
          "the term '{}' does not fit an operand of {} dimensions", term, rank);
  std::vector<int> labels;
  for (size_t i = 0; i < term.size(); ++i) {
    if (i == dots) {
      for (int k = hidden; k > 0; --k) labels.push_back(EinsumTerms::kEllipsis - k);
      i += 2;
      continue;
    }
    require(is_letter(term[i]), "the term '{}' holds a '{}'; expected letters", term,
            term[i] < 32 || term[i] > 126 ? '?' : term[i]);
    labels.push_back(term[i]);
  }
  return labels;
}

std::vector<int> implicit_output(const std::vector<std::vector<int>>& operands) {
  std::map<int, int> count;
  int ellipsis_axes = 0;
  for (const auto& labels : operands)
    for (int label : labels) {
      ++count[label];
      ellipsis_axes = std::max(ellipsis_axes, EinsumTerms::kEllipsis - label);
    }
  std::vector<int> output;
  for (int k = ellipsis_axes; k > 0; --k) output.push_back(EinsumTerms::kEllipsis - k);
  for (const auto& [label, times] : count)
    if (label > EinsumTerms::kEllipsis && times == 1) output.push_back(label);
  return output;
}

}  // namespace

EinsumTerms parse_einsum(const std::string& equation, std::span<const int> ranks) {
  std::string text;
  for (char c : equation)
    if (c != ' ') text += c;
  const size_t arrow = text.find("->");
  const auto parts = split(text.substr(0, arrow));
  require(parts.size() == ranks.size() && parts.size() <= kMaxOperands,
          "the equation '{}' has {} operands; {} are given", equation, parts.size(), ranks.size());
  EinsumTerms terms;
  int ellipsis_axes = 0;
  for (size_t i = 0; i < parts.size(); ++i) {
    terms.operands.push_back(labels_of(parts[i], ranks[i], 0));
    for (int label : terms.operands.back())
      ellipsis_axes = std::max(ellipsis_axes, EinsumTerms::kEllipsis - label);
  }
  terms.output = arrow == std::string::npos ? implicit_output(terms.operands)
                                            : labels_of(text.substr(arrow + 2), -1, ellipsis_axes);
  require(terms.output.size() <= static_cast<size_t>(Shape::kMaxRank),
          "the output of the equation '{}' has {} dimensions; at most {} are supported", equation,
          terms.output.size(), Shape::kMaxRank);
  for (size_t i = 0; i < terms.output.size(); ++i) {
    const int label = terms.output[i];
    require(std::count(terms.output.begin(), terms.output.end(), label) == 1,
            "the output of the equation '{}' names an axis twice", equation);
    require(std::any_of(terms.operands.begin(), terms.operands.end(),
                        [&](const std::vector<int>& labels) {
                          return std::find(labels.begin(), labels.end(), label) != labels.end();
                        }),
            "the output of the equation '{}' names an axis that no operand has", equation);
  }
  return terms;
}

std::map<int, Dim> einsum_extents(const EinsumTerms& terms, std::span<const Dims> operands) {
  std::map<int, Dim> extents;
  for (size_t i = 0; i < operands.size(); ++i)
    for (size_t k = 0; k < operands[i].size(); ++k) {
      const int label = terms.operands[i][k];
      const Dim extent = operands[i][k];
      Dim& known = extents.try_emplace(label, extent).first->second;
      const bool stretches = label < EinsumTerms::kEllipsis;
      const auto is_one = [](Dim d) { return d->is_integer_constant() && d->value.integer == 1; };
      require(known == extent || !known->is_constant() || !extent->is_constant()
                  || (stretches && (is_one(known) || is_one(extent))),
              "operand {}, axis {}: the extent is {}, and {} elsewhere", i, k, text_of(extent),
              text_of(known));
      if ((stretches && is_one(known))
          || (!known->is_constant() && extent->is_constant() && !(stretches && is_one(extent))))
        known = extent;
    }
  return extents;
}

void Einsum::infer(Inference& c) const {
  require_inputs(c, 1, static_cast<int>(kMaxOperands));
  std::vector<int> ranks;
  std::vector<Dims> dims;
  for (int i = 0; i < c.input_count(); ++i) {
    require(c.has_input(i), "operand {} is missing", i);
    if (i > 0) require_type_of_data(c, i, "an operand");
    ranks.push_back(c.rank(i));
    dims.push_back(c.dims(i));
  }
  if (c.type(0) != DataType::kINT32 && c.type(0) != DataType::kINT64)
    require_float(c, 0, "the first operand");
  const EinsumTerms terms = parse_einsum(equation, ranks);
  const auto extents = einsum_extents(terms, dims);
  Dims out;
  for (int label : terms.output) out.push_back(extents.at(label));
  c.set_output(0, c.type(0), std::move(out));
}

namespace {

// A walk over labels: their extents, and each operand's step along them.
struct Walk {
  std::vector<int64_t> extents;
  std::vector<std::vector<int64_t>> steps;  // per operand, per label

  int64_t volume() const {
    int64_t v = 1;
    for (int64_t e : extents) v *= e;
    return v;
  }
  // Adds where position `i` of the walk lies in each operand.
  void add_offsets(int64_t i, std::vector<int64_t>& offsets) const {
    for (size_t k = extents.size(); k-- > 0; i /= extents[k])
      for (size_t o = 0; o < steps.size(); ++o) offsets[o] += i % extents[k] * steps[o][k];
  }
};

Walk walk_over(const std::vector<int>& labels, const EinsumTerms& terms,
               std::span<const TensorView> inputs) {
  Walk walk;
  walk.steps.resize(inputs.size());
  for (int label : labels) {
    int64_t extent = 1;
    for (size_t i = 0; i < inputs.size(); ++i)
      for (size_t k = 0; k < terms.operands[i].size(); ++k) {
        if (terms.operands[i][k] != label) continue;
        const int64_t own = inputs[i].shape[static_cast<int>(k)];
        const bool stretches = label < EinsumTerms::kEllipsis;
        require(own == extent || extent == 1 || (stretches && own == 1),
                "operand {}, axis {}: the extent is {}, and {} elsewhere", i, k, own, extent);
        if (extent == 1) extent = own;
      }
    walk.extents.push_back(extent);
    for (size_t i = 0; i < inputs.size(); ++i) {
      const Shape strides = inputs[i].shape.strides();
      int64_t step = 0;
      for (size_t k = 0; k < terms.operands[i].size(); ++k) {
        if (terms.operands[i][k] != label) continue;
        const int64_t own = inputs[i].shape[static_cast<int>(k)];
        require(own == extent || label < EinsumTerms::kEllipsis,
                "operand {}, axis {}: the extent is {}, and {} elsewhere", i, k, own, extent);
        if (own == extent) step += strides[static_cast<int>(k)];
      }
      walk.steps[i].push_back(step);
    }
  }
  return walk;
}

template <class T>
void sum_products(const Walk& outer, const Walk& inner, std::span<const TensorView> inputs,
                  T* out) {
  using Sum = std::conditional_t<is_real<T>, double, uint64_t>;
  const int64_t terms = inner.volume();
  parallel_for(outer.volume(), std::max<int64_t>(1, 16384 / std::max<int64_t>(1, terms)),
               [&](int64_t begin, int64_t end) {
                 std::vector<int64_t> first(inputs.size()), at(inputs.size());
                 for (int64_t i = begin; i < end; ++i) {
                   std::fill(first.begin(), first.end(), 0);
                   outer.add_offsets(i, first);
                   Sum sum = 0;
                   for (int64_t k = 0; k < terms; ++k) {
                     at = first;
                     inner.add_offsets(k, at);
                     Sum product = 1;
                     for (size_t o = 0; o < inputs.size(); ++o)
                       product *= static_cast<Sum>(load(inputs[o].as<T>()[at[o]]));
                     sum += product;
                   }
                   out[i] = store<T>(sum);
                 }
               });
}

}  // namespace

void Einsum::reference(const ReferenceCall& call) const {
  std::vector<int> ranks, summed;
  for (const TensorView& in : call.inputs) ranks.push_back(in.shape.rank());
  const EinsumTerms terms = parse_einsum(equation, ranks);
  for (const auto& labels : terms.operands)
    for (int label : labels)
      if (std::find(terms.output.begin(), terms.output.end(), label) == terms.output.end()
          && std::find(summed.begin(), summed.end(), label) == summed.end())
        summed.push_back(label);
  const Walk outer = walk_over(terms.output, terms, call.inputs);
  const Walk inner = walk_over(summed, terms, call.inputs);
  require_output(call.outputs[0], Shape(std::span<const int64_t>(outer.extents)));
  with_type(call.outputs[0].type, [&](auto zero) {
    using T = decltype(zero);
    if constexpr (is_real<T> || std::is_same_v<T, int32_t> || std::is_same_v<T, int64_t>)
      sum_products<T>(outer, inner, call.inputs, call.outputs[0].as<T>());
  });
}

double Einsum::operations(std::span<const Shape> inputs, std::span<const Shape>) const {
  std::vector<int> ranks;
  for (const Shape& s : inputs) ranks.push_back(s.rank());
  const EinsumTerms terms = parse_einsum(equation, ranks);
  std::map<int, int64_t> extents;
  for (size_t i = 0; i < inputs.size(); ++i)
    for (size_t axis = 0; axis < terms.operands[i].size(); ++axis) {
      int64_t& extent = extents[terms.operands[i][axis]];
      extent = std::max(extent, inputs[i][static_cast<int>(axis)]);
    }
  auto count = static_cast<double>(inputs.size());
  for (const auto& [label, extent] : extents) count *= static_cast<double>(extent);
  return count;
}

}  // namespace tenon
