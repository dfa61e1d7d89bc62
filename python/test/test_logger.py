"""Loggers."""
import tenon.tensorrt as trt


def test_severities_are_ordered():
    assert trt.Logger.VERBOSE > trt.Logger.ERROR
    assert int(trt.Logger.INTERNAL_ERROR) == 0
    assert trt.Logger(trt.Logger.INFO).min_severity == trt.ILogger.Severity.INFO


def test_loggers_are_used_in_with_statements():
    with trt.Logger(trt.Logger.INFO) as logger:
        assert logger.min_severity == trt.Logger.INFO
