/// Threads of the runtime's own, which live as long as the process.
#pragma once

namespace tenon::hostcuda {

/// Starts a thread that calls work(data). The application's signals are not for it. False when the
/// machine gives no thread.
bool start_service_thread(const char* name, void (*work)(void*), void* data);

}  // namespace tenon::hostcuda
