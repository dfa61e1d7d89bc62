// Kernels that do their work in one of several ways, which are timed against each other.
#pragma once

#include "backend/target.h"
#include "base/error.h"

namespace tenon::cuda {

/// `Own` derives from it and has `size_t variant_count() const` and `void describe_variant()`,
/// which sets name and state after another one was chosen. Its constructor chooses the first.
template <class Own> class VariantKernel : public Kernel {
 public:
  std::vector<std::unique_ptr<Kernel>> variants() const override {
    const Own& own = static_cast<const Own&>(*this);
    std::vector<std::unique_ptr<Kernel>> others;
    for (size_t i = 0; i < own.variant_count(); ++i) {
      if (i == chosen_) continue;
      auto other = std::make_unique<Own>(own);
      other->choose(i);
      others.push_back(std::move(other));
    }
    return others;
  }

  void choose(size_t variant_number) {
    chosen_ = variant_number;
    static_cast<Own&>(*this).describe_variant();
  }

  /// What describe_as stored. Throws when it cannot have.
  void choose_stored(const FieldList& stored) {
    const auto* number = stored.size() == 1 ? std::get_if<int64_t>(&stored[0].second) : nullptr;
    require(number != nullptr && *number >= 0
                && static_cast<size_t>(*number) < static_cast<Own&>(*this).variant_count(),
            "a stored kernel is damaged");
    choose(static_cast<size_t>(*number));
  }

 protected:
  size_t chosen() const { return chosen_; }
  /// For those that a plan stores by number.
  void describe_as(std::string text) {
    variant = std::move(text);
    state = {{"variant", static_cast<int64_t>(chosen_)}};
  }

 private:
  size_t chosen_ = 0;
};

}  // namespace tenon::cuda
