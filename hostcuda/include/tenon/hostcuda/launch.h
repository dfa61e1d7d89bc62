/// What the rewritten source of a kernel calls: a kernel is a function that, when it is called,
/// keeps its body and arguments; a launch then takes them and puts them into a stream.
#pragma once

#include <driver_types.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <type_traits>
#include <utility>

namespace tenon::hostcuda {

/// A place in the source, for reports.
struct Site {
  const char* file;
  int line;
};
/// As a default argument: where the function is called.
constexpr Site here(const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
  return {file, line};
}

/// The bytes of dynamic shared memory that a kernel may have unless it asks for more.
inline constexpr std::size_t kUsualSharedBytes = 48 * 1024;

/// What is known of a kernel. There is one for each kernel, and for each instantiation of a
/// template.
struct Kernel {
  const char* name;  ///< as the compiler spells the function
  Site site;
  unsigned most_threads;  ///< of a block, from `__launch_bounds__`; 0 if it says nothing
  std::size_t most_dynamic_bytes = kUsualSharedBytes;  ///< set by cudaFuncSetAttribute
};

/// In a plain block, the first thread's place along x in its grid is at most this.
inline constexpr unsigned kMostPlain = 0x7fff0000u;

/// The block that the calling thread of the machine runs.
struct Block {
  uint3 index;
  dim3 size, grid;
  unsigned threads;  ///< in the block
  bool is_plain;     ///< threads may run one after another in a loop, in the order of their numbers
  unsigned next;     ///< the first thread to run, if it is not plain
  /// While the loop runs: which thread it is at, and how to tell it that this thread has waited, so
  /// that others went on without it.
  unsigned (*position)() = nullptr;
  void (*leave_loop)() = nullptr;
};

// What follows is in the runtime's library, which is never compiled with sanitizers.

/// The block of the calling thread of the machine.
__attribute__((const)) const Block& current_block();
/// The number of the CUDA thread that runs: x + size.x * (y + size.y * z).
unsigned thread_number();
/// Ends a thread that the loop did not end by itself; gives the number of the next one for this
/// stack, or false.
bool next_thread(unsigned* number);

// threadIdx and the like outside of kernels.
inline uint3 thread_index() {
  const dim3 size = current_block().size;
  const unsigned number = thread_number();
  return {number % size.x, number / size.x % size.y, number / (size.x * size.y)};
}
inline uint3 block_index() {
  return current_block().index;
}
inline dim3 block_size() {
  return current_block().size;
}
inline dim3 grid_size() {
  return current_block().grid;
}

/// Why a kernel's function is called.
enum class Call { kRecord, kAsk, kUntyped };
Call call_kind();
void answer(Kernel& kernel);
/// The function that is launched by its address, and its arguments.
void* untyped_call(void*** arguments);

/// A kernel's body with its arguments.
struct Recorded {
  Kernel* kernel;
  void* object;
  void (*run)(const void* object, Block& block);
  void (*destroy)(void* object);
};
void record(const Recorded& recorded);
/// Launches what was recorded last. Errors are those of CUDA: cudaGetLastError().
void go(Site site, dim3 grid, dim3 block, std::size_t shared_bytes = 0,
        cudaStream_t stream = nullptr);

/// This block's memory of `bytes` for a declaration, which `key` stands for.
void* shared_memory(const void* key, const char* name, std::size_t bytes, std::size_t alignment,
                    Site site);
/// The block's dynamic shared memory, as many bytes as the launch said.
void* dynamic_shared_memory();

/// `extern __shared__ T name[]` outside of functions.
template <class T> struct DynamicShared {
  operator T*() const { return static_cast<T*>(dynamic_shared_memory()); }
};
template <class T> inline constexpr char key_of_shared = 0;
template <class T> T& shared(const char* name, Site site = here()) {
  return *static_cast<T*>(shared_memory(&key_of_shared<T>, name, sizeof(T), alignof(T), site));
}

// The loop's position is kept where no pointer leads, so that compilers can keep it in a register
// and vectorise the loop. That takes a variable for each translation unit.
namespace {
thread_local unsigned loop_position;
thread_local bool loop_was_left;
[[maybe_unused]] unsigned read_loop_position() {
  return loop_position;
}
[[maybe_unused]] void leave_loop() {
  loop_was_left = true;
}
}  // namespace

template <class F> struct Body {
  /// Runs threads of the block from `block.next` on: all of them in a plain loop, or those that
  /// next_thread() gives.
#if defined(__SANITIZE_THREAD__)
  __attribute__((no_sanitize("thread")))
#endif
  static void
  run(const void* object, Block& block) {
    const F body(*static_cast<const F*>(object));
    const uint3 index = block.index;
    const dim3 size = block.size, grid = block.grid;
    if (block.is_plain) {
      block.position = &read_loop_position;
      block.leave_loop = &leave_loop;
      loop_was_left = false;
      // What compilers cannot know of plain blocks: numbers of threads in a grid do not overflow.
      if (index.x * size.x > kMostPlain || size.x > 1024) __builtin_unreachable();
      for (unsigned z = 0; z < size.z; ++z)
        for (unsigned y = 0; y < size.y; ++y)
          for (unsigned x = 0; x < size.x; ++x) {
            loop_position = x + size.x * (y + size.y * z);
            F copy(body);  // a thread may change its arguments
            copy(uint3{x, y, z}, index, size, grid);
            if (loop_was_left) [[unlikely]]
              return finish(body, block);
          }
      return;
    }
    run_one(body, block, block.next);
    finish(body, block);
  }

 private:
  static void run_one(const F& body, const Block& block, unsigned number) {
    const dim3 size = block.size;
    F copy(body);
    copy(uint3{number % size.x, number / size.x % size.y, number / (size.x * size.y)}, block.index,
         size, block.grid);
  }
  __attribute__((noinline)) static void finish(const F& body, const Block& block) {
    for (unsigned number; next_thread(&number);) run_one(body, block, number);
  }
};

template <class F> void record(Kernel& kernel, F&& body) {
  using Object = std::decay_t<F>;
  record(Recorded{&kernel, new Object(std::forward<F>(body)), &Body<Object>::run,
                  [](void* object) { delete static_cast<Object*>(object); }});
}

/// A parameter's type without `const` and `__restrict__`, which std::remove_cv does not know.
template <class T> T plain(T value);
template <class P> using Plain = decltype(plain(std::declval<P&>()));

/// Calls a kernel's function with arguments of its own types. They are not known if a parameter has
/// no name.
template <class... P> struct Parameters {
  static void call(void* function, void** arguments) {
    call(function, arguments, std::index_sequence_for<P...>());
  }

 private:
  template <std::size_t... I>
  static void call(void* function, void** arguments, std::index_sequence<I...>) {
    reinterpret_cast<void (*)(Plain<P>...)>(function)(*static_cast<Plain<P>*>(arguments[I])...);
  }
};

struct UnknownParameters {
  static void call(void*, void**) {}
};

/// Whether the kernel's body is wanted. `P` is Parameters<...>.
template <class P> bool prepare(Kernel& kernel) {
  const Call kind = call_kind();
  if (kind == Call::kRecord) return true;
  if (kind == Call::kAsk) {
    answer(kernel);
  } else {
    void** arguments = nullptr;
    if (void* function = untyped_call(&arguments)) P::call(function, arguments);
  }
  return false;
}

}  // namespace tenon::hostcuda
