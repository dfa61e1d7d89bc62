# The CUDA compiler and the headers of its libraries; `./dev cuda` installs them into .cache/cuda.
# cuDNN, cuBLAS and NVRTC are opened when they are needed, so that nothing is linked with them.
set(CMAKE_CUDA_ARCHITECTURES 90 CACHE STRING "Compute capabilities to make machine code for")
enable_language(CUDA)
set(CMAKE_CUDA20_STANDARD_COMPILE_OPTION -std=c++20)  # CMake 3.25 does not know it
set(CMAKE_CUDA_RUNTIME_LIBRARY None)                  # CUDA's runtime is that of the process
if(CMAKE_CUDA_COMPILER_VERSION VERSION_LESS 13)
  message(FATAL_ERROR "CUDA 13 is wanted, found ${CMAKE_CUDA_COMPILER_VERSION} "
                      "(${CMAKE_CUDA_COMPILER}): run ./dev cuda, or set CMAKE_CUDA_COMPILER")
endif()
if(TENON_CCACHE)
  set(CMAKE_CUDA_COMPILER_LAUNCHER ${CMAKE_CXX_COMPILER_LAUNCHER})
endif()
# 177: what only the CPU's compilation uses. The host compiler sees rewritten sources: its warnings
# belong to that compilation, too.
set(TENON_CUDA_OPTIONS --expt-relaxed-constexpr --extended-lambda --diag-suppress=177 -Werror=all-warnings)

set(TENON_CUDA_PACKAGES ${PROJECT_SOURCE_DIR}/.cache/cuda CACHE PATH "Folder that holds the wheels of CUDA's libraries")
set(TENON_CUDA_INCLUDES ${CMAKE_CUDA_TOOLKIT_INCLUDE_DIRECTORIES})
foreach(header cublasLt.h cudnn.h cudnn_frontend.h nvrtc.h)
  find_path(TENON_CUDA_${header} ${header}
    HINTS ${TENON_CUDA_PACKAGES}/nvidia/cu13/include ${TENON_CUDA_PACKAGES}/nvidia/cudnn/include
          ${TENON_CUDA_PACKAGES}/include ${CMAKE_CUDA_TOOLKIT_INCLUDE_DIRECTORIES})
  if(NOT TENON_CUDA_${header})
    message(FATAL_ERROR "${header} is not in ${TENON_CUDA_PACKAGES}: run ./dev cuda, or set TENON_CUDA_PACKAGES")
  endif()
  list(APPEND TENON_CUDA_INCLUDES ${TENON_CUDA_${header}})
endforeach()
list(REMOVE_DUPLICATES TENON_CUDA_INCLUDES)
