/// Stacks, and the switch between them.
#include "hostcuda/runtime/fiber.h"

#include <sys/mman.h>

#include <cstdint>
#include <new>

#include "hostcuda/runtime/sanitizers.h"

// tenon_hostcuda_switch(save, to): keeps what a call must keep on the stack, its pointer in *save,
// and goes on where `to` was kept.
#if defined(__x86_64__)
asm(R"(
.text
.globl tenon_hostcuda_switch
.hidden tenon_hostcuda_switch
.type tenon_hostcuda_switch, @function
tenon_hostcuda_switch:
  pushq %rbp
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  subq $8, %rsp
  stmxcsr (%rsp)
  fnstcw 4(%rsp)
  movq %rsp, (%rdi)
  movq %rsi, %rsp
  ldmxcsr (%rsp)
  fldcw 4(%rsp)
  addq $8, %rsp
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  ret
.size tenon_hostcuda_switch, .-tenon_hostcuda_switch
)");
#elif defined(__aarch64__)
asm(R"(
.text
.globl tenon_hostcuda_switch
.hidden tenon_hostcuda_switch
.type tenon_hostcuda_switch, %function
tenon_hostcuda_switch:
  sub sp, sp, #176
  stp x19, x20, [sp, #0]
  stp x21, x22, [sp, #16]
  stp x23, x24, [sp, #32]
  stp x25, x26, [sp, #48]
  stp x27, x28, [sp, #64]
  stp x29, x30, [sp, #80]
  stp d8, d9, [sp, #96]
  stp d10, d11, [sp, #112]
  stp d12, d13, [sp, #128]
  stp d14, d15, [sp, #144]
  mrs x9, fpcr
  str x9, [sp, #160]
  mov x9, sp
  str x9, [x0]
  mov sp, x1
  ldr x9, [sp, #160]
  msr fpcr, x9
  ldp x19, x20, [sp, #0]
  ldp x21, x22, [sp, #16]
  ldp x23, x24, [sp, #32]
  ldp x25, x26, [sp, #48]
  ldp x27, x28, [sp, #64]
  ldp x29, x30, [sp, #80]
  ldp d8, d9, [sp, #96]
  ldp d10, d11, [sp, #112]
  ldp d12, d13, [sp, #128]
  ldp d14, d15, [sp, #144]
  add sp, sp, #176
  ret
.size tenon_hostcuda_switch, .-tenon_hostcuda_switch
)");
#else
#error "the switch between stacks is written for x86-64 and AArch64"
#endif

extern "C" void tenon_hostcuda_switch(void** save, void* to);

namespace tenon::hostcuda {
namespace {

constexpr std::size_t kGuardBytes = 4096;

// The fiber that the calling thread of the machine came from.
thread_local Fiber* previous = nullptr;

}  // namespace

Fiber::~Fiber() {
  if (memory_) munmap(memory_, kStackBytes);
}

void Fiber::allocate(unsigned index) {
  memory_ = mmap(nullptr, kStackBytes, PROT_READ | PROT_WRITE,
                 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory_ == MAP_FAILED) {
    memory_ = nullptr;
    throw std::bad_alloc();
  }
  mprotect(memory_, kGuardBytes, PROT_NONE);
  bottom = static_cast<char*>(memory_) + kGuardBytes;
  top_ = kStackBytes - index * 7 % 61 * 64;
  size = top_ - kGuardBytes;
  if (has_thread_sanitizer()) thread_sanitizer = __tsan_create_fiber(0);
}

void Fiber::start(void (*entry)()) {
  if (has_address_sanitizer()) __asan_unpoison_memory_region(bottom, size);
  auto* const top = reinterpret_cast<std::uint64_t*>(static_cast<char*>(memory_) + top_);
#if defined(__x86_64__)
  // From below: control words, six registers, where to go, and the return address of `entry`: none.
  std::uint64_t* const frame = top - 9;
  for (int i = 0; i < 9; ++i) frame[i] = 0;
  std::uint32_t control = 0;
  asm volatile("stmxcsr %0" : "=m"(control));
  std::uint16_t word = 0;
  asm volatile("fnstcw %0" : "=m"(word));
  frame[0] = control | std::uint64_t{word} << 32;
  frame[7] = reinterpret_cast<std::uint64_t>(entry);
#else
  std::uint64_t* const frame = top - 22;
  for (int i = 0; i < 22; ++i) frame[i] = 0;
  frame[11] = reinterpret_cast<std::uint64_t>(entry);
  asm volatile("mrs %0, fpcr" : "=r"(frame[20]));
#endif
  stack_pointer = frame;
  address_sanitizer = nullptr;
}

void switch_fiber(Fiber& from, Fiber& to) {
  if (&__sanitizer_start_switch_fiber != nullptr && has_address_sanitizer())
    __sanitizer_start_switch_fiber(&from.address_sanitizer, to.bottom, to.size);
  constexpr unsigned kWithoutOrder = 1;  // nothing has happened before because of the switch
  if (has_thread_sanitizer()) __tsan_switch_to_fiber(to.thread_sanitizer, kWithoutOrder);
  previous = &from;
  tenon_hostcuda_switch(&from.stack_pointer, to.stack_pointer);
  if (has_address_sanitizer())
    __sanitizer_finish_switch_fiber(from.address_sanitizer, nullptr, nullptr);
}

void fiber_has_started() {
  if (!has_address_sanitizer()) return;
  const void* bottom = nullptr;
  std::size_t size = 0;
  __sanitizer_finish_switch_fiber(nullptr, &bottom, &size);
  // The stack of the machine's thread is known from here.
  if (previous->bottom == nullptr) {
    previous->bottom = bottom;
    previous->size = size;
  }
}

}  // namespace tenon::hostcuda
