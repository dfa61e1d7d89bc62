// 8.x names of IPaddingLayer: sizes as (height, width).
void setPrePadding(DimsHW padding) noexcept { setPrePaddingNd(padding); }
DimsHW getPrePadding() const noexcept { return impl::toDimsHW(getPrePaddingNd()); }

void setPostPadding(DimsHW padding) noexcept { setPostPaddingNd(padding); }
DimsHW getPostPadding() const noexcept { return impl::toDimsHW(getPostPaddingNd()); }
