// A target's table: for each layer kind its kernels, best first.
#pragma once

#include <algorithm>
#include <span>
#include <vector>

#include "backend/target.h"

namespace tenon {

/// The candidates of some layer kinds.
struct CandidateList {
  std::vector<LayerType> kinds;
  std::vector<Candidate> candidates;
};

/// All lists of a target. A kind is in one of them at most.
class CandidateTable {
 public:
  /// @param others the candidates of layer kinds that are in no list.
  CandidateTable(std::vector<CandidateList> lists, std::vector<Candidate> others)
      : lists_(std::move(lists)), others_(std::move(others)) {}

  std::span<const CandidateList> lists() const { return lists_; }

  std::span<const Candidate> of(LayerType kind) const {
    for (const CandidateList& list : lists_)
      if (std::find(list.kinds.begin(), list.kinds.end(), kind) != list.kinds.end())
        return list.candidates;
    return others_;
  }

 private:
  std::vector<CandidateList> lists_;
  std::vector<Candidate> others_;
};

}  // namespace tenon
