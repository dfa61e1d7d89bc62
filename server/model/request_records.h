// Who is told of each request when it is answered.
#pragma once

#include "access_log.h"
#include "request_traces.h"

namespace tenon::server {

class RequestRecords {
 public:
  /// @param log null for none. Both outlive this.
  RequestRecords(AccessLog* log, RequestTraces& traces) : log_(log), traces_(traces) {}

  /// Whether anybody is. From any thread.
  bool are_wanted() const noexcept { return log_ != nullptr || traces_.are_on(); }
  /// From any thread; the request's end is now.
  void add(const AccessRecord& record) noexcept {
    if (log_ != nullptr) log_->add(record);
    traces_.add(record);
  }

 private:
  AccessLog* const log_;
  RequestTraces& traces_;
};

}  // namespace tenon::server
