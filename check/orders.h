// Kernels that tenon-nvcc compiled: the order in which their threads and blocks run, and what their
// runtime says.
#pragma once

#include <string>
#include <vector>

namespace tenon::check {

/// From now on results are compared in several orders, `seeds` of them random. Throws Failure
/// unless this process has loaded kernels that tenon-nvcc compiled; `library` is what it was told
/// to load.
void use_orders(int seeds, const std::string& library);
/// The orders to compare with the usual one; none unless use_orders() was called.
const std::vector<std::string>& orders();

/// Runs kernels in an order of orders() as long as it lives. None may be running.
class InOrder {
 public:
  explicit InOrder(const std::string& order);
  InOrder(const InOrder&) = delete;
  InOrder& operator=(const InOrder&) = delete;
  ~InOrder();
};

/// ": what the runtime of kernels logged since the last call", or "".
std::string kernel_log();

}  // namespace tenon::check
