"""Models on many machines: deployments of Ray Serve whose replicas are Tenon's pipelines.

    app = tenon.ray.app("classifier.plan", num_gpus=1, max_replicas=16)     # in app.py: `tenon serve --ray app.py`
    handle = serve.run(app)
    outputs = await handle.infer.remote({"images": images}, timeout=1)

Replicas speak the Open Inference Protocol over HTTP. Requests become batches in each replica's pipeline, not in Ray. It needs
Ray Serve when an application is made: pip install 'tenon[ray]'. `Replica` is the class that is deployed, which works without.
"""
from tenon.ray.application import Router, app
from tenon.ray.protocol import RequestError
from tenon.ray.replica import Replica

__all__ = ["Replica", "RequestError", "Router", "app"]
