// Element-wise programs as oneDNN's post-operations.
#pragma once

#include <oneapi/dnnl/dnnl.hpp>
#include <optional>
#include <span>
#include <vector>

#include "backend/target.h"
#include "ops/support/pointwise_program.h"

namespace tenon::cpu::onednn {

/// One post-operation on the result so far.
struct PostOp {
  dnnl::algorithm algorithm;
  float alpha = 0, beta = 0;  // of element-wise functions
  int operand = 0;            // binary: the program's input register; 0: element-wise
};

/// The program as a chain over register 0; none when it is not such a chain, or has a function that
/// oneDNN lacks.
std::optional<std::vector<PostOp>> match_post_ops(const PointwiseProgram& program);

/// Whether a NaN comes out of them as it went in, in all of oneDNN's code.
bool keep_nans(std::span<const PostOp> post_ops);

/// The attributes of a primitive with user-managed scratchpad and these post-operations.
/// `operands` are the specs of the program's inputs 1 and on, of the result's rank, in the layouts
/// that they are read in. The first, if it adds, finds its operand in the result's memory when
/// `adds_in_place`.
dnnl::primitive_attr attributes_of(std::span<const PostOp> post_ops,
                                   std::span<const TensorSpec> operands,
                                   bool adds_in_place = false);

}  // namespace tenon::cpu::onednn
