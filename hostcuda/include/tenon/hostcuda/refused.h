/// What cannot run on a CPU: an error of the compiler where it is used, by name.
#pragma once
#pragma GCC system_header

#define TENON_REFUSED(what) __attribute__((error(what " cannot be compiled for the CPU")))

template <class T, int dimensions = 1, int mode = 0> struct texture {};
template <class T> TENON_REFUSED("tex1Dfetch: a texture") T tex1Dfetch(unsigned long long, int);
template <class T> TENON_REFUSED("tex1D: a texture") T tex1D(unsigned long long, float);
template <class T> TENON_REFUSED("tex2D: a texture") T tex2D(unsigned long long, float, float);
template <class T>
TENON_REFUSED("tex2DLayered: a texture")
T tex2DLayered(unsigned long long, float, float, int);
template <class T>
TENON_REFUSED("tex3D: a texture")
T tex3D(unsigned long long, float, float, float);
template <class T>
TENON_REFUSED("surf2Dread: a surface")
T surf2Dread(unsigned long long, int, int);
template <class T>
TENON_REFUSED("surf2Dwrite: a surface")
void surf2Dwrite(T, unsigned long long, int, int);

#undef TENON_REFUSED
