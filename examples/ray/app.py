"""Pictures in, classes out, on as many machines as a Ray cluster has: `tenon serve --ray app.py`, then

    curl --data-binary @photo.jpg localhost:8000
"""
import io
import os

import numpy as np
import tenon
import tenon.ray

SIDE = 64


def load():
    """Runs in each replica, on the GPU that Ray gives it."""
    return tenon.load(os.environ["CLASSIFIER_PLAN"])


def read(body):
    """Bytes of a request to what the engine takes, without the batch axis."""
    from PIL import Image

    picture = Image.open(io.BytesIO(body)).convert("RGB").resize((SIDE, SIDE))
    return np.asarray(picture, np.float32).transpose(2, 0, 1) / 255


def best(body, scores):
    """What the engine gives to the response."""
    return {"class": int(scores.argmax()), "score": round(float(scores.max()), 4)}


app = tenon.ray.app(load, preprocess=read, postprocess=best, max_batch=8,
                    num_gpus=0,  # 1 on machines with GPUs
                    min_replicas=1, max_replicas=4)
