"""Builders, configurations, profiles and timing caches."""
import pytest
import tenon.tensorrt as trt
from models import plan_of, relu, shapes_of

SHAPES = ((1, 4), (2, 4), (3, 4))


@pytest.fixture
def builder():
    return trt.Builder(trt.Logger(trt.Logger.INTERNAL_ERROR))


def test_builders_tell_about_themselves(builder):
    assert isinstance(builder.logger, trt.Logger)
    assert builder.num_DLA_cores == builder.max_DLA_batch_size == 0
    builder.max_threads = 1
    assert builder.max_threads == 1
    assert builder.error_recorder is None
    with pytest.raises(AttributeError):
        builder.gpu_allocator
    with pytest.raises(AttributeError):
        builder.no_such_setting = 1


@pytest.mark.parametrize("logger", [None, 3, "text", object()])
def test_loggers_are_needed(logger):
    for make in trt.Builder, trt.Runtime:
        with pytest.raises(TypeError, match="logger"):
            make(logger)


def test_failures_are_none_and_logged(builder):
    network, config = builder.create_network(), builder.create_builder_config()
    assert builder.build_serialized_network(network, config) is None
    assert builder.build_engine_with_config(network, config) is None
    assert not builder.is_network_supported(network, config)
    for wrong in (None, config), (network, None), (network,):
        with pytest.raises(TypeError):
            builder.build_serialized_network(*wrong)


def test_engines_are_built_at_once(builder):
    network, config = builder.create_network(), builder.create_builder_config()
    parser = trt.OnnxParser(network, builder.logger)
    assert parser.parse(relu(2))
    assert builder.is_network_supported(network, config)
    assert list(builder.build_engine_with_config(network, config)) == ["x", "y"]


def test_profiles_keep_shapes(builder):
    profile = shapes_of(builder, x=SHAPES)
    assert profile.get_shape("x") == [(1, 4), (2, 4), (3, 4)]
    assert profile.get_shape("other") == []
    profile.set_shape_input("s", [1, 2], [2, 2], [2**40, 2])
    assert profile.get_shape_input("s") == [[1, 2], [2, 2], [2**40, 2]]
    assert profile.get_shape_input("other") == []
    profile.extra_memory_target = 0.5
    assert profile.extra_memory_target == 0.5


@pytest.mark.parametrize("shapes, which", [(((3, 4), (2, 4), (4, 4)), "opt"),
                                           (((1, 4), (2, 4), (1, 4)), "max"),
                                           (((1, 4), (2, 4, 1), (3, 4)), "opt")])
def test_profiles_refuse_shapes_that_disagree(builder, shapes, which):
    with pytest.raises(RuntimeError, match=f"'x'.*`{which}`"):
        shapes_of(builder, x=shapes)


def test_profiles_refuse_what_is_no_shape(builder):
    profile = builder.create_optimization_profile()
    for wrong, error, text in ((5, TypeError, "Sequence"), ("text", TypeError, "Sequence"),
                               ((1.5, 4), TypeError, "a dimension is an int, not a float"),
                               (("n", 4), TypeError, "a dimension is an int, not a str"),
                               (range(9), ValueError, "Input length 9. Max expected length is 8")):
        with pytest.raises(error, match=text):
            profile.set_shape("x", wrong, wrong, wrong)
    for wrong, text in (((1.5,), "an element of a shape input is an int, not a float"), (5, "Sequence")):
        with pytest.raises(TypeError, match=text):
            profile.set_shape_input("s", wrong, wrong, wrong)
    assert profile.get_shape("x") == [] and profile.get_shape_input("s") == []
    with pytest.raises(ValueError):
        profile.extra_memory_target = 2


def test_configurations_keep_their_settings(builder):
    config = builder.create_builder_config()
    config.set_flag(trt.BuilderFlag.FP16)
    assert config.get_flag(trt.BuilderFlag.FP16)
    assert config.flags & 1 << int(trt.BuilderFlag.FP16)
    config.clear_flag(trt.BuilderFlag.FP16)
    assert not config.get_flag(trt.BuilderFlag.FP16)
    config.set_memory_pool_limit(trt.MemoryPoolType.WORKSPACE, 1 << 20)
    assert config.get_memory_pool_limit(trt.MemoryPoolType.WORKSPACE) == 1 << 20
    for name, value in {"builder_optimization_level": 5, "max_aux_streams": 2,
                        "avg_timing_iterations": 3, "plugins_to_serialize": ["a.so", "b.so"],
                        "profiling_verbosity": trt.ProfilingVerbosity.DETAILED,
                        "engine_capability": trt.EngineCapability.STANDARD,
                        "default_device_type": trt.DeviceType.GPU,
                        "profile_stream": 0}.items():
        setattr(config, name, value)
        assert getattr(config, name) == value, name
    config.DLA_core = 1
    assert config.DLA_core == -1, "there is none, and then nothing is set"
    config.reset()
    assert config.builder_optimization_level == 3
    with pytest.raises(TypeError):
        config.set_flag("FP16")


def test_profiles_are_counted(builder):
    config = builder.create_builder_config()
    assert config.add_optimization_profile(shapes_of(builder, x=SHAPES)) == 0
    assert config.add_optimization_profile(shapes_of(builder, x=((5, 4),) * 3)) == 1
    assert config.num_optimization_profiles == 2


def test_timing_caches_go_through_bytes(builder):
    config = builder.create_builder_config()
    assert config.create_timing_cache(b"damaged") is None
    cache = config.create_timing_cache(b"")
    assert config.set_timing_cache(cache, ignore_mismatch=False)
    data = bytes(cache.serialize())
    again = config.create_timing_cache(data)
    assert bytes(again.serialize()) == data
    assert again.combine(cache, False)
    assert again.reset()
    for key in cache.queryKeys():
        assert str(trt.TimingCacheKey.parse(str(key))) == str(key)
    with pytest.raises(ValueError):
        trt.TimingCacheKey.parse("0x12")


def test_timing_caches_outlive_their_configuration(builder):
    config = builder.create_builder_config()
    config.set_timing_cache(config.create_timing_cache(b""), False)
    cache = config.get_timing_cache()
    del config
    assert len(cache.serialize()) > 0


def test_plans_do_not_depend_on_the_process():
    assert bytes(plan_of(relu(), x=SHAPES)) == bytes(plan_of(relu(), x=SHAPES))
