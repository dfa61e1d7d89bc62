// What stands for oneDNN in builds without it: rows that refuse.
#include "cpu/kernels.h"

namespace tenon::cpu {
namespace {

Offer absent() {
  return "this build has no oneDNN";
}

}  // namespace

Offer offer_onednn_convolution(const KernelRequest&) {
  return absent();
}
Offer load_onednn_convolution(const KernelRequest&, const StoredKernel&) {
  return absent();
}
Offer offer_onednn_deconvolution(const KernelRequest&) {
  return absent();
}
Offer load_onednn_deconvolution(const KernelRequest&, const StoredKernel&) {
  return absent();
}
Offer offer_onednn_matrix_multiply(const KernelRequest&) {
  return absent();
}
Offer load_onednn_matrix_multiply(const KernelRequest&, const StoredKernel&) {
  return absent();
}
Offer offer_onednn_fully_connected(const KernelRequest&) {
  return absent();
}
Offer load_onednn_fully_connected(const KernelRequest&, const StoredKernel&) {
  return absent();
}
Offer offer_onednn_pooling(const KernelRequest&) {
  return absent();
}
Offer offer_onednn_reorder(const KernelRequest&) {
  return absent();
}
Offer offer_onednn_integer_convolution(const KernelRequest&) {
  return absent();
}
Offer load_onednn_integer_convolution(const KernelRequest&, const StoredKernel&) {
  return absent();
}
Offer offer_onednn_integer_matrix_multiply(const KernelRequest&) {
  return absent();
}
Offer load_onednn_integer_matrix_multiply(const KernelRequest&, const StoredKernel&) {
  return absent();
}

bool onednn_fuses(const Op&, const PointwiseProgram&) {
  return false;
}
bool onednn_multiplies_integers() {
  return false;
}
std::string onednn_instruction_set() {
  return "";
}
std::string onednn_version() {
  return "none";
}

}  // namespace tenon::cpu
