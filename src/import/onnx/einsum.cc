// Einsum as matrix products.
#include "ops/einsum.h"

#include <algorithm>

#include "import/node.h"
#include "ops/matrix_multiply.h"
#include "ops/support/infer.h"

namespace tenon {
namespace {

using nvinfer1::MatrixOperation;
using Operation = nvinfer1::ElementWiseOperation;
using Labels = std::vector<int>;

bool has(const Labels& labels, int label) {
  return std::find(labels.begin(), labels.end(), label) != labels.end();
}

Labels joined(const Labels& a, const Labels& b, const Labels& c = {}) {
  Labels all = a;
  all.insert(all.end(), b.begin(), b.end());
  all.insert(all.end(), c.begin(), c.end());
  return all;
}

struct Operand {
  Value* value;
  Labels labels;
};

class Contraction {
 public:
  Contraction(NodeContext& n, const std::string& equation) : n_(n) {
    std::vector<int> ranks;
    std::vector<Dims> dims;
    for (int i = 0; i < n.input_count(); ++i) {
      operands_.push_back({&n.input(i), {}});
      n.know(*operands_.back().value);
      ranks.push_back(n.rank(*operands_.back().value));
      dims.push_back(operands_.back().value->dims);
    }
    const EinsumTerms terms = parse_einsum(equation, ranks);
    extents_ = einsum_extents(terms, dims);
    output_ = terms.output;
    for (size_t i = 0; i < operands_.size(); ++i) operands_[i].labels = terms.operands[i];
  }

  Value& result() {
    for (Operand& o : operands_) {
      take_diagonals(o);
      drop_stretched(o);
    }
    Operand sum = operands_[0];
    for (size_t i = 1; i < operands_.size(); ++i) {
      Labels needed = output_;
      for (size_t k = i + 1; k < operands_.size(); ++k)
        needed = joined(needed, operands_[k].labels);
      sum_out(sum, joined(needed, operands_[i].labels));
      sum_out(operands_[i], joined(needed, sum.labels));
      sum = product(sum, operands_[i], needed);
    }
    sum_out(sum, output_);
    Dims extents;
    Labels order;
    for (int label : output_) {
      extents.push_back(extents_.at(label));
      if (has(sum.labels, label)) order.push_back(label);
    }
    Value& ordered = transposed(sum, order);
    if (order.size() == output_.size()) return ordered;
    return n_.expand(n_.reshape(ordered, with_ones(order)), extents);
  }

 private:
  Dims extents_of(const Labels& labels) const {
    Dims dims;
    for (int label : labels) dims.push_back(extents_.at(label));
    return dims;
  }

  // The output's extents, 1 for labels that are missing.
  Dims with_ones(const Labels& labels) const {
    Dims dims;
    for (int label : output_)
      dims.push_back(has(labels, label) ? extents_.at(label) : n_.number(1));
    return dims;
  }

  Value& transposed(const Operand& o, const Labels& order) {
    std::vector<int32_t> permutation;
    for (int label : order)
      permutation.push_back(static_cast<int32_t>(std::find(o.labels.begin(), o.labels.end(), label)
                                                 - o.labels.begin()));
    return n_.transpose(*o.value, permutation);
  }

  // (…, d, d) becomes (…, d * d), of which every (d + 1)th element is wanted.
  void take_diagonals(Operand& o) {
    for (size_t i = 0; i < o.labels.size(); ++i) {
      const auto again =
          std::find(o.labels.begin() + static_cast<ptrdiff_t>(i) + 1, o.labels.end(), o.labels[i]);
      if (again == o.labels.end()) continue;
      const auto second = static_cast<int32_t>(again - o.labels.begin());
      std::vector<int32_t> permutation;
      Labels left;
      for (int32_t k = 0; k < static_cast<int32_t>(o.labels.size()); ++k)
        if (k != static_cast<int32_t>(i) && k != second) {
          permutation.push_back(k);
          left.push_back(o.labels[static_cast<size_t>(k)]);
        }
      permutation.push_back(static_cast<int32_t>(i));
      permutation.push_back(second);
      Value& last = n_.transpose(*o.value, permutation);
      const Dim d = last.dims.back();
      Dims flat(last.dims.begin(), last.dims.end() - 2);
      Dims size = flat, stride(flat.size(), n_.number(1));
      flat.push_back(n_.pool().mul(d, d));
      size.push_back(d);
      stride.push_back(n_.pool().add(d, n_.number(1)));
      o.value = &n_.slice(n_.reshape(last, flat), Dims(flat.size(), n_.number(0)), size, stride);
      left.push_back(o.labels[i]);
      o.labels = left;
      i = static_cast<size_t>(-1);  // once more from the first
    }
  }

  // Axes of extent 1 that other operands stretch.
  void drop_stretched(Operand& o) {
    Labels kept;
    Dims dims;
    for (size_t k = 0; k < o.labels.size(); ++k) {
      const Dim d = o.value->dims[k];
      const bool one = d->is_integer_constant() && d->value.integer == 1;
      if (one && extents_.at(o.labels[k]) != d) continue;
      kept.push_back(o.labels[k]);
      dims.push_back(d);
    }
    if (kept.size() == o.labels.size()) return;
    o.value = &n_.reshape(*o.value, dims);
    o.labels = kept;
  }

  void sum_out(Operand& o, const Labels& needed) {
    uint32_t axes = 0;
    Labels kept;
    for (size_t k = 0; k < o.labels.size(); ++k)
      if (has(needed, o.labels[k]))
        kept.push_back(o.labels[k]);
      else
        axes |= 1u << k;
    o.value = &n_.reduce(nvinfer1::ReduceOperation::kSUM, *o.value, axes, false);
    o.labels = kept;
  }

  Operand product(const Operand& a, const Operand& b, const Labels& needed) {
    Labels batch, summed, rows, columns;
    for (int label : a.labels)
      (!has(b.labels, label) ? rows : has(needed, label) ? batch : summed).push_back(label);
    for (int label : b.labels)
      if (!has(a.labels, label)) columns.push_back(label);
    const Labels labels = joined(batch, rows, columns);
    require(labels.size() <= static_cast<size_t>(Shape::kMaxRank),
            "a product of two of its operands has {} dimensions; at most {} are supported",
            labels.size(), Shape::kMaxRank);
    if (summed.empty()) return {&outer_product(a, b, batch, rows, columns), labels};
    auto op = std::make_unique<MatrixMultiply>();
    Value& left = matrix(a, batch, rows, summed, op->operation_a);
    Value& right = matrix(b, batch, summed, columns, op->operation_b);
    Value& y = n_.add(std::move(op), {&left, &right});
    return {&n_.reshape(y, extents_of(labels)), labels};
  }

  Value& outer_product(const Operand& a, const Operand& b, const Labels& batch, const Labels& rows,
                       const Labels& columns) {
    Dims left = extents_of(joined(batch, rows)), right = extents_of(batch);
    left.insert(left.end(), columns.size(), n_.number(1));
    right.insert(right.end(), rows.size(), n_.number(1));
    for (int label : columns) right.push_back(extents_.at(label));
    return n_.binary(Operation::kPROD, n_.reshape(transposed(a, joined(batch, rows)), left),
                     n_.reshape(transposed(b, joined(batch, columns)), right));
  }

  // (batch…, first, second), or the other way round where that needs no transposition.
  Value& matrix(const Operand& o, const Labels& batch, const Labels& first, const Labels& second,
                MatrixOperation& operation) {
    const bool swapped = o.labels == joined(batch, second, first) && !first.empty();
    operation = swapped ? MatrixOperation::kTRANSPOSE : MatrixOperation::kNONE;
    const Labels& a = swapped ? second : first;
    const Labels& b = swapped ? first : second;
    Dims dims = extents_of(batch);
    for (const Labels* group : {&a, &b}) {
      Dim volume = n_.number(1);
      for (int label : *group) volume = n_.pool().mul(volume, extents_.at(label));
      dims.push_back(volume);
    }
    return n_.reshape(transposed(o, joined(batch, a, b)), dims);
  }

  NodeContext& n_;
  std::vector<Operand> operands_;
  std::map<int, Dim> extents_;
  Labels output_;
};

}  // namespace

TENON_IMPORT(Einsum, 12, "") {
  const std::string equation = n.text("equation", "");
  require(n.input_count() > 0, "it has no operands");
  for (int i = 1; i < n.input_count(); ++i)
    require(n.input(i).type == n.input(0).type, "operand {} is {}; operand 0 is {}", i,
            name_of(n.input(i).type), name_of(n.input(0).type));
  n.set_output(0, Contraction(n, equation).result());
}

}  // namespace tenon
