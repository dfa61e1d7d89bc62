// What this machine can at best: multiply-adds and reading memory.
#pragma once

namespace tenon::cpu {

struct Peaks {
  double operations_per_second = 0;  // of float32; a multiply-add counts as two
  double bytes_per_second = 0;       // read from memory, no cache
};

/// Measures both with the threads that the engine has, in about a third of a second. What else runs
/// on the machine meanwhile makes them smaller.
Peaks measure_peaks();

}  // namespace tenon::cpu
