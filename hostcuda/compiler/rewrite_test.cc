#include "hostcuda/compiler/rewrite.h"

#include <gmock/gmock.h>

#include "hostcuda/compiler/lexer.h"

namespace tenon::nvcc {
namespace {

using testing::HasSubstr;
using testing::Not;

std::string rewritten(const std::string& source) {
  return rewrite("# 1 \"x.cu\"\n" + source, false);
}
std::string error_of(const std::string& source) {
  try {
    rewritten(source);
  } catch (const Failure& failure) {
    return failure.text;
  }
  return "";
}
long lines(const std::string& text) {
  return std::count(text.begin(), text.end(), '\n');
}

TEST(RewriteTest, AKernelKeepsItsBodyAndTheTypesOfItsParameters) {
  const std::string text = rewritten(
      "template <class... A>\n__global__ void __launch_bounds__(N * 2, 1)\n"
      "k(const float* __restrict__ x, int (*rows)[4], A... rest) { x[0]; }\n");
  EXPECT_THAT(text, HasSubstr("{\"x.cu\", 2}, N * 2}"));
  EXPECT_THAT(text, HasSubstr("Parameters<decltype(x), decltype(rows), decltype(rest)...>"));
  EXPECT_THAT(text, HasSubstr("mutable -> void { x[0]; });}"));
  EXPECT_THAT(text, Not(HasSubstr("__launch_bounds__")));
  EXPECT_EQ(lines(text), 4);
}

TEST(RewriteTest, AParameterWithoutANameIsToldFromOneWith) {
  for (const char* parameters : {"int", "const T", "ns::T<int, 4>", "T*", "unsigned long", "T..."})
    EXPECT_THAT(rewritten("__global__ void k(" + std::string(parameters) + ") {}"),
                HasSubstr("prepare<::tenon::hostcuda::UnknownParameters>"))
        << parameters;
  for (const char* parameters : {"", "void"})
    EXPECT_THAT(rewritten("__global__ void k(" + std::string(parameters) + ") {}"),
                HasSubstr("Parameters<>"));
  EXPECT_THAT(rewritten("__global__ void k(ns::T<int, 4> a, const T b[2][3]) {}"),
              HasSubstr("Parameters<decltype(a), decltype(b)>"));
}

TEST(RewriteTest, ADeclarationOfAKernelIsAFunctions) {
  EXPECT_THAT(rewritten("__global__ void k(int n);"), HasSubstr(" void k(int n);"));
}

TEST(RewriteTest, ALaunchIsACallWithItsConfigurationBehind) {
  const std::string text =
      rewritten("void f() { ns::k<T, (a > b)><<<dim3(g, 1),\n  b>>>(x,\n  y); }\n");
  EXPECT_THAT(text, HasSubstr("ns::k<T, (a > b)>\n(x,\n  y), ::tenon::hostcuda::go({\"x.cu\", 1}, "
                              "dim3(g, 1), b); }"));
  EXPECT_EQ(lines(text), 4);
}

TEST(RewriteTest, OperatorsOfTwoSignsStayWhole) {
  EXPECT_THAT(rewritten("void f() { k<<<n == 1 ? 1 << 4 : n >> 2, n!=3, a>=b>>>(); }"),
              HasSubstr("n == 1 ? 1 << 4 : n >> 2, n!=3, a>=b);"));
  EXPECT_THAT(rewritten("__global__ void __launch_bounds__(N <= 2 ? 64 : 1 << 7) k() {}"),
              HasSubstr(", N <= 2 ? 64 : 1 << 7}"));
  EXPECT_THAT(rewritten("void f() { __shared__ T s[N == 2 ? 1 << 4 : 8]; }"),
              HasSubstr("{ T s[N == 2 ? 1 << 4 : 8]; };"));
}

TEST(RewriteTest, AMemberTemplateOfADependentTypeIsCalledAsOne) {
  const std::string declared =
      "template <int N, class = A<N>> struct S { template <int M> static void f(int); };\n";
  EXPECT_THAT(rewritten(declared + "template <int N> void g() { S<N, A<N>>::f<(N > 2)>(1); }"),
              HasSubstr("S<N, A<N>>::template f<(N > 2)>(1);"));
  for (const char* untouched : {"void g() { S<N>::n < 3; }", "void g() { S<N>::n<3>(1); }",
                                "template <> void S<2>::f<3>(int) {}", "void g() { S<2>::f<3; }"})
    EXPECT_THAT(rewritten(declared + untouched), HasSubstr(untouched));
}

TEST(RewriteTest, AVariableOfTheSourceMayBeCalledAsABuiltInOne) {
  const std::string own =
      "void f(const dim3& gridDim);\nvoid g() { dim3 gridDim = {2, 1, 1}; if (a) { gridDim.x; } "
      "}\nvoid h(dim3 gridDim, int blockDim) { gridDim.x + blockDim; }\n"
      "struct S { dim3 gridDim; };\n";
  EXPECT_THAT(rewritten(own + "void i() { gridDim.x + blockDim.x; }\n"),
              HasSubstr(own
                        + "void i() { ::tenon::hostcuda::grid_size().x + "
                          "::tenon::hostcuda::block_size().x; }\n"));
}

TEST(RewriteTest, TextsAndRawTextsAreLeftAlone) {
  const std::string source =
      "const char* a = \"k<<<1, 2>>>(x) __shared__\";\nauto b = R\"x(threadIdx \" "
      "__global__)x\";\n";
  EXPECT_THAT(rewritten(source), HasSubstr(source));
}

TEST(RewriteTest, SharedVariablesAreEachByThemselves) {
  const std::string text = rewritten("__device__ void f() { static __shared__ T a[4], b[2][3]; }");
  EXPECT_THAT(text, HasSubstr("struct tenon_shared_0 { T a[4]; };"));
  EXPECT_THAT(text, HasSubstr("struct tenon_shared_1 { T b[2][3]; };"));
  EXPECT_THAT(
      text,
      HasSubstr("auto& b = ::tenon::hostcuda::shared<tenon_shared_1>(\"b\", {\"x.cu\", 1}).b;"));
}

TEST(RewriteTest, DynamicSharedMemoryIsAPointer) {
  EXPECT_THAT(
      rewritten("void f() { extern __shared__ __attribute__((aligned(16))) unsigned char s[]; }"),
      HasSubstr("unsigned char* const s = static_cast<unsigned char*>("));
  EXPECT_THAT(rewritten("void f() { extern __shared__ T s[][8]; }"),
              HasSubstr("T (*const s)[8] = static_cast<T (*)[8]>("));
  EXPECT_THAT(rewritten("namespace n { extern __shared__ T s[]; }"),
              HasSubstr("static ::tenon::hostcuda::DynamicShared<T> s;"));
}

TEST(RewriteTest, BuiltInVariablesAreCallsOutsideOfKernels) {
  EXPECT_THAT(rewritten("int f() { return threadIdx.x; }"),
              HasSubstr("::tenon::hostcuda::thread_index().x"));
  EXPECT_THAT(rewritten("__global__ void k() { threadIdx.x; }"), HasSubstr("{ threadIdx.x; }"));
  EXPECT_THAT(rewritten("int f(S s) { return s.threadIdx; }"), HasSubstr("s.threadIdx"));
}

TEST(RewriteTest, VariablesOfTheDeviceAreTheFilesOwn) {
  EXPECT_THAT(rewritten("__device__ __constant__ float x[4];"), HasSubstr("static  float x[4];"));
  EXPECT_THAT(rewritten("__device__ float f(int);"), Not(HasSubstr("static")));
  EXPECT_THAT(rewritten("extern __device__ int x;"), Not(HasSubstr("static")));
  EXPECT_THAT(rewrite("__device__ int x;", true), Not(HasSubstr("static")));
}

TEST(RewriteTest, WhatCannotBeIsNamedWithItsLine) {
  EXPECT_EQ(
      error_of("__global__ void k() {\n  k<<<1, 1>>>();\n}"),
      "x.cu(2): error: a launch by a kernel (dynamic parallelism) cannot be compiled for the CPU");
  EXPECT_THAT(error_of("\n__global__ __cluster_dims__(2) void k() {}"),
              HasSubstr("x.cu(2): error: __cluster_dims__"));
  EXPECT_THAT(error_of("void f() { k<<<1, 2; }"), HasSubstr("x.cu(1): error: no >>> follows <<<"));
  EXPECT_THAT(error_of("void f() { __shared__ T a[2]; [=] {}; }"),
              HasSubstr("capture by reference"));
  EXPECT_THAT(rewritten("void f() { asm volatile(\"mov.u32 %0;\" : \"=r\"(x)); }"),
              HasSubstr("error(\"inline PTX cannot be compiled for the CPU: mov.u32 %0;\")"));
}

TEST(RewriteTest, MarkersOfMacrosDoNotMakeAFileTheSystems) {
  EXPECT_THAT(rewritten("int f() { return\n# 1 \"x.cu\" 3 4\nthreadIdx.x; }"),
              HasSubstr("thread_index()"));
  EXPECT_THAT(rewritten("# 1 \"/usr/include/y.h\" 1 3 4\nint threadIdx;\n"),
              HasSubstr("int threadIdx;"));
}

}  // namespace
}  // namespace tenon::nvcc
