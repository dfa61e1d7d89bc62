// ONNX Runtime's functions with errors as exceptions, and lists as vectors.
#pragma once

#include <string>
#include <vector>

#include "abi.h"

namespace tenon::ort {

/// What failed, with ONNX Runtime's own message where there is one.
struct Error {
  std::string text;
};

class Api {
 public:
  explicit Api(const OrtApi& api) : api_(api) {}

  const OrtApi* operator->() const { return &api_; }
  /// Throws what a status says; null is success.
  void check(OrtStatus* status) const {
    if (status == nullptr) return;
    Error error{api_.GetErrorMessage(status)};
    api_.ReleaseStatus(status);
    throw error;
  }
  OrtStatus* status(const std::string& text) const {
    return api_.CreateStatus(kFail, text.c_str());
  }
  /// What a function gives for an object: `get(&OrtApi::Node_GetDomain, node)`.
  template <class Object, class Value>
  Value get(OrtStatus* (*OrtApi::*function)(const Object*, Value*), const Object* object) const {
    Value value{};
    check((api_.*function)(object, &value));
    return value;
  }
  /// What a pair of functions gives, of which the first says how many there are.
  template <class Object, class Item>
  std::vector<const Item*> list(OrtStatus* (*OrtApi::*count)(const Object*, size_t*),
                                OrtStatus* (*OrtApi::*items)(const Object*, const Item**, size_t),
                                const Object* object) const {
    std::vector<const Item*> found(get(count, object));
    if (!found.empty()) check((api_.*items)(object, found.data(), found.size()));
    return found;
  }
  std::string name(const OrtValueInfo* value) const {
    return value == nullptr ? "" : get(&OrtApi::GetValueInfoName, value);
  }

 private:
  const OrtApi& api_;
};

/// Calls, and makes a status of what is thrown. `Call` gives nothing.
template <class Call> OrtStatus* guarded(const Api& api, const Call& call) noexcept {
  try {
    call();
    return nullptr;
  } catch (const Error& error) {
    return api.status("Tenon: " + error.text);
  } catch (const std::exception& error) {
    return api.status(std::string("Tenon: ") + error.what());
  }
}

}  // namespace tenon::ort
