#include "ops/loop.h"

#include <algorithm>

#include "base/error.h"
#include "ops/support/infer.h"

namespace tenon {

TENON_REGISTER_OP(Loop);

void Loop::visit(FieldVisitor& v) {
  v("state_count", state_count);
  v("scan_axes", scan_axes);
  v("scan_reverse", scan_reverse);
  v("collect_axes", collect_axes);
  v("collect_reverse", collect_reverse);
  v("collect_lengths", collect_lengths);
  v("condition_first", condition_first);
  outputs.visit(v);
}

int Loop::layer_input(size_t body_input) const {
  const size_t first_scan = kFirstState + static_cast<size_t>(state_count);
  const bool made = body_input < kFirstState
                    || (body_input >= first_scan && body_input < first_scan + scan_axes.size());
  return made ? -1 : static_cast<int>(body_input);
}

bool Loop::reads(int input) const {
  return input < static_cast<int>(kFirstState) || outputs.reads(input)
         || std::find(collect_lengths.begin(), collect_lengths.end(), input)
                != collect_lengths.end();
}

void Loop::infer(Inference& c) const {
  require(state_count >= 0 && scan_reverse.size() == scan_axes.size()
              && collect_reverse.size() == collect_axes.size()
              && (collect_lengths.empty() || collect_lengths.size() == collect_axes.size())
              && outputs.count() == static_cast<size_t>(state_count) + collect_axes.size(),
          "a loop of {} states, {} scanned and {} collected tensors has {} outputs", state_count,
          scan_axes.size(), collect_axes.size(), outputs.count());
  const size_t first_scan = kFirstState + static_cast<size_t>(state_count);
  require(static_cast<size_t>(c.input_count()) >= first_scan + scan_axes.size(),
          "expected at least {} inputs, found {}", first_scan + scan_axes.size(), c.input_count());
  if (c.has_input(0)) {
    require_index(c, 0, "the number of iterations");
    require_count(c, 0, "the number of iterations", 1);
  }
  if (c.has_input(1)) {
    require(c.type(1) == DataType::kBOOL, "expected a condition of type bool, found {}",
            name_of(c.type(1)));
    require_count(c, 1, "the condition", 1);
  }
  for (int i = static_cast<int>(kFirstState); i < c.input_count(); ++i)
    require(c.has_input(i), "input {} is missing", i);
  for (size_t i = 0; i < scan_axes.size(); ++i)
    require(scan_axes[i] >= 0 && scan_axes[i] < c.rank(static_cast<int>(first_scan + i)),
            "scanned tensor {} has no axis {}", i, scan_axes[i]);
  for (size_t i = 0; i < collect_axes.size(); ++i) {
    const auto rank = outputs.ranks[static_cast<size_t>(state_count) + i];
    require(collect_axes[i] >= 0 && collect_axes[i] < rank, "collected tensor {} has no axis {}", i,
            collect_axes[i]);
    const int64_t length = collect_length(i);
    if (length < 0) continue;
    require(length < c.input_count(),
            "collected tensor {} takes its length from input {}, which is missing", i, length);
    require_index(c, static_cast<int>(length), "a length");
    require_count(c, static_cast<int>(length), "a length", 1);
  }
  outputs.infer(c);
}

void Loop::reference(const ReferenceCall&) const {
  fail(ErrorCode::kINTERNAL_ERROR, "a loop runs through its body");
}

}  // namespace tenon
