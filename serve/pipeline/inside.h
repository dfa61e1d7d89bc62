// Where a thread is.
#pragma once

namespace tenon::serve {

/// The pipelines whose threads or answers this thread is in: there a pipeline could only wait for
/// itself.
class Inside {
 public:
  enum class What { kThread, kAnswer };
  explicit Inside(const void* pipeline, What what = What::kThread)
      : pipeline_(pipeline), what_(what), outer_(innermost_) {
    innermost_ = this;
  }
  ~Inside() { innermost_ = outer_; }
  Inside(const Inside&) = delete;
  Inside& operator=(const Inside&) = delete;

  static bool is_in(const void* pipeline) {
    for (const Inside* at = innermost_; at != nullptr; at = at->outer_)
      if (at->pipeline_ == pipeline) return true;
    return false;
  }
  static bool is_in_answer(const void* pipeline) {
    for (const Inside* at = innermost_; at != nullptr; at = at->outer_)
      if (at->pipeline_ == pipeline && at->what_ == What::kAnswer) return true;
    return false;
  }

 private:
  static inline thread_local const Inside* innermost_ = nullptr;
  const void* pipeline_;
  What what_;
  const Inside* outer_;
};

}  // namespace tenon::serve
