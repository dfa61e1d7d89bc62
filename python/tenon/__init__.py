"""Tenon runs neural networks: ONNX and PyTorch models, through TensorRT's API, on any machine."""
