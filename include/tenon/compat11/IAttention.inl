// 11.x names of IAttention.

/// Sets which keys a query sees; false if there is a mask, or for kLOWER_RIGHT, unless query and
/// keys are known to be equally many: it is kUPPER_LEFT then.
bool setCausalKind(CausalMaskKind kind) noexcept {
  if (kind == CausalMaskKind::kLOWER_RIGHT && !impl::areEquallyMany(*getInput(0), *getInput(1))) {
    return false;
  }
  return setCausal(kind != CausalMaskKind::kNONE);
}

/// Which keys a query sees.
CausalMaskKind getCausalKind() const noexcept {
  return getCausal() ? CausalMaskKind::kUPPER_LEFT : CausalMaskKind::kNONE;
}

/// Sets how the query lies; true for kPADDED_BHND, the only one that there is.
bool setQueryForm(AttentionIOForm form) noexcept { return form == AttentionIOForm::kPADDED_BHND; }
AttentionIOForm getQueryForm() const noexcept { return AttentionIOForm::kPADDED_BHND; }

/// Sets how keys and values lie; true for kPADDED_BHND, the only one that there is.
bool setKeyValueForm(AttentionIOForm form) noexcept {
  return form == AttentionIOForm::kPADDED_BHND;
}
AttentionIOForm getKeyValueForm() const noexcept { return AttentionIOForm::kPADDED_BHND; }

/// Lengths of packed items, which are not supported: false and null.
bool setQueryLengths(ITensor&) noexcept { return false; }
ITensor* getQueryLengths() const noexcept { return nullptr; }
bool setKeyValueLengths(ITensor&) noexcept { return false; }
ITensor* getKeyValueLengths() const noexcept { return nullptr; }
