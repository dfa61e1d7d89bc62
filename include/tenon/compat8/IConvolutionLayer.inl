// 8.x names of IConvolutionLayer: sizes as (height, width).
void setKernelSize(DimsHW kernelSize) noexcept { setKernelSizeNd(kernelSize); }
DimsHW getKernelSize() const noexcept { return impl::toDimsHW(getKernelSizeNd()); }

void setStride(DimsHW stride) noexcept { setStrideNd(stride); }
DimsHW getStride() const noexcept { return impl::toDimsHW(getStrideNd()); }

void setPadding(DimsHW padding) noexcept { setPaddingNd(padding); }
DimsHW getPadding() const noexcept { return impl::toDimsHW(getPaddingNd()); }

void setDilation(DimsHW dilation) noexcept { setDilationNd(dilation); }
DimsHW getDilation() const noexcept { return impl::toDimsHW(getDilationNd()); }
