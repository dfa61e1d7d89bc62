// The CPU target's table.
#pragma once

#include "backend/candidate_table.h"

namespace tenon::cpu {

const CandidateTable& candidate_table();

}  // namespace tenon::cpu
