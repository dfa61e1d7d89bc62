#include "cpu/convolution/packed_product.h"

#include <limits>

namespace tenon::cpu {
namespace {

constexpr float kNoBias[2 * 16] = {};

// Part `index` of so many of data that lie in rows; what of it lies in a second row is left out.
NextRead part_of(const NextData& data, int64_t index, int64_t parts) {
  const Share share = share_of(data.rows * data.floats, index, parts);
  if (share.first == share.end) return {data.first, 0};
  const int64_t row = share.first / data.floats, at = share.first % data.floats;
  return {data.first + row * data.step + at, std::min(share.end - share.first, data.floats - at)};
}

}  // namespace

PackedProduct::PackedProduct(const DirectWeights& weights, int64_t depth, const PackedForm& form)
    : weights_(weights), depth_(depth), rows_are_together_(form.rows_are_together) {
  form_.out_step = form.vector_step;
  form_.out_pixel = form.row_step;
  form_.lower = form.lower;
  form_.upper = form.upper;
}

void PackedProduct::begin(float* result, const float* addend) {
  form_.result = result;
  form_.addend = addend;
}

Share PackedProduct::block(int64_t b) const {
  const int64_t lanes = direct_loops().lanes;
  const Share vectors = share_of(units(depth_, lanes), b, blocks_);
  return {vectors.first * lanes, std::min(vectors.end * lanes, depth_)};
}

Partition PackedProduct::divide(int64_t images, int64_t rows, int64_t vectors) {
  const Machine machine = this_machine();
  const int64_t bytes = sizeof(float), panel_bytes = direct_panel() * bytes;
  // What was dequantized stays in the L1 cache until it is multiplied. Else all rows stay in the L2
  // cache, with a panel of weights and the next one: then weights come from memory once.
  const int64_t elements =
      weights_.quantized
          ? block_depth(depth_, panel_bytes, machine.first_level, direct_loops().lanes)
          : block_depth(depth_, rows * bytes + 2 * panel_bytes, machine.near_bytes(),
                        direct_loops().lanes);
  blocks_ = units(depth_, elements);
  rows_ = rows;
  near_bytes_ = machine.near_bytes();
  Work work = direct_work(images, units(rows, max_panel_rows()), max_panel_rows(),
                          max_panel_rows() * depth_, vectors, depth_);
  work.held_bytes = max_panel_rows() * std::min(depth_, elements) * bytes;
  return Partition(work, machine);
}

int64_t PackedProduct::task_floats(const Partition& tasks) const {
  return tasks.blocks() * max_panel_rows() * block_elements() + panel_floats();
}

int64_t PackedProduct::block_elements() const {
  const int64_t lanes = direct_loops().lanes;
  return units(units(depth_, lanes), blocks_) * lanes;
}

Share PackedProduct::rows_of(const Partition::Task& task) const {
  return {std::min(task.first_block * max_panel_rows(), rows_),
          std::min(task.end_block * max_panel_rows(), rows_)};
}

void PackedProduct::multiply(const PackedTask& task, int64_t b, const float* packed, float* panel,
                             const NextData& next) const {
  const auto [rows, first_vector, end_vector, vector_after, out] = task;
  const int64_t lanes = direct_loops().lanes, row_panels = units(rows, max_panel_rows());
  const Share elements = block(b);
  const bool is_last = b + 1 == blocks_;
  DirectForm form = form_;
  form.depth = elements.end - elements.first;
  if (b > 0) form.addend = form.result;
  if (!is_last) {
    form.upper = std::numeric_limits<float>::infinity();
    form.lower = -form.upper;
  }
  // Weights that stay in the L2 cache need not be prefetched again.
  const bool stay =
      (end_vector - first_vector) * lanes * depth_ * int64_t{sizeof(float)} <= near_bytes_;
  const int64_t panels = units(end_vector - first_vector, kPanelVectors);
  const int64_t block_step = units(form.depth, lanes) * lanes;
  int64_t call = 0;
  for (int64_t v = first_vector; v < end_vector; v += kPanelVectors) {
    const int64_t output_channel = v * lanes, width = weights_.width_of(output_channel);
    // This block of the next panel, or the next block of the first one.
    const NextRead weights =
        v + kPanelVectors < end_vector
            ? of_panel(v + kPanelVectors, elements)
            : of_panel(is_last ? vector_after : first_vector, block(is_last ? 0 : b + 1));
    const float* multiplied = panel;
    if (weights_.quantized)
      weights_.quantized->dequantize(output_channel, width, elements, panel);
    else
      multiplied = weights_.panel(output_channel, depth_) + elements.first * width;
    for (int64_t s = 0; s < row_panels; ++s, ++call) {
      const Share share = share_of(rows, s, row_panels);
      direct_loops().run_packed(form, packed + share.first * block_step, share.end - share.first,
                                multiplied, width,
                                stay ? part_of(next, call, panels * row_panels)
                                     : part_of({weights.first, 1, weights.count, 0}, s, row_panels),
                                b > 0 ? kNoBias : weights_.bias_of(output_channel),
                                std::min(kPanelVectors, end_vector - v),
                                out + v * form.out_step + share.first * form.out_pixel);
    }
  }
}

// The weights of those elements for the panel that begins with that vector.
NextRead PackedProduct::of_panel(int64_t vector, const Share& elements) const {
  const int64_t output_channel = vector * direct_loops().lanes,
                width = weights_.width_of(output_channel);
  if (weights_.quantized) return weights_.quantized->read_of(output_channel, width, elements);
  return {weights_.panel(output_channel, depth_) + elements.first * width,
          (elements.end - elements.first) * width};
}

}  // namespace tenon::cpu
