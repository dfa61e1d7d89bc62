"""Elements that move, are sorted or added up."""
import numpy as np
import torch

from plugin_formulas.registry import formula, of


@formula("Argsort")
def argsort(numbers):
    return of("Argsort", {"x": numbers.state.randint(0, 1 << 40, 200000)}, {}, lambda x: x.sort(stable=True)[1],
              long=("y",))


@formula("CustomUnique")
def unique(numbers):
    names = ("unique", "inverse", "counts", "num_out")

    def by_torch(x):
        found = x.unique(return_inverse=True, return_counts=True)
        return *found, torch.tensor(len(found[0]))

    return of("CustomUnique", {"x": numbers.state.randint(0, 50000, 200000)}, {}, by_torch, outputs=names, long=names)


@formula("SegmentCSR")
def segment_csr(numbers):
    starts = np.concatenate([[0], np.sort(numbers.state.randint(0, 100000, 19999)), [100000]])

    def by_torch(src, indptr):
        segment = torch.repeat_interleave(torch.arange(len(indptr) - 1), indptr.diff())
        return torch.zeros(len(indptr) - 1, src.shape[1]).index_add_(0, segment, src)

    return of("SegmentCSR", {"src": numbers.normal(100000, 64), "indptr": starts}, {"reduce": "sum"}, by_torch)


@formula("TorchCumPluginDynamic")
def cumulative_sum(numbers):
    return of("TorchCumPluginDynamic", {"x": numbers.normal(8, 256, 1024)}, {"dim": 2, "cum_type": 0}, lambda x: x.cumsum(2))


@formula("InverseTRT")
def inverse(numbers):
    return of("InverseTRT", {"x": numbers.normal(64, 16, 16) + 8 * np.eye(16, dtype=np.float32)}, {}, lambda x: torch.linalg.inv(x))


@formula("FlattenConcat_TRT")
def flatten_concat(numbers):
    inputs = {f"x{i}": numbers.normal(1, 256, size, size) for i, size in enumerate((64, 32, 16))}
    return of("FlattenConcat_TRT", inputs, {"axis": 1, "ignoreBatch": 0},
              lambda **inputs: torch.cat([x.flatten(1) for x in inputs.values()], 1)[..., None, None])


@formula("BatchTilePlugin_TRT")
def batch_tile(numbers):
    return of("BatchTilePlugin_TRT", {"images": np.zeros((8, 1), np.float32), "x": numbers.normal(1, 256, 32, 32)}, {},
              lambda images, x: x.repeat(len(images), 1, 1, 1))


@formula("SpecialSlice_TRT")
def special_slice(numbers):
    return of("SpecialSlice_TRT", {"detections": numbers.normal(8, 20000, 6)}, {}, lambda detections: detections[..., :4].contiguous())


@formula("ScatterElements", "ScatterElements/2")
def scatter_elements(numbers):
    indices = np.argsort(numbers.uniform(1024, 512), 0)[:256]
    inputs = {"data": numbers.normal(1024, 512), "indices": indices.astype(np.int64), "updates": numbers.normal(256, 512)}
    return of("ScatterElements", inputs, {"axis": 0}, lambda data, indices, updates: data.scatter(0, indices, updates), version=2)


@formula("TopkLastDim")
def topk(numbers):
    return of("TopkLastDim", {"x": numbers.normal(8, 8400)}, {"type_id": 0, "k": 300, "is_largest": 1, "axis": -1},
              lambda x: tuple(x.topk(300)), outputs=("values", "indices"))


@formula("MMCVActiveRotatedFilter")
def active_rotated_filter(numbers):
    entries = 8 * 3 * 3
    indices = np.stack([numbers.state.permutation(entries) + 1 for _ in range(8)], 1).astype(np.int32)

    def by_torch(input, indices):
        order = indices.reshape(entries, 8).long().argsort(0)  # of a permutation: its inverse
        return input.reshape(256, 32, entries)[:, :, order].permute(0, 3, 1, 2).reshape(256 * 8, 32 * 8, 3, 3).contiguous()

    return of("MMCVActiveRotatedFilter", {"input": numbers.normal(256, 32, 8, 3, 3), "indices": indices.reshape(8, 3, 3, 8)}, {},
              by_torch)
