// Sums over named axes that are products of matrices as they lie in memory.
#include <algorithm>
#include <map>
#include <tuple>

#include "cuda/cublas/geometry.h"

namespace tenon::cuda {

// The axes of an equation with two operands, by what becomes of them.
class ProductGeometry::EinsumAxes {
 public:
  EinsumAxes(const EinsumTerms& terms, const Shape& a, const Shape& b) {
    std::map<int, Axis> labels;
    const Shape* shapes[] = {&a, &b};
    int64_t Axis::* const steps[] = {&Axis::a, &Axis::b};
    for (size_t i = 0; i < 2; ++i)
      for (size_t k = 0; k < terms.operands[i].size(); ++k) {
        Axis& axis = labels.try_emplace(terms.operands[i][k], Axis{1, 0, 0, 0}).first->second;
        const int64_t extent = (*shapes[i])[static_cast<int>(k)];
        if (extent == 1) continue;
        is_whole_ &= axis.extent == 1 || axis.extent == extent;
        axis.extent = extent;
        axis.*steps[i] += shapes[i]->strides()[static_cast<int>(k)];
      }
    for (int label : terms.output) result.push_back(labels.at(label).extent);
    const Shape result_steps = result.strides();
    for (size_t k = 0; k < terms.output.size(); ++k)
      labels.at(terms.output[k]).result = result_steps[static_cast<int>(k)];
    for (const auto& [label, axis] : labels)
      if (axis.extent != 1) add(axis);
  }

  /// The axes of rows, columns and sums, each as one, and what is left as the batch.
  bool split(Axis& rows, Axis& columns, Axis& depth, std::vector<Axis>& batch) {
    const std::vector<Axis> sums = joined(summed_);
    if (!is_whole_ || sums.size() > 1) return false;
    depth = sums.empty() ? Axis{1, 0, 0, 0} : sums[0];
    batch = joined(both_);
    rows = longest(joined(left_), batch);
    columns = longest(joined(right_), batch);
    return true;
  }

  bool sums_nothing() const {
    return std::any_of(summed_.begin(), summed_.end(), [](const Axis& x) { return x.extent == 0; });
  }

  Shape result;

 private:
  void add(const Axis& axis) {
    if (axis.result == 0) {
      is_whole_ &= axis.a != 0 && axis.b != 0;  // otherwise a sum of one operand alone
      summed_.push_back(axis);
    } else {
      (axis.a == 0 ? right_ : axis.b == 0 ? left_ : both_).push_back(axis);
    }
  }

  // The outermost first; those that all tensors walk evenly as one.
  static std::vector<Axis> joined(std::vector<Axis> axes) {
    std::sort(axes.begin(), axes.end(), [](const Axis& x, const Axis& y) {
      return std::tie(x.result, x.a, x.b) > std::tie(y.result, y.a, y.b);
    });
    std::vector<Axis> result;
    for (const Axis& x : axes) {
      const auto follows = [&](int64_t Axis::* step) {
        return result.back().*step == x.*step * x.extent;
      };
      if (!result.empty() && follows(&Axis::a) && follows(&Axis::b) && follows(&Axis::result))
        result.back() = {result.back().extent * x.extent, x.a, x.b, x.result};
      else
        result.push_back(x);
    }
    return result;
  }

  // The longest one; the others become axes of the batch.
  static Axis longest(std::vector<Axis> axes, std::vector<Axis>& batch) {
    if (axes.empty()) return {1, 0, 0, 0};
    const auto found = std::max_element(
        axes.begin(), axes.end(), [](const Axis& x, const Axis& y) { return x.extent < y.extent; });
    const Axis axis = *found;
    axes.erase(found);
    batch.insert(batch.end(), axes.begin(), axes.end());
    return axis;
  }

  bool is_whole_ = true;
  std::vector<Axis> both_, left_, right_, summed_;
};

namespace {

// A matrix whose rows or columns are neighbours in memory; none for others.
std::optional<ProductForm::Matrix> matrix(int64_t rows, int64_t columns, int64_t row_step,
                                          int64_t column_step) {
  ProductForm::Matrix m;
  if (columns == 1 || column_step == 1) {
    m.row_step = rows == 1 ? std::max(columns, row_step) : row_step;
    return m.row_step >= columns ? std::optional(m) : std::nullopt;
  }
  if (rows != 1 && row_step != 1) return std::nullopt;
  m.transposed = true;
  m.row_step = column_step;
  return m.row_step >= rows ? std::optional(m) : std::nullopt;
}

}  // namespace

std::optional<ProductGeometry> ProductGeometry::of(const Einsum& op, DataType type, const Shape& a,
                                                   const Shape& b) {
  const int ranks[] = {a.rank(), b.rank()};
  EinsumAxes axes(parse_einsum(op.equation, ranks), a, b);
  ProductGeometry geometry;
  geometry.result = axes.result;
  ProductForm& form = geometry.form;
  form.type = form.result_type = type;
  if (axes.result.volume() == 0) return geometry;
  if (axes.sums_nothing()) {  // a depth of 0
    geometry.calls.resize(1);
    return geometry;
  }
  Axis rows, columns, depth;
  std::vector<Axis> batch;
  if (!axes.split(rows, columns, depth, batch)) return std::nullopt;
  // Where the result's rows are neighbours, its transpose is computed: b^T a^T.
  if (columns.extent != 1 && columns.result != 1) {
    std::swap(rows, columns);
    geometry.swaps_operands = true;
    for (Axis* axis : {&rows, &columns, &depth}) std::swap(axis->a, axis->b);
    for (Axis& axis : batch) std::swap(axis.a, axis.b);
  }
  form.rows = rows.extent;
  form.columns = columns.extent;
  form.depth = depth.extent;
  const auto left = matrix(rows.extent, depth.extent, rows.a, depth.a);
  const auto right = matrix(depth.extent, columns.extent, depth.b, columns.b);
  const auto product = matrix(rows.extent, columns.extent, rows.result, columns.result);
  if (!left || !right || !product || product->transposed) return std::nullopt;
  form.a = *left;
  form.b = *right;
  form.result_row_step = product->row_step;
  geometry.take_batch(std::move(batch));
  return geometry;
}

}  // namespace tenon::cuda
