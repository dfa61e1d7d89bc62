// 11.x names of IKVCacheUpdateLayer.

/// Sets how new keys or values lie; true for kPADDED_BHND, the only one that there is.
bool setUpdateForm(AttentionIOForm form) noexcept { return form == AttentionIOForm::kPADDED_BHND; }
AttentionIOForm getUpdateForm() const noexcept { return AttentionIOForm::kPADDED_BHND; }

/// Lengths of packed items, which are not supported: false and null.
bool setUpdateLengths(ITensor&) noexcept { return false; }
ITensor* getUpdateLengths() const noexcept { return nullptr; }
