"""Silero VAD behind tenon-server as a model with sequences, against ONNX Runtime, which is handed the state by this test."""
import json
import os
import pathlib
import sys
import tempfile
import unittest

import numpy as np
import onnxruntime

import inputs

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "test/server"))
from serving import Server  # noqa: E402

MODEL = ROOT / ".cache/models/silero_vad_v5.onnx"
RATE, FRAME, CONTEXT = 16000, 512, 64  # of the model: samples a second, of a frame, and those before it that it sees again
CONFIG = """
max_batch_size: 0
parameters { key: "max_shapes" value { string_value: "input:1x576,state:2x1x128" } }
parameters { key: "warm_up" value { string_value: "off" } }
sequence_batching {
  max_sequence_idle_microseconds: 60000000
  oldest { max_candidate_sequences: 4 }
  state { input_name: "state" output_name: "stateN" data_type: TYPE_FP32 dims: [ 2, 1, 128 ] }
}
"""


def frames_of(sound):
    """(1, 576) for each frame of the sound."""
    padded = np.concatenate([np.zeros(CONTEXT, np.float32), sound])
    return [padded[None, at:at + CONTEXT + FRAME] for at in range(0, len(sound) - FRAME + 1, FRAME)]


def expected(session, frames):
    state, heard = np.zeros((2, 1, 128), np.float32), []
    for frame in frames:
        output, state = session.run(None, {"input": frame, "state": state, "sr": np.array(RATE, np.int64)})
        heard.append(output.item())
    return heard


class ServeSpeech(unittest.TestCase):
    def ask(self, server, frame, **place):
        body = {"parameters": place, "outputs": [{"name": "output"}], "inputs": [
            {"name": "input", "datatype": "FP32", "shape": list(frame.shape), "data": frame.ravel().tolist()},
            {"name": "sr", "datatype": "INT64", "shape": [], "data": [RATE]}]}
        status, answer = server.ask("/v2/models/vad/infer", json.dumps(body).encode())
        self.assertEqual(status, 200, answer)
        return json.loads(answer)["outputs"][0]["data"][0]

    def test_sequences_side_by_side_hear_what_onnxruntime_hears(self):
        voice = inputs.voice(2.7, RATE)
        noise = np.random.default_rng(2).normal(scale=0.01, size=voice.size).astype(np.float32)
        sounds = {"voice": frames_of(voice), "noise": frames_of(noise), "late": frames_of(voice[RATE // 2:])}
        session = onnxruntime.InferenceSession(MODEL)
        wanted = {name: expected(session, frames) for name, frames in sounds.items()}
        heard = {name: [] for name in sounds}
        with tempfile.TemporaryDirectory() as folder:
            vad = pathlib.Path(folder) / "vad"
            (vad / "1").mkdir(parents=True)
            (vad / "1/model.onnx").write_bytes(MODEL.read_bytes())
            (vad / "config.pbtxt").write_text(CONFIG)
            server = Server(os.environ["TENON"], folder)
            try:
                for step in range(max(map(len, sounds.values()))):
                    for name, frames in sounds.items():
                        if step < len(frames):
                            heard[name].append(self.ask(server, frames[step], sequence_id=name, sequence_start=step == 0,
                                                        sequence_end=step + 1 == len(frames)))
            finally:
                code = server.end()
        self.assertEqual(code, 0)
        for name in sounds:
            np.testing.assert_allclose(heard[name], wanted[name], atol=1e-4, err_msg=name)
        self.assertGreater(max(heard["voice"]), 0.5)  # so that there is something to hear
        self.assertLess(max(heard["noise"]), 0.5)


if __name__ == "__main__":
    unittest.main()
