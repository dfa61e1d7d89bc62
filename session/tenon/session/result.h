// A value, or why there is none: errors as the session hands them out.
#ifndef TENON_SESSION_RESULT_H
#define TENON_SESSION_RESULT_H

#include <optional>
#include <string>
#include <utility>

namespace tenon::session {

/// What failed and why, with TensorRT's own message where there is one.
struct Error {
  std::string text;
};

template <class T> class [[nodiscard]] Result {
 public:
  Result(T value) : value_(std::move(value)) {}
  Result(Error error) : error_(std::move(error.text)) {}

  explicit operator bool() const { return value_.has_value(); }
  /// @pre there is a value.
  T& operator*() & { return *value_; }
  const T& operator*() const& { return *value_; }
  T&& operator*() && { return *std::move(value_); }
  T* operator->() { return &*value_; }
  const T* operator->() const { return &*value_; }
  /// Empty where there is a value.
  const std::string& error() const { return error_; }

 private:
  std::optional<T> value_;
  std::string error_;
};

/// Success, or why not.
template <> class [[nodiscard]] Result<void> {
 public:
  Result() = default;
  Result(Error error) : failed_(true), error_(std::move(error.text)) {}

  explicit operator bool() const { return !failed_; }
  const std::string& error() const { return error_; }

 private:
  bool failed_ = false;
  std::string error_;
};

}  // namespace tenon::session

#endif  // TENON_SESSION_RESULT_H
