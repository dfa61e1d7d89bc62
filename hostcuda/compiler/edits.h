/// Changes of a text, applied at once.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

namespace tenon::nvcc {

class Edits {
 public:
  void insert(std::size_t at, std::string text) { all_.push_back({at, at, std::move(text)}); }
  void replace(std::size_t begin, std::size_t end, std::string text) {
    all_.push_back({begin, end, std::move(text)});
  }

  /// Of changes of the same place, the first one made comes first. What lies within a replaced
  /// range goes with it.
  std::string apply(std::string_view source) {
    std::stable_sort(all_.begin(), all_.end(),
                     [](const Edit& a, const Edit& b) { return a.begin < b.begin; });
    std::string result;
    result.reserve(source.size() + source.size() / 8);
    std::size_t at = 0;
    for (const Edit& edit : all_) {
      if (edit.begin < at) continue;
      result += source.substr(at, edit.begin - at);
      result += edit.text;
      at = edit.end;
    }
    result += source.substr(at);
    return result;
  }

 private:
  struct Edit {
    std::size_t begin, end;
    std::string text;
  };
  std::vector<Edit> all_;
};

}  // namespace tenon::nvcc
