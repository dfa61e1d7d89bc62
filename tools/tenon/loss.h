// How much a model's outputs lose, over many samples.
#pragma once

#include <tenon/session/array.h>

#include <map>
#include <string>

namespace tenon::tool {

/// What is measured of each output, over all samples together.
enum class LossMetric {
  kRelative,  // root of: squared differences / squares of what is expected
  kCosine,    // 1 - cosine of the angle between both
  kTop1,      // share of the last axis' rows whose largest element is another one
};

/// Adds up batch by batch; memory does not grow with their number.
class Loss {
 public:
  explicit Loss(LossMetric metric) : metric_(metric) {}

  /// Outputs of one batch. Throws Failure, naming the output, where one is missing or has another
  /// shape or a type without numbers.
  void add(const session::Arrays& found, const session::Arrays& expected);

  /// Of the output that loses most; infinite where elements are not finite and expected ones are.
  double value() const;

 private:
  struct Sums {
    double differences = 0, products = 0, found = 0, expected = 0;  // of squares
    double rows = 0, other_rows = 0;
    bool is_finite = true;

    void add(double f, double e);
    double loss(LossMetric metric) const;
  };

  LossMetric metric_;
  std::map<std::string, Sums> outputs_;
};

}  // namespace tenon::tool
