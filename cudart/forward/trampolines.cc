/// The exported CUDA functions: each jumps through a table. Arguments stay where they are, so no
/// function needs its type here. `functions.inc` has FORWARD(index, name) for each; it is made from
/// the objects of the host's runtime, whose functions are then renamed to `host_name`.
#include "cudart/forward/trampolines.h"

#include <tenon/cudart/engine.h>

#include <iterator>

#include "cudart/notice.h"

#define HIDDEN __attribute__((visibility("hidden")))

using AnyFunction = void (*)();

// Each function has three pieces of code: the exported jump; where it leads before the decision;
// and where it leads on a GPU if NVIDIA's library lacks it.
#if defined(__x86_64__)
#define JUMP(index, name) "jmp *tenon_cudart_table+8*" #index "(%rip)\n"
#define DECIDE(index) "pushq $" #index "\njmp tenon_cudart_decide_and_jump\n"
#define LACK(index) "movl $" #index ", %edi\njmp tenon_cudart_lacking\n"
#elif defined(__aarch64__)
#define JUMP(index, name)                                                                        \
  "adrp x16, tenon_cudart_table+8*" #index "\nldr x16, [x16, :lo12:tenon_cudart_table+8*" #index \
  "]\nbr x16\n"
#define DECIDE(index) "mov x17, #" #index "\nb tenon_cudart_decide_and_jump\n"
#define LACK(index) "mov x0, #" #index "\nb tenon_cudart_lacking\n"
#else
#error "The CUDA target needs x86-64 or AArch64."
#endif

#define LABEL(name, code) ".type " #name ", %function\n" #name ":\n" code
#define FORWARD(index, name)                                     \
  asm(".text\n.globl " #name "\n" LABEL(name, JUMP(index, name)) \
          LABEL(tenon_cudart_undecided_##index, DECIDE(index))   \
              LABEL(tenon_cudart_lacks_##index, LACK(index)));   \
  extern "C" HIDDEN void host_##name();                          \
  extern "C" HIDDEN void tenon_cudart_undecided_##index();       \
  extern "C" HIDDEN void tenon_cudart_lacks_##index();
#include "functions.inc"
#undef FORWARD

extern "C" {
HIDDEN constinit AnyFunction tenon_cudart_table[] = {
#define FORWARD(index, name) tenon_cudart_undecided_##index,
#include "functions.inc"
#undef FORWARD
};

HIDDEN void tenon_cudart_decide() noexcept;
HIDDEN cudaError_t tenon_cudart_lacking(int index) noexcept;
}

// The first call: decides with all arguments kept, then goes where the call wanted.
#if defined(__x86_64__)
asm(R"(
.text
.type tenon_cudart_decide_and_jump, %function
tenon_cudart_decide_and_jump:
  pushq %rdi
  pushq %rsi
  pushq %rdx
  pushq %rcx
  pushq %r8
  pushq %r9
  pushq %rax
  pushq %rbx
  subq $128, %rsp
  movups %xmm0, (%rsp)
  movups %xmm1, 16(%rsp)
  movups %xmm2, 32(%rsp)
  movups %xmm3, 48(%rsp)
  movups %xmm4, 64(%rsp)
  movups %xmm5, 80(%rsp)
  movups %xmm6, 96(%rsp)
  movups %xmm7, 112(%rsp)
  call tenon_cudart_decide
  movups (%rsp), %xmm0
  movups 16(%rsp), %xmm1
  movups 32(%rsp), %xmm2
  movups 48(%rsp), %xmm3
  movups 64(%rsp), %xmm4
  movups 80(%rsp), %xmm5
  movups 96(%rsp), %xmm6
  movups 112(%rsp), %xmm7
  addq $128, %rsp
  popq %rbx
  popq %rax
  popq %r9
  popq %r8
  popq %rcx
  popq %rdx
  popq %rsi
  popq %rdi
  popq %r11
  leaq tenon_cudart_table(%rip), %r10
  jmp *(%r10,%r11,8)
)");
#else
asm(R"(
.text
.type tenon_cudart_decide_and_jump, %function
tenon_cudart_decide_and_jump:
  stp x29, x30, [sp, #-224]!
  mov x29, sp
  stp x0, x1, [sp, #16]
  stp x2, x3, [sp, #32]
  stp x4, x5, [sp, #48]
  stp x6, x7, [sp, #64]
  stp x8, x17, [sp, #80]
  stp q0, q1, [sp, #96]
  stp q2, q3, [sp, #128]
  stp q4, q5, [sp, #160]
  stp q6, q7, [sp, #192]
  bl tenon_cudart_decide
  ldp q6, q7, [sp, #192]
  ldp q4, q5, [sp, #160]
  ldp q2, q3, [sp, #128]
  ldp q0, q1, [sp, #96]
  ldp x8, x17, [sp, #80]
  ldp x6, x7, [sp, #64]
  ldp x4, x5, [sp, #48]
  ldp x2, x3, [sp, #32]
  ldp x0, x1, [sp, #16]
  ldp x29, x30, [sp], #224
  adrp x16, tenon_cudart_table
  add x16, x16, :lo12:tenon_cudart_table
  ldr x16, [x16, x17, lsl #3]
  br x16
)");
#endif

namespace tenon::cudart {
namespace {

struct Function {
  const char* name;
  AnyFunction host;
  AnyFunction lacking;
};

constexpr Function kFunctions[] = {
#define FORWARD(index, name) {#name, host_##name, tenon_cudart_lacks_##index},
#include "functions.inc"
#undef FORWARD
};

}  // namespace

void fill_table(const NvidiaLibrary* library) {
  for (size_t i = 0; i < std::size(kFunctions); ++i) {
    const Function& function = kFunctions[i];
    AnyFunction target = function.host;
    if (library) {
      target = library->find<void()>(function.name);
      if (!target) target = function.lacking;
    }
    __atomic_store_n(&tenon_cudart_table[i], target, __ATOMIC_RELEASE);
  }
}

}  // namespace tenon::cudart

void tenon_cudart_decide() noexcept {
  tenon::cudart::on_gpu();
}

cudaError_t tenon_cudart_lacking(int index) noexcept {
  tenon::cudart::say_once(tenon::cudart::kFunctions[index].name,
                          "is not in the NVIDIA runtime that this process uses");
  return cudaErrorNotSupported;
}
