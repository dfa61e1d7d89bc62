"""`tenon serve --ray APP`: runs an application of Ray Serve until SIGTERM or SIGINT."""
import argparse
import signal
import sys
import threading


def parse(words):
    parser = argparse.ArgumentParser("tenon serve --ray", description=__doc__)
    parser.add_argument("app", metavar="APP", help="a file, or MODULE:NAME")
    parser.add_argument("--address", help="of a Ray cluster, as ray.init() has it; without it the one that runs here, or a new one")
    parser.add_argument("--name", default="default", help="of the application")
    parser.add_argument("--route-prefix", default="/")
    parser.add_argument("--http-address", default="0.0.0.0", help="that each node listens at")
    parser.add_argument("--http-port", type=int, default=8000)
    return parser.parse_args(words)


def main(words):
    options = parse(words)
    from tenon.ray.application import import_serve, load_app

    try:
        serve = import_serve()
        application = load_app(options.app)
    except ImportError as error:
        print(f"tenon serve: {error}", file=sys.stderr)
        return 1
    import ray

    stopped = threading.Event()
    ray.init(address=options.address, ignore_reinit_error=True, logging_level="WARNING")
    serve.start(http_options={"host": options.http_address, "port": options.http_port})
    serve.run(application, name=options.name, route_prefix=options.route_prefix)
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: stopped.set())
    print(f"tenon serve: ready, HTTP at {options.http_address}:{options.http_port}", file=sys.stderr, flush=True)
    stopped.wait()
    print("tenon serve: answering what came", file=sys.stderr, flush=True)
    serve.delete(options.name)
    ray.shutdown()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
