// The library libcudart.so.13: nothing but a name. Its version must exist for the loader.
extern "C" {
extern const char tenon_cudart_stands_in;
const char tenon_cudart_stands_in = 1;
}
