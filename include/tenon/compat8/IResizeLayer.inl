// 8.x names of IResizeLayer.

/// Maps corner to corner if true; scales coordinates from the origin otherwise.
void setAlignCorners(bool alignCorners) noexcept {
  setCoordinateTransformation(alignCorners ? ResizeCoordinateTransformation::kALIGN_CORNERS
                                           : ResizeCoordinateTransformation::kASYMMETRIC);
}

/// Whether corners are mapped to corners.
bool getAlignCorners() const noexcept {
  return getCoordinateTransformation() == ResizeCoordinateTransformation::kALIGN_CORNERS;
}
