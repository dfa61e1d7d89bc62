/// Runs blocks on one thread of the machine.
#include "hostcuda/runtime/worker.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <numeric>

#include "hostcuda/runtime/environment.h"
#include "hostcuda/runtime/sanitizers.h"
#include "tenon/hostcuda/report.h"

namespace tenon::hostcuda {
namespace {

// What a crash or a sanitizer's report cannot know.
void say_where() {
  const Worker& worker = Worker::mine();
  if (worker.is_running())
    std::fprintf(stderr, "tenon: in %s%s\n", worker.where().c_str(),
                 Worker::mine().shared_memory().describe().c_str());
}

bool is_same(Site a, Site b) {
  return a.line == b.line && (a.file == b.file || std::strcmp(a.file, b.file) == 0);
}

}  // namespace

Worker& Worker::mine() {
  thread_local Worker worker;
  return worker;
}

void Worker::run(Launch& launch) {
  const Unseen unseen;
  if (has_sanitizer() && &__sanitizer_set_death_callback != nullptr)
    __sanitizer_set_death_callback(&say_where);
  if (has_thread_sanitizer()) main_.thread_sanitizer = __tsan_get_current_fiber();
  launch_ = &launch;
  failed_ = false;
  block_ = {};
  block_.size = launch.block;
  block_.grid = launch.grid;
  block_.threads = launch.threads();
  has_ended_.assign(block_.threads, 0);
  warps_.clear();
  warps_.resize((block_.threads + 31) / 32);
  shared_.begin_launch(launch.dynamic_bytes);
  progress_.begin(launch, block_);
  release(&begin_);
  for (blocks_are_left_ = begin_block(); blocks_are_left_ && !failed_;) {
    while (done_ < block_.threads && !failed_) {
      current_ = pick();
      if (!current_) {
        hang();
        break;
      }
      switch_fiber(main_, *current_);
    }
    if (failed_ || !blocks_are_left_) break;
    blocks_are_left_ = begin_block();
  }
  progress_.end();
  if (failed_) abandon();
  acquire(&end_);
  current_ = nullptr;
  block_.position = nullptr;
  launch_ = nullptr;
}

bool Worker::begin_block() {
  progress_.step();
  if (!launch_->take_block(block_.index)) return false;
  const Environment& e = environment();
  block_.is_plain = e.order == Order::kForward && !has_thread_sanitizer()
                    && block_.index.x * std::uint64_t{block_.size.x} <= kMostPlain;
  block_.position = nullptr;
  next_ = done_ = 0;
  votes_ = {};
  shared_.begin_block();
  order_.resize(e.order == Order::kForward ? 0 : block_.threads);
  std::iota(order_.begin(), order_.end(), 0u);
  if (e.order == Order::kReverse) std::reverse(order_.begin(), order_.end());
  if (e.order == Order::kRandom) {
    random_.seed(e.seed + block_.index.x + 7919 * block_.index.y + 104729 * block_.index.z);
    std::shuffle(order_.begin(), order_.end(), random_);
  }
  if (!block_.is_plain) std::fill(has_ended_.begin(), has_ended_.end(), 0);
  // No thread is where it was in the block before, so that ThreadSanitizer takes them for others.
  if (has_thread_sanitizer() && !free_.empty())
    std::rotate(free_.begin(), free_.begin() + 1, free_.end());
  first_free_ = 0;
  return true;
}

unsigned Worker::take() {
  const unsigned number = next_++;
  return order_.empty() ? number : order_[number];
}

void Worker::run_fiber() {
  Worker& worker = mine();
  fiber_has_started();
  for (;;) {
    worker.run_threads();
    Fiber* const self = worker.current_;
    if (!has_thread_sanitizer()) worker.free_.push_back(self);
    Fiber* const next = worker.failed_ ? nullptr : worker.ready_ ? worker.pick() : nullptr;
    worker.current_ = next;
    switch_fiber(*self, next ? *next : worker.main_);
  }
}

// Takes threads until the block has none left; and the next block, as long as nobody waits.
void Worker::run_threads() {
  acquire(&begin_);
  for (;;) {
    if (!block_.is_plain) {
      current_->number = block_.next = take();
    }
    if (has_memory_sanitizer()) __msan_unpoison_param(2);
    launch_->body.run(launch_->body.object, block_);
    if (!block_.is_plain) break;
    done_ = block_.threads;
    block_.position = nullptr;
    blocks_are_left_ = begin_block();
    if (!blocks_are_left_ || !block_.is_plain) break;
  }
  release(&end_);
}

bool Worker::next_thread(unsigned* number) {
  const Unseen unseen;
  thread_ended(current_->number);
  if (has_thread_sanitizer() || next_ == block_.threads) return false;
  *number = current_->number = take();
  return true;
}

void Worker::thread_ended(unsigned number) {
  progress_.step();
  has_ended_[number] = 1;
  ++done_;
  if (!at_barrier_.empty() && at_barrier_.size() + done_ == block_.threads) open_barrier();
  const unsigned warp = number / 32;
  for (WarpOperation& operation : warps_[warp])
    if (!operation.waiting.empty()) complete(operation, warp);
}

void Worker::leave_loop() {
  if (!block_.position) return;
  const unsigned number = block_.position();
  block_.leave_loop();
  block_.position = nullptr;
  block_.is_plain = false;
  std::fill(has_ended_.begin(), has_ended_.end(), 0);
  std::fill_n(has_ended_.begin(), number, 1);
  done_ = number;
  next_ = number + 1;
  current_->number = number;
}

Votes Worker::barrier(bool vote, Site site) {
  leave_loop();
  require_same_place(at_barrier_, site);
  votes_.add(vote);
  char& order = order_of_barriers_[barriers_ % 2];
  release(&order);
  current_->site = site;
  if (at_barrier_.size() + 1 + done_ == block_.threads) {
    open_barrier();
  } else {
    at_barrier_.push_back(current_);
    wait(site);
  }
  acquire(&order);
  return result_;
}

void Worker::open_barrier() {
  ++barriers_;
  result_ = votes_;
  votes_ = {};
  wake(at_barrier_);
}

Exchanged Worker::exchange(unsigned mask, std::uint64_t value, Site site) {
  leave_loop();
  const unsigned number = current_->number, lane = number % 32, warp = number / 32;
  if (!(mask >> lane & 1)) {
    report("%s:%d: lane %u is not in the mask 0x%08x that it gives, in %s", site.file, site.line,
           lane, mask, where().c_str());
    fail(cudaErrorLaunchFailure);
  }
  WarpOperation& o = operation(warp, mask);
  require_same_place(o.waiting, site);
  const unsigned turn = o.generation % 2;
  o.values[turn][lane] = value;
  o.arrived |= 1u << lane;
  release(&o.values[turn]);
  current_->site = site;
  o.waiting.push_back(current_);
  if (!complete(o, warp)) wait(site);
  acquire(&o.values[turn]);
  if (has_memory_sanitizer()) __msan_unpoison(o.values[turn], sizeof(o.values[turn]));
  return {o.values[turn], o.lanes[turn]};
}

Worker::WarpOperation& Worker::operation(unsigned warp, unsigned mask) {
  for (WarpOperation& operation : warps_[warp])
    if (operation.mask == mask) return operation;
  warps_[warp].emplace_back().mask = mask;
  return warps_[warp].back();
}

// Whether all lanes that still can have come. They go on then.
bool Worker::complete(WarpOperation& o, unsigned warp) {
  const unsigned wanted = o.mask & lanes_alive(warp);
  if ((o.arrived & wanted) != wanted) return false;
  o.lanes[o.generation % 2] = o.arrived;
  ++o.generation;
  o.arrived = 0;
  wake(o.waiting);
  return true;
}

unsigned Worker::lanes_alive() const {
  if (block_.position) return lanes_alive(thread_number() / 32) & (~0u << thread_number() % 32);
  return lanes_alive(current_->number / 32);
}

unsigned Worker::lanes_alive(unsigned warp) const {
  unsigned alive = 0;
  for (unsigned lane = 0; lane < 32 && warp * 32 + lane < block_.threads; ++lane)
    if (block_.position || !has_ended_[warp * 32 + lane]) alive |= 1u << lane;
  return alive;
}

void Worker::require_same_place(const std::vector<Fiber*>& waiting, Site site) {
  if (waiting.empty() || is_same(waiting[0]->site, site)) return;
  const Site other = waiting[0]->site;
  report(
      "%s:%d: threads that have to wait together wait at different places: %zu of them at "
      "%s:%d, in %s",
      site.file, site.line, waiting.size(), other.file, other.line, where().c_str());
  fail(cudaErrorLaunchFailure);
}

// Others run until somebody wakes the fiber.
void Worker::wait(Site site) {
  Fiber* const self = current_;
  progress_.step();
  self->site = site;
  self->is_waiting = true;
  Fiber* const next = pick();
  current_ = next;
  switch_fiber(*self, next ? *next : main_);
  current_ = self;
}

void Worker::wake(std::vector<Fiber*>& waiting) {
  for (Fiber* fiber : waiting) {
    if (fiber == current_ && !fiber->is_waiting) continue;  // it has not stopped
    fiber->is_waiting = false;
    fiber->next_ready = nullptr;
    *last_ready_ = fiber;
    last_ready_ = &fiber->next_ready;
  }
  waiting.clear();
}

// Who runs next; null when nobody can.
Fiber* Worker::pick() {
  if (ready_) {
    Fiber* const fiber = ready_;
    ready_ = fiber->next_ready;
    if (!ready_) last_ready_ = &ready_;
    return fiber;
  }
  return next_ < block_.threads && !failed_ ? fresh() : nullptr;
}

Fiber* Worker::fresh() {
  Fiber* fiber = nullptr;
  if (has_thread_sanitizer() ? first_free_ < free_.size() : !free_.empty()) {
    if (has_thread_sanitizer()) return free_[first_free_++];
    fiber = free_.back();
    free_.pop_back();
    return fiber;
  }
  fibers_.push_back(std::make_unique<Fiber>());
  fiber = fibers_.back().get();
  fiber->allocate(static_cast<unsigned>(fibers_.size()));
  fiber->start(&run_fiber);
  if (has_thread_sanitizer()) {
    free_.push_back(fiber);
    ++first_free_;
  }
  return fiber;
}

std::string Worker::where() const {
  const unsigned number = thread_number();
  char text[1024];
  std::snprintf(text, sizeof(text),
                "kernel %s, block (%u, %u, %u), thread (%u, %u, %u), launched at %s:%d",
                launch_->body.kernel->name, block_.index.x, block_.index.y, block_.index.z,
                number % block_.size.x, number / block_.size.x % block_.size.y,
                number / (block_.size.x * block_.size.y), launch_->site.file, launch_->site.line);
  return text;
}

// Every thread of the block has ended or waits.
void Worker::hang() {
  current_ = nullptr;
  report("kernel %s, block (%u, %u, %u), launched at %s:%d, hangs: %u of %u threads have ended",
         launch_->body.kernel->name, block_.index.x, block_.index.y, block_.index.z,
         launch_->site.file, launch_->site.line, done_, block_.threads);
  if (!at_barrier_.empty())
    report("  %zu wait for the block at %s:%d, thread %u first", at_barrier_.size(),
           at_barrier_[0]->site.file, at_barrier_[0]->site.line, at_barrier_[0]->number);
  for (std::size_t warp = 0; warp < warps_.size(); ++warp)
    for (const WarpOperation& o : warps_[warp])
      if (!o.waiting.empty())
        report("  %zu of warp %zu wait for the lanes 0x%08x at %s:%d; 0x%08x have come",
               o.waiting.size(), warp, o.mask, o.waiting[0]->site.file, o.waiting[0]->site.line,
               o.arrived);
  launch_->fail(cudaErrorLaunchTimeout);
  failed_ = true;
}

void Worker::fail(cudaError_t error) {
  launch_->fail(error);
  failed_ = true;
  Fiber* const self = current_;
  current_ = nullptr;
  switch_fiber(*self, main_);
  __builtin_unreachable();
}

// Threads of a launch that failed never come back: their stacks are as good as new.
void Worker::abandon() {
  free_.clear();
  for (const auto& fiber : fibers_) {
    fiber->start(&run_fiber);
    fiber->is_waiting = false;
    free_.push_back(fiber.get());
  }
  ready_ = nullptr;
  last_ready_ = &ready_;
  at_barrier_.clear();
  warps_.clear();
}

}  // namespace tenon::hostcuda
