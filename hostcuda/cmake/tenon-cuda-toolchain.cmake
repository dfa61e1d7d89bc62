# A project with LANGUAGES CUDA configures and builds with neither GPU nor toolkit:
#   cmake -B build -DCMAKE_TOOLCHAIN_FILE=<tenon>/hostcuda/cmake/tenon-cuda-toolchain.cmake [-DTENON_SANITIZE=address]
get_filename_component(TENON_HOSTCUDA_ROOT ${CMAKE_CURRENT_LIST_DIR}/.. ABSOLUTE)
set(CMAKE_CUDA_COMPILER ${TENON_HOSTCUDA_ROOT}/bin/nvcc)
set(CUDAToolkit_ROOT ${TENON_HOSTCUDA_ROOT})
set(CUDA_TOOLKIT_ROOT_DIR ${TENON_HOSTCUDA_ROOT})
if(NOT DEFINED CMAKE_CUDA_ARCHITECTURES)
  set(CMAKE_CUDA_ARCHITECTURES 80)
endif()
set(CMAKE_BUILD_RPATH ${TENON_HOSTCUDA_ROOT}/lib64)

# Sanitizers, as -fsanitize= spells them: whatever is compiled has to be linked with them, too.
if(TENON_SANITIZE)
  list(APPEND CMAKE_TRY_COMPILE_PLATFORM_VARIABLES TENON_SANITIZE)
  foreach(language C CXX CUDA)
    set(CMAKE_${language}_FLAGS_INIT "-g -fsanitize=${TENON_SANITIZE}")
  endforeach()
  foreach(kind EXE SHARED MODULE)
    set(CMAKE_${kind}_LINKER_FLAGS_INIT "-fsanitize=${TENON_SANITIZE}")
  endforeach()
endif()
