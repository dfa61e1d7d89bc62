#include "tenon/serve/classification.h"

#include <algorithm>
#include <cmath>

#include "head.h"

namespace tenon::serve {

Result<std::vector<ClassScore>> decode_classes(const View& scores, int64_t count,
                                               bool is_logit) noexcept {
  return session::guard([&] {
    constexpr std::string_view kWho = "classification";
    const int64_t classes = scores.size(0);
    const bool is_column = scores.rank() == 3 && scores.size(1) == 1 && scores.size(2) == 1;
    if ((scores.rank() != 1 && !is_column) || classes < 1 || classes > INT32_MAX)
      fail(kWho, "scores of shape (classes) or (classes, 1, 1)", scores.text());
    if (count < 1) fail(kWho, "one class or more to give", std::to_string(count));
    const Floats data(scores);
    std::vector<ClassScore> all;
    for (int64_t i = 0; i < classes; ++i)
      if (!std::isnan(data.data()[i])) all.push_back({static_cast<int32_t>(i), data.data()[i]});
    const auto end = all.begin() + std::min(count, static_cast<int64_t>(all.size()));
    std::partial_sort(all.begin(), end, all.end(), [](ClassScore a, ClassScore b) {
      return a.score > b.score || (a.score == b.score && a.class_label < b.class_label);
    });
    if (is_logit && !all.empty()) {
      const float highest = all.front().score;
      double sum = 0;
      for (ClassScore& one : all) {
        one.score = one.score == highest ? 1.0F : std::exp(one.score - highest);
        sum += one.score;
      }
      for (ClassScore& one : all) one.score = static_cast<float>(one.score / sum);
    }
    all.erase(end, all.end());
    return all;
  });
}

}  // namespace tenon::serve
