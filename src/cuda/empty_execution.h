// What runs where a result has no elements.
#pragma once

#include "backend/target.h"

namespace tenon::cuda {

class EmptyExecution final : public Execution {
 public:
  void run(const RunArguments&) override {}
};

}  // namespace tenon::cuda
