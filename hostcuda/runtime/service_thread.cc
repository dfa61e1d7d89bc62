#include "hostcuda/runtime/service_thread.h"

#include <csignal>
#include <thread>

namespace tenon::hostcuda {

bool start_service_thread(const char* name, void (*work)(void*), void* data) {
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  bool has_started = true;
  try {
    std::thread([=] {
      pthread_setname_np(pthread_self(), name);
      work(data);
    }).detach();
  } catch (...) {
    has_started = false;
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return has_started;
}

}  // namespace tenon::hostcuda
