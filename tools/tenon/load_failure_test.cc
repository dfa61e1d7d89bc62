#include "load_failure.h"

#include <gmock/gmock.h>

namespace tenon::tool {
namespace {

using ::testing::HasSubstr;

TEST(LoadFailure, NamesTheLibraryThatIsMissing) {
  const std::string behind = ": cannot open shared object file: No such file or directory";
  EXPECT_THAT(
      fix_of_load_failure("cannot load plugin library a.so: libopencv_core.so.406" + behind),
      HasSubstr("apt-file search libopencv_core.so.406"));
  EXPECT_THAT(fix_of_load_failure("libcublasLt.so.13" + behind),
              HasSubstr("pip install nvidia-cublas)"));
  EXPECT_THAT(fix_of_load_failure("x: libnvinfer.so.8" + behind), HasSubstr("older TensorRT"));
  EXPECT_THAT(fix_of_load_failure("x: libnvinfer.so.10" + behind), HasSubstr("LD_LIBRARY_PATH"));
  EXPECT_THAT(fix_of_load_failure("x: libcudart.so.12" + behind), HasSubstr("again for CUDA 13"));
  EXPECT_THAT(fix_of_load_failure("x: libcudart.so.13" + behind),
              HasSubstr("pip install nvidia-cuda-runtime"));
  EXPECT_THAT(fix_of_load_failure("x: libcuda.so.1" + behind), HasSubstr("tenon-nvcc"));
}

TEST(LoadFailure, SaysWhoseAnUndefinedSymbolIs) {
  EXPECT_THAT(fix_of_load_failure("/a/b.so: undefined symbol: cudaMalloc3DArray"),
              HasSubstr("is of CUDA"));
  EXPECT_THAT(fix_of_load_failure("/a/b.so: undefined symbol: cublasCreate_v2"),
              HasSubstr("-lcublas"));
  EXPECT_THAT(fix_of_load_failure("/a/b.so: undefined symbol: cuInit"), HasSubstr("-lcuda"));
  EXPECT_THAT(fix_of_load_failure("/a/b.so: undefined symbol: curl_easy_init"),
              HasSubstr("has curl_easy_init"));
  EXPECT_THAT(fix_of_load_failure("/a/b.so: undefined symbol: _ZN8nvinfer16removeEv"),
              HasSubstr("nvinfer1::remove() is no function of TensorRT"));
  EXPECT_THAT(fix_of_load_failure("/a/b.so: undefined symbol: _ZN4mine4helpEi"),
              HasSubstr("has mine::help(int)"));
}

TEST(LoadFailure, KnowsWhatElseTheLoaderSays) {
  EXPECT_THAT(
      fix_of_load_failure("/lib/libc.so.6: version `GLIBC_2.38' not found (required by a.so)"),
      HasSubstr("newer system"));
  EXPECT_THAT(fix_of_load_failure("a.so: invalid ELF header"), HasSubstr("no library"));
  EXPECT_THAT(fix_of_load_failure("a.so: cannot open: No such file or directory"),
              HasSubstr("a file that is there"));
  EXPECT_THAT(fix_of_load_failure("lib: is a directory; expected a file"),
              HasSubstr("the .so file in it"));
  EXPECT_THAT(fix_of_load_failure("a.so: cannot allocate memory in static TLS block"),
              HasSubstr("LD_PRELOAD"));
  EXPECT_THAT(fix_of_load_failure("a.so: cannot open shared object file: Permission denied"),
              HasSubstr("permissions"));
  EXPECT_THAT(fix_of_load_failure(""), HasSubstr("LD_DEBUG"));
}

}  // namespace
}  // namespace tenon::tool
