// Libraries that are loaded by their names, as NVIDIA's plugins do: their functions are known by
// what they are called in the library, and their enumerations by numbers.
#include <dlfcn.h>
#include <library_types.h>

#include "suite.h"

static void* loaded(const std::string& name) {
  void* const library = dlopen(name.c_str(), RTLD_LAZY);
  if (library) return library;
  std::printf("%s\n", dlerror());
  std::exit(2);
}
template <class F> static void find(F& function, void* library, const char* name) {
  function = reinterpret_cast<F>(dlsym(library, name));
  if (function) return;
  std::printf("%s\n", dlerror());
  std::exit(2);
}
static void require(int status, const char* what) {
  if (status == 0) return;
  std::printf("%s: %d\n", what, status);
  std::exit(2);
}

// Of CUDA, and so of its libraries.
static std::string major_version() {
  int version = 0;
  suite::require(cudaRuntimeGetVersion(&version), "cudaRuntimeGetVersion");
  return std::to_string(version / 1000);
}

// [[1, 3], [2, 4]] [[5, 7], [6, 8]] by columns.
static const std::vector<float> kLeft = {1, 2, 3, 4}, kRight = {5, 6, 7, 8},
                                kProduct = {23, 34, 31, 46};
constexpr int kUntransposed = 0;

KERNEL_CASE(loaded_cublas) {
  void* const library = loaded("libcublas.so." + major_version());
  int (*create)(void**);
  int (*destroy)(void*);
  int (*multiply)(void*, int, int, int, int, int, const float*, const float*, int, const float*,
                  int, const float*, float*, int);
  int (*multiply_types)(void*, int, int, int, int, int, const void*, const void*, int, int,
                        const void*, int, int, const void*, void*, int, int, int, int);
  find(create, library, "cublasCreate_v2");
  find(destroy, library, "cublasDestroy_v2");
  find(multiply, library, "cublasSgemm_v2");
  find(multiply_types, library, "cublasGemmEx");
  void* handle = nullptr;
  require(create(&handle), "cublasCreate");
  const suite::Buffer<float> a(kLeft), b(kRight), c(size_t{4}), d(size_t{4});
  const float one = 1, zero = 0;
  require(multiply(handle, kUntransposed, kUntransposed, 2, 2, 2, &one, a, 2, b, 2, &zero, c, 2),
          "cublasSgemm");
  suite::check("floats", c.read(), kProduct);
  // The sums' type in place of how to compute them: programs for CUDA 10 have it.
  constexpr int kUsualAlgorithm = -1;
  require(multiply_types(handle, kUntransposed, kUntransposed, 2, 2, 2, &one, a, CUDA_R_32F, 2, b,
                         CUDA_R_32F, 2, &zero, d, CUDA_R_32F, 2, CUDA_R_32F, kUsualAlgorithm),
          "cublasGemmEx");
  suite::check("types", d.read(), kProduct);
  require(destroy(handle), "cublasDestroy");
}

KERNEL_CASE(loaded_cublaslt) {
  void* const library = loaded("libcublasLt.so." + major_version());
  constexpr int kFloats = 68;  // CUBLAS_COMPUTE_32F
  int (*create)(void**);
  int (*make_operation)(void**, int, int);
  int (*make_layout)(void**, int, uint64_t, uint64_t, int64_t);
  int (*multiply)(void*, void*, const void*, const void*, void*, const void*, void*, const void*,
                  const void*, void*, void*, void*, const void*, void*, size_t, cudaStream_t);
  find(create, library, "cublasLtCreate");
  find(make_operation, library, "cublasLtMatmulDescCreate");
  find(make_layout, library, "cublasLtMatrixLayoutCreate");
  find(multiply, library, "cublasLtMatmul");
  void *handle = nullptr, *operation = nullptr, *layout = nullptr;
  require(create(&handle), "cublasLtCreate");
  require(make_operation(&operation, kFloats, CUDA_R_32F), "cublasLtMatmulDescCreate");
  require(make_layout(&layout, CUDA_R_32F, 2, 2, 2), "cublasLtMatrixLayoutCreate");
  const suite::Buffer<float> a(kLeft), b(kRight), c(size_t{4});
  const float one = 1, zero = 0;
  require(multiply(handle, operation, &one, a, layout, b, layout, &zero, c, layout, c, layout,
                   nullptr, nullptr, 0, nullptr),
          "cublasLtMatmul");
  suite::check("floats", c.read(), kProduct);
  int (*destroy[3])(void*);
  find(destroy[0], library, "cublasLtMatrixLayoutDestroy");
  find(destroy[1], library, "cublasLtMatmulDescDestroy");
  find(destroy[2], library, "cublasLtDestroy");
  require(destroy[0](layout) + destroy[1](operation) + destroy[2](handle), "destroy");
}

#ifdef __TENON_HOSTCUDA__
// A GPU's machine need not have it.
KERNEL_CASE(loaded_cudnn) {
  for (const char* name : {"libcudnn.so.8", "libcudnn.so.9"}) {
    void* const library = loaded(name);
    int (*create)(void**);
    int (*make_tensor)(void**);
    int (*describe)(void*, int, int, int, const int*);
    int (*destroy_tensor)(void*);
    int (*destroy)(void*);
    find(create, library, "cudnnCreate");
    find(make_tensor, library, "cudnnCreateTensorDescriptor");
    find(describe, library, "cudnnSetTensorNdDescriptorEx");
    find(destroy_tensor, library, "cudnnDestroyTensorDescriptor");
    find(destroy, library, "cudnnDestroy");
    void *handle = nullptr, *tensor = nullptr;
    require(create(&handle), "cudnnCreate");
    require(make_tensor(&tensor), "cudnnCreateTensorDescriptor");
    const int extents[] = {2, 3, 4, 5};
    constexpr int kPlanes = 0, kFloat = 0;
    suite::check("status", std::vector<int>{describe(tensor, kPlanes, kFloat, 4, extents)},
                 std::vector<int>{0});
    require(destroy_tensor(tensor) + destroy(handle), "destroy");
  }
}
#endif
