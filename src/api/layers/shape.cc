#include "api/layers/shape.h"

#include <numeric>

namespace tenon {
namespace {

bool is_permutation_of(const int32_t* order, int count) {
  uint32_t seen = 0;
  for (int i = 0; i < count; ++i) {
    if (order[i] < 0 || order[i] >= count) return false;
    seen |= 1u << order[i];
  }
  return seen == (1u << count) - 1;
}

// The entries of a permutation that count: `rank` of them, or, while those do not fit together, the
// longest beginning that permutes itself, because applications leave the rest zero.
std::vector<int32_t> used_part(const nvinfer1::Permutation& p, int rank) {
  if (rank < 0 || !is_permutation_of(p.order, rank))
    for (rank = nvinfer1::Dims::MAX_DIMS; rank > 0 && !is_permutation_of(p.order, rank);) --rank;
  return {p.order, p.order + rank};
}

void check(const nvinfer1::Permutation& p, int rank, const char* which) {
  require(rank < 0 || is_permutation_of(p.order, rank),
          "the {} transpose is not a permutation of {} axes", which, rank);
}

nvinfer1::Permutation padded(const std::vector<int32_t>& order) {
  nvinfer1::Permutation p;
  std::iota(std::begin(p.order), std::end(p.order), 0);
  std::copy(order.begin(), order.end(), p.order);
  return p;
}

}  // namespace

void ConstantView::setWeights(nvinfer1::Weights weights) noexcept {
  change([&] {
    require(weights.count == op().dimensions.volume(), "{} weights do not fill {}", weights.count,
            op().dimensions);
    put_weights(0, weights, "the weights");
    input(0)->constant = input(0)->constant->reshaped(op().dimensions);
  });
}

void ConstantView::setDimensions(const nvinfer1::Dims& dimensions) noexcept {
  change([&] {
    const Shape shape(dimensions);
    require(input(0) != nullptr && input(0)->constant->count() == shape.volume(),
            "the weights do not fill {}", shape);
    put_input(0, &owner_.network().add_weight(input(0)->constant->reshaped(shape)));
    op().dimensions = shape;
  });
}

ShuffleView::ShuffleView(NetworkDefinition& owner, Node& node)
    : LayerOf(owner, node),
      first_(padded(op().first_transpose)),
      second_(padded(op().second_transpose)) {}

int ShuffleView::reshaped_rank() const {
  if (Value* dims = input(1))
    return owner_.rank_of(*dims) == 1 && dims->dims[0]->is_integer_constant()
               ? static_cast<int>(dims->dims[0]->value.integer)
               : -1;
  return op().has_reshape ? op().reshape.rank() : -1;
}

void ShuffleView::fit_transposes() {
  const int rank = owner_.rank_of(*node_.inputs[0]);
  const int reshaped = reshaped_rank();
  if (has_first_) op().first_transpose = used_part(first_, rank);
  if (has_second_) op().second_transpose = used_part(second_, reshaped >= 0 ? reshaped : rank);
}

void ShuffleView::setFirstTranspose(const nvinfer1::Permutation& permutation) noexcept {
  change([&] {
    check(permutation, owner_.rank_of(*node_.inputs[0]), "first");
    first_ = permutation;
    has_first_ = true;
    fit_transposes();
  });
}

void ShuffleView::setReshapeDimensions(const nvinfer1::Dims& dimensions) noexcept {
  change([&] {
    const Shape shape(dimensions);
    int wildcards = 0;
    for (int64_t extent : shape) {
      require(extent >= -1, "the dimensions {} hold {}", shape, extent);
      wildcards += extent == -1;
    }
    require(wildcards <= 1, "the dimensions {} hold -1 more than once", shape);
    op().reshape = shape;
    op().has_reshape = true;
    put_input(1, nullptr);
    fit_transposes();
  });
}

nvinfer1::Dims ShuffleView::getReshapeDimensions() const noexcept {
  return op().has_reshape && input(1) == nullptr ? op().reshape.dims() : kNoDims;
}

void ShuffleView::setSecondTranspose(const nvinfer1::Permutation& permutation) noexcept {
  change([&] {
    check(permutation, reshaped_rank(), "second");
    second_ = permutation;
    has_second_ = true;
    fit_transposes();
  });
}

void ResizeView::setOutputDimensions(const nvinfer1::Dims& dimensions) noexcept {
  change([&] {
    const Shape size(dimensions);
    for (int64_t extent : size) require(extent >= 0, "the output size {} holds {}", size, extent);
    op().output_size = size;
    op().scales.clear();
    put_input(1, nullptr);
  });
}

nvinfer1::Dims ResizeView::getOutputDimensions() const noexcept {
  return input(1) != nullptr || op().output_size.rank() == 0 ? kNoDims : op().output_size.dims();
}

void ResizeView::setScales(const float* scales, int32_t count) noexcept {
  change([&] {
    require(scales != nullptr && count > 0 && count <= Shape::kMaxRank,
            "{} scales were given; 1 to {} are possible", count, Shape::kMaxRank);
    for (int32_t i = 0; i < count; ++i)
      require(scales[i] > 0 && scales[i] < 1e9f, "scale {} is {}", i, scales[i]);
    op().scales.assign(scales, scales + count);
    op().output_size = Shape();
    put_input(1, nullptr);
  });
}

int32_t ResizeView::getScales(int32_t size, float* scales) const noexcept {
  const auto count = static_cast<int32_t>(op().scales.size());
  if (count == 0) return -1;
  if (size == count && scales != nullptr) std::copy_n(op().scales.begin(), count, scales);
  return count;
}

}  // namespace tenon
