// The discrete Fourier transform of one sequence, of any length.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

namespace tenon {

struct Complex {
  double re = 0, im = 0;
};

/// Tables for sequences of one length; shared by threads. Lengths of small factors are split by
/// Stockham's scheme, others become a convolution of a power of two (Bluestein, 1970).
class FourierTransform {
 public:
  explicit FourierTransform(int64_t length);

  /// Elements of work memory that transform() wants.
  int64_t work_size() const;
  /// sequence[k] becomes the sum over j of sequence[j] * exp(-2 pi i j k / length), or with the
  /// other sign for `inverse`, which does not divide by the length.
  void transform(Complex* sequence, Complex* work, bool inverse) const;

 private:
  void split(Complex* sequence, Complex* work) const;
  void convolve(Complex* sequence, Complex* work) const;

  int64_t length_;
  std::vector<int64_t> factors_;  // empty: by convolution
  std::vector<Complex> roots_;    // exp(-2 pi i k / length)
  // Of the convolution.
  std::unique_ptr<FourierTransform> longer_;
  std::vector<Complex> chirp_, filter_;
};

}  // namespace tenon
