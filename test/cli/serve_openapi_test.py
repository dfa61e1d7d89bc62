"""Responses over HTTP, field by field as the protocol's OpenAPI file has them: kserve/open-inference-protocol,
specification/protocol/open_inference_rest.yaml."""
import json

from server_support import ServerTest

# What each object must have, and what it may have. A list is an array of what is in it; DATA are numbers in arrays, nested or not.
DATA = "data"
TENSOR = ({"name": str, "datatype": str, "shape": [int]}, {})
SERVER = ({"name": str, "version": str, "extensions": [str]}, {})
MODEL = ({"name": str, "platform": str}, {"versions": [str], "inputs": [TENSOR], "outputs": [TENSOR]})
OUTPUT = ({"name": str, "shape": [int], "datatype": str, "data": DATA}, {"parameters": dict})
ANSWER = ({"model_name": str, "outputs": [OUTPUT]}, {"model_version": str, "id": str, "parameters": dict})
ERROR = ({"error": str}, {})


def are_numbers(data):
    return all(are_numbers(element) if isinstance(element, list) else type(element) in (int, float) for element in data)


def differences(found, expected, where="the response"):
    """What is not as it should be, a line each."""
    if expected == DATA:
        return [] if isinstance(found, list) and are_numbers(found) else [f"{where}: expected numbers, found {found!r}"]
    if isinstance(expected, list):
        if not isinstance(found, list):
            return [f"{where}: expected an array"]
        return [line for element in found for line in differences(element, expected[0], where)]
    if isinstance(expected, type):
        return [] if type(found) is expected else [f"{where}: expected {expected.__name__}, found {found!r}"]
    must, may = expected
    fields = must | may
    lines = [f"{where}: {name} is missing" for name in must if name not in found]
    for name, value in found.items():
        lines += differences(value, fields[name], f"{where}.{name}") if name in fields else [f"{where}: {name} is not of the protocol"]
    return lines


class ServeOpenapi(ServerTest):
    def setUp(self):
        super().setUp()
        self.write_model()
        self.start()

    def expect(self, path, status, schema, body=None):
        found, text = self.ask(path, body and json.dumps(body).encode())
        self.assertEqual(found, status, text)
        answer = json.loads(text)
        self.assertEqual(differences(answer, schema), [])
        return answer

    def test_each_path_answers_as_the_file_says(self):
        for path in ("/v2", "/v2/"):
            self.expect(path, 200, SERVER)
        for path in ("/v2/health/live", "/v2/health/ready", "/v2/models/linear/ready", "/v2/models/linear/versions/1/ready"):
            self.assertEqual(self.ask(path)[0], 200)
        for path in ("/v2/models/linear", "/v2/models/linear/versions/1"):
            model = self.expect(path, 200, MODEL)
            self.assertEqual([tensor["shape"] for tensor in model["inputs"] + model["outputs"]], [[-1, 3], [-1, 2]])
        self.expect("/v2/models/none", 404, ERROR)

    def test_a_request_may_have_all_fields_and_flat_or_nested_data(self):
        flat = [1, 2, 3, 4, 5, 6]
        answers = []
        for path in ("/v2/models/linear/infer", "/v2/models/linear/versions/1/infer"):
            for data in (flat, [flat[:3], flat[3:]]):
                body = {"id": "42", "parameters": {}, "outputs": [{"name": "y", "parameters": {}}],
                        "inputs": [{"name": "x", "shape": [2, 3], "datatype": "FP32", "parameters": {}, "data": data}]}
                answers.append(self.expect(path, 200, ANSWER, body))
                self.assertEqual(answers[-1]["id"], "42")
        self.assertEqual(answers, answers[:1] * 4)
        del body["id"], body["parameters"], body["outputs"], body["inputs"][0]["parameters"]
        self.assertEqual(self.expect(path, 200, ANSWER, body)["outputs"], answers[0]["outputs"])

    def test_a_request_without_what_it_must_have_is_an_error(self):
        for missing in ("name", "shape", "datatype", "data"):
            tensor = {"name": "x", "shape": [1, 3], "datatype": "FP32", "data": [1, 2, 3]}
            del tensor[missing]
            self.expect("/v2/models/linear/infer", 400, ERROR, {"inputs": [tensor]})
        self.expect("/v2/models/linear/infer", 400, ERROR, {"outputs": []})

    def test_a_field_that_changed_is_noticed(self):
        answer = {"model_name": "m", "outputs": [{"name": "y", "shape": [2], "datatype": "FP32", "data": [[1, 2.5]]}]}
        self.assertEqual(differences(answer, ANSWER), [])
        output, = answer["outputs"]
        for change in ({"model_name": 1}, {"outputs": {}}, {"versions": "1"}, {"outputs": [output | {"shape": ["2"]}]},
                       {"outputs": [output | {"data": [["a"]]}]}, {"outputs": [output | {"type": "FP32"}]}, {"outputs": [{"name": "y"}]}):
            self.assertNotEqual(differences(answer | change, ANSWER), [], change)
