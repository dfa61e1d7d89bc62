/// How functions of CUDA's libraries are defined: inline in the sources that call them, where
/// sanitizers see what they read and write. runtime/libraries.cc defines them once more, with C's
/// linkage, for those who load the libraries by their names.
#pragma once
#pragma GCC system_header

#ifndef TENON_LIBRARY_FUNCTION
#define TENON_LIBRARY_FUNCTION inline
#endif
