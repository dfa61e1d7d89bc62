// A product of matrices as cuBLASLt computes it: descriptors, algorithms, runs.
#pragma once

#include <cublasLt.h>

#include <memory>
#include <optional>
#include <vector>

#include "base/dtype.h"
#include "base/fields.h"

namespace tenon::cuda {

enum class ProductActivation : int32_t { kNone, kRelu, kGelu };

/// result = activation(a b + bias + added), for each of a batch. All matrices lie in rows.
struct ProductForm {
  /// How a matrix is stored; steps are in elements.
  struct Matrix {
    int64_t row_step = 0, batch_step = 0;  // a batch step of 0 repeats the matrix
    bool transposed = false;               // stored with its columns as rows
  };
  DataType type = DataType::kFLOAT;  // of a, b, bias and added
  DataType result_type = DataType::kFLOAT;
  int64_t rows = 0, columns = 0, depth = 0, batch = 1;
  Matrix a, b;
  int64_t result_row_step = 0, result_batch_step = 0;  // and of `added`
  bool has_bias = false;                               // one element for each column
  bool has_added = false;                              // a matrix like the result
  ProductActivation activation = ProductActivation::kNone;
  uint32_t alignment = 16;  // bytes that all addresses are multiples of
  bool tf32 = false;        // whether factors of float32 may be rounded to 10 bits of mantissa
};

/// One of cuBLASLt's ways to compute a product.
struct ProductAlgorithm {
  cublasLtMatmulAlgo_t algorithm = {};
  size_t workspace = 0;  // bytes

  /// Plans keep it together with the version of the library that it is for.
  FieldList state() const;
  /// The one that a plan kept; none when it is for another version.
  static std::vector<ProductAlgorithm> stored(const FieldList& state);
};

/// What timings of algorithms depend on: the library's version.
std::string product_timing_id();

struct ProductArguments {
  const void *a, *b, *bias, *added;
  void *result, *workspace;
};

/// A form made ready for one thread at a time.
class Product {
 public:
  explicit Product(const ProductForm& form);
  /// The library's suggestions, best first, at most `max_count`; none when it cannot do the
  /// product.
  std::vector<ProductAlgorithm> suggestions(int max_count) const;
  /// The algorithm with the workspace it wants for this form; none when it cannot do the form.
  std::optional<ProductAlgorithm> fitted(const ProductAlgorithm& algorithm) const;
  void run(const ProductAlgorithm& algorithm, const ProductArguments& arguments,
           cudaStream_t stream) const;

 private:
  struct Deleter {
    void operator()(cublasLtMatmulDescOpaque_t* d) const;
    void operator()(cublasLtMatrixLayoutOpaque_t* l) const;
  };
  using Layout = std::unique_ptr<cublasLtMatrixLayoutOpaque_t, Deleter>;
  Layout layout(DataType type, int64_t rows, int64_t columns, int64_t step,
                int64_t batch_step) const;

  ProductForm form_;
  std::unique_ptr<cublasLtMatmulDescOpaque_t, Deleter> description_;
  Layout a_, b_, result_;
};

}  // namespace tenon::cuda
