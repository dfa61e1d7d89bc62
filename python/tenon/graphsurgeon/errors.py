"""What is raised when a graph cannot be edited as asked."""


class OnnxGraphSurgeonException(Exception):
    """A graph, node or tensor is not as an operation needs it; the text says which, and how."""
