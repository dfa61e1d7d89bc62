// 8.x names of IPoolingLayer: sizes as (height, width).
void setWindowSize(DimsHW windowSize) noexcept { setWindowSizeNd(windowSize); }
DimsHW getWindowSize() const noexcept { return impl::toDimsHW(getWindowSizeNd()); }

void setStride(DimsHW stride) noexcept { setStrideNd(stride); }
DimsHW getStride() const noexcept { return impl::toDimsHW(getStrideNd()); }

void setPadding(DimsHW padding) noexcept { setPaddingNd(padding); }
DimsHW getPadding() const noexcept { return impl::toDimsHW(getPaddingNd()); }
