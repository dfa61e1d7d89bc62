/// Device code registers itself while libraries load, before anybody can know which runtime the
/// process will use. So both are told; this alone starts no driver.
#include <cuda_runtime_api.h>
#include <tenon/cudart/engine.h>

#include "cudart/forward/world.h"

extern "C" {
// The host's runtime.
void** host___cudaRegisterFatBinary(void*);
void host___cudaRegisterFatBinaryEnd(void**);
void host___cudaUnregisterFatBinary(void**);
void host___cudaRegisterFunction(void**, const char*, char*, const char*, int, uint3*, uint3*,
                                 dim3*, dim3*, int*);
void host___cudaRegisterVar(void**, char*, char*, const char*, int, size_t, int, int);
void host___cudaRegisterManagedVar(void**, void**, char*, const char*, int, size_t, int, int);
void host___cudaRegisterHostVar(void**, const char*, char*, size_t);
void host___cudaRegisterUnifiedTable(void**, void*);
char host___cudaInitModule(void**);
}

namespace {

/// What a program's handle points to: the handles of the two runtimes.
struct Module {
  void** host;
  void** nvidia;
};

/// Calls one function in both runtimes.
template <class... Args>
void tell_both(void (*host)(void**, Args...), const char* name, void** handle,
               std::type_identity_t<Args>... args) {
  const auto* module = reinterpret_cast<const Module*>(handle);
  if (!module) return;
  host(module->host, args...);
  const auto& library = tenon::cudart::nvidia_library();
  if (auto* nvidia = library.find<void(void**, Args...)>(name)) nvidia(module->nvidia, args...);
}

}  // namespace

extern "C" {
void** __cudaRegisterFatBinary(void* binary) {
  auto* const nvidia =
      tenon::cudart::nvidia_library().find<void**(void*)>("__cudaRegisterFatBinary");
  auto* const module =
      new Module{host___cudaRegisterFatBinary(binary), nvidia ? nvidia(binary) : nullptr};
  return reinterpret_cast<void**>(module);
}

void __cudaRegisterFatBinaryEnd(void** handle) {
  tell_both(host___cudaRegisterFatBinaryEnd, __func__, handle);
}

void __cudaUnregisterFatBinary(void** handle) {
  tell_both(host___cudaUnregisterFatBinary, __func__, handle);
  delete reinterpret_cast<Module*>(handle);
}

void __cudaRegisterFunction(void** handle, const char* host_function, char* device_function,
                            const char* name, int thread_limit, uint3* thread, uint3* block,
                            dim3* block_size, dim3* grid_size, int* warp_size) {
  tell_both(host___cudaRegisterFunction, __func__, handle, host_function, device_function, name,
            thread_limit, thread, block, block_size, grid_size, warp_size);
}

void __cudaRegisterVar(void** handle, char* host_variable, char* address, const char* name,
                       int external, size_t size, int constant, int global) {
  tell_both(host___cudaRegisterVar, __func__, handle, host_variable, address, name, external, size,
            constant, global);
}

void __cudaRegisterManagedVar(void** handle, void** host_variable, char* address, const char* name,
                              int external, size_t size, int constant, int global) {
  tell_both(host___cudaRegisterManagedVar, __func__, handle, host_variable, address, name, external,
            size, constant, global);
}

void __cudaRegisterHostVar(void** handle, const char* name, char* host_variable, size_t size) {
  tell_both(host___cudaRegisterHostVar, __func__, handle, name, host_variable, size);
}

void __cudaRegisterUnifiedTable(void** handle, void* table) {
  tell_both(host___cudaRegisterUnifiedTable, __func__, handle, table);
}

// Called at the first use of a managed variable.
char __cudaInitModule(void** handle) {
  const auto* module = reinterpret_cast<const Module*>(handle);
  if (!module) return 0;
  if (!tenon::cudart::on_gpu()) return host___cudaInitModule(module->host);
  auto* const nvidia = tenon::cudart::nvidia_library().find<char(void**)>(__func__);
  return nvidia ? nvidia(module->nvidia) : 0;
}
}
