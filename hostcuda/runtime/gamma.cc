/// What functions.h declares under the names of the host's library.
#include <cmath>

extern "C" float tenon_hostcuda_lgammaf(float x);
extern "C" double tenon_hostcuda_lgamma(double x);

extern "C" float tenon_hostcuda_lgammaf(float x) {
  int sign = 0;
  return lgammaf_r(x, &sign);
}
extern "C" double tenon_hostcuda_lgamma(double x) {
  int sign = 0;
  return lgamma_r(x, &sign);
}
