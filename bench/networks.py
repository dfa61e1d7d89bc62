"""Networks of published architecture that torchvision lacks, written for make_models.py: U-Net, YOLO, BERT, a deformable head."""

import torch
from torch import nn
from torch.nn import functional
from torchvision.ops import DeformConv2d


def conv_norm(inputs, outputs, size, stride, activation):
    """A convolution without a bias, padded to keep the extents at a stride of 1, then batch norm and activation."""
    convolution = nn.Conv2d(inputs, outputs, size, stride, size // 2 if size % 2 else size // 2 - 1, bias=False)
    return nn.Sequential(convolution, nn.BatchNorm2d(outputs, eps=1e-3), activation)


class UNet(nn.Module):
    """U-Net (Ronneberger et al., 2015) with padded convolutions: pictures (N, 3, H, W) to maps (N, classes, H, W)."""

    def __init__(self, width=32, levels=5, classes=2):
        super().__init__()
        widths = [width << level for level in range(levels)]
        self.down = nn.ModuleList(self.pair(a, b) for a, b in zip([3, *widths], widths))
        self.up = nn.ModuleList(nn.ConvTranspose2d(2 * w, w, 2, 2) for w in reversed(widths[:-1]))
        self.join = nn.ModuleList(self.pair(2 * w, w) for w in reversed(widths[:-1]))
        self.classify = nn.Conv2d(width, classes, 1)

    @staticmethod
    def pair(inputs, outputs):
        return nn.Sequential(conv_norm(inputs, outputs, 3, 1, nn.ReLU()), conv_norm(outputs, outputs, 3, 1, nn.ReLU()))

    def forward(self, x):
        kept = []
        for level, block in enumerate(self.down):
            x = block(x if level == 0 else functional.max_pool2d(x, 2))
            kept.append(x)
        kept.pop()
        for up, join in zip(self.up, self.join):
            x = join(torch.cat([kept.pop(), up(x)], 1))
        return self.classify(x)


def silu_conv(inputs, outputs, size=1, stride=1):
    return conv_norm(inputs, outputs, size, stride, nn.SiLU())


class Bottleneck(nn.Module):
    def __init__(self, width, first, adds):
        super().__init__()
        self.convs = nn.Sequential(silu_conv(width, width, first), silu_conv(width, width, 3))
        self.adds = adds

    def forward(self, x):
        return x + self.convs(x) if self.adds else self.convs(x)


class C3(nn.Module):
    """YOLOv5's block: bottlenecks on one half of the channels, joined with the other."""

    def __init__(self, inputs, outputs, count, adds=True):
        super().__init__()
        half = outputs // 2
        self.left, self.right = silu_conv(inputs, half), silu_conv(inputs, half)
        self.inner = nn.Sequential(*(Bottleneck(half, 1, adds) for _ in range(count)))
        self.join = silu_conv(2 * half, outputs)

    def forward(self, x):
        return self.join(torch.cat([self.inner(self.left(x)), self.right(x)], 1))


class C2f(nn.Module):
    """YOLOv8's block: as C3, and what each bottleneck gives is joined, too."""

    def __init__(self, inputs, outputs, count, adds=True):
        super().__init__()
        half = outputs // 2
        self.split = silu_conv(inputs, outputs)
        self.inner = nn.ModuleList(Bottleneck(half, 3, adds) for _ in range(count))
        self.join = silu_conv((2 + count) * half, outputs)

    def forward(self, x):
        parts = list(self.split(x).chunk(2, 1))
        for block in self.inner:
            parts.append(block(parts[-1]))
        return self.join(torch.cat(parts, 1))


class PooledPyramid(nn.Module):
    """SPPF: maxima of growing windows, joined."""

    def __init__(self, width):
        super().__init__()
        self.narrow, self.join = silu_conv(width, width // 2), silu_conv(2 * width, width)

    def forward(self, x):
        parts = [self.narrow(x)]
        for _ in range(3):
            parts.append(functional.max_pool2d(parts[-1], 5, 1, 2))
        return self.join(torch.cat(parts, 1))


class BoxHead(nn.Module):
    """YOLOv8's head without anchors: three maps to boxes (x, y, width, height) and shares of each class.

    A side's distance is the mean of `bins` places, weighed by a softmax. The result is (N, 4 + classes, places).
    """

    def __init__(self, widths, classes=80, bins=16, strides=(8, 16, 32)):
        super().__init__()
        self.bins, self.strides = bins, strides
        for_boxes, for_classes = max(16, widths[0] // 4, 4 * bins), max(widths[0], min(classes, 100))
        self.boxes = nn.ModuleList(self.branch(w, for_boxes, 4 * bins) for w in widths)
        self.classes = nn.ModuleList(self.branch(w, for_classes, classes) for w in widths)
        self.mean = nn.Conv2d(bins, 1, 1, bias=False)
        self.mean.weight.data = torch.arange(bins, dtype=torch.float32).view(1, bins, 1, 1)

    @staticmethod
    def branch(inputs, width, outputs):
        return nn.Sequential(silu_conv(inputs, width, 3), silu_conv(width, width, 3), nn.Conv2d(width, outputs, 1))

    def places(self, maps):
        """The centre (2, places) and the stride (places) of each element of the maps."""
        centres, steps = [], []
        for x, stride in zip(maps, self.strides):
            rows, columns = torch.meshgrid(*(torch.arange(int(n), device=x.device) + 0.5 for n in x.shape[2:]), indexing="ij")
            centres.append(torch.stack([columns, rows]).flatten(1))
            steps.append(torch.full((centres[-1].shape[1],), float(stride), device=x.device))
        return torch.cat(centres, 1).to(maps[0].dtype), torch.cat(steps).to(maps[0].dtype)

    def forward(self, maps):
        boxes = torch.cat([branch(x).flatten(2) for branch, x in zip(self.boxes, maps)], 2)
        shares = torch.cat([branch(x).flatten(2) for branch, x in zip(self.classes, maps)], 2).sigmoid()
        batch, _, places = boxes.shape
        bins = boxes.view(batch, 4, self.bins, places).transpose(1, 2).softmax(1)
        before, after = self.mean(bins).view(batch, 4, places).chunk(2, 1)
        centres, steps = self.places(maps)
        first, last = centres - before, centres + after
        return torch.cat([torch.cat([(first + last) / 2, last - first], 1) * steps, shares], 1)


class Yolo(nn.Module):
    """A backbone of five halvings, a pyramid down and up again, a head; pictures of 640x640 have 8400 places.

    `shrinks`: 1x1 convolutions make maps smaller before they are enlarged and joined, as in YOLOv5.
    """

    def __init__(self, block, widths, counts, stem, shrinks):
        super().__init__()
        stem_width, *widths = widths
        self.stem = silu_conv(3, stem_width, stem, 2)
        self.halvings = nn.ModuleList(silu_conv(a, b, 3, 2) for a, b in zip([stem_width, *widths], widths))
        self.blocks = nn.ModuleList(block(w, w, n) for w, n in zip(widths, counts))
        _, small, middle, large = widths
        self.pool = PooledPyramid(large)
        keep = {large: middle, middle: small} if shrinks else {large: large, middle: middle}
        shrink = silu_conv if shrinks else lambda *_: nn.Identity()
        self.shrink = nn.ModuleList([shrink(large, keep[large]), shrink(middle, keep[middle])])
        self.top = nn.ModuleList([block(middle + keep[large], middle, 1, False), block(small + keep[middle], small, 1, False)])
        self.bottom = nn.ModuleList([silu_conv(small, small, 3, 2), silu_conv(middle, middle, 3, 2)])
        self.joined = nn.ModuleList([block(small + keep[middle], middle, 1, False), block(middle + keep[large], large, 1, False)])
        self.head = BoxHead([small, middle, large])

    def forward(self, x):
        maps, x = [], self.stem(x)
        for halve, block in zip(self.halvings, self.blocks):
            x = block(halve(x))
            maps.append(x)
        _, small, middle, large = maps
        large = self.shrink[0](self.pool(large))
        middle = self.shrink[1](self.top[0](torch.cat([self.enlarged(large), middle], 1)))
        small = self.top[1](torch.cat([self.enlarged(middle), small], 1))
        middle = self.joined[0](torch.cat([self.bottom[0](small), middle], 1))
        large = self.joined[1](torch.cat([self.bottom[1](middle), large], 1))
        return self.head([small, middle, large])

    @staticmethod
    def enlarged(x):
        return functional.interpolate(x, scale_factor=2.0, mode="nearest")


def yolov5s():
    """YOLOv5 6.0's small network with YOLOv8's head: 24.0 GFLOP."""
    return Yolo(C3, [32, 64, 128, 256, 512], [1, 2, 3, 1], stem=6, shrinks=True)


def yolov8n():
    """YOLOv8's nano network: 8.7 GFLOP."""
    return Yolo(C2f, [16, 32, 64, 128, 256], [1, 2, 2, 1], stem=3, shrinks=False)


class BertLayer(nn.Module):
    def __init__(self, width, heads, inner):
        super().__init__()
        self.heads = heads
        self.query, self.key, self.value, self.result = (nn.Linear(width, width) for _ in range(4))
        self.grow, self.shrink = nn.Linear(width, inner), nn.Linear(inner, width)
        self.norms = nn.ModuleList(nn.LayerNorm(width, eps=1e-12) for _ in range(2))

    def forward(self, x, mask):
        def by_head(y):
            return y.view(*y.shape[:2], self.heads, -1).transpose(1, 2)

        query, key, value = by_head(self.query(x)), by_head(self.key(x)), by_head(self.value(x))
        scores = query @ key.transpose(-1, -2) / query.shape[-1] ** 0.5 + mask
        seen = (scores.softmax(-1) @ value).transpose(1, 2).flatten(2)
        x = self.norms[0](self.result(seen) + x)
        return self.norms[1](self.shrink(functional.gelu(self.grow(x))) + x)


class Bert(nn.Module):
    """BERT's encoder (Devlin et al., 2018): tokens (N, L), mask (N, L) and segments (N, L) to (N, L, width) and (N, width)."""

    def __init__(self, words=30522, width=768, layers=12, heads=12, inner=3072, longest=512):
        super().__init__()
        self.words, self.places, self.segments = (nn.Embedding(n, width) for n in (words, longest, 2))
        self.norm = nn.LayerNorm(width, eps=1e-12)
        self.layers = nn.ModuleList(BertLayer(width, heads, inner) for _ in range(layers))
        self.pool = nn.Linear(width, width)
        for parameter in self.parameters():
            if parameter.dim() > 1:
                nn.init.normal_(parameter, std=0.02)

    def forward(self, tokens, mask, segments):
        places = torch.arange(tokens.shape[1], device=tokens.device)[None]
        x = self.norm(self.words(tokens) + self.segments(segments) + self.places(places))
        hidden = (1.0 - mask[:, None, None, :].to(x.dtype)) * -10000.0
        for layer in self.layers:
            x = layer(x, hidden)
        return x, self.pool(x[:, 0]).tanh()


class BertOfTokens(nn.Module):
    """BERT's encoder over whole rows of one segment: tokens (N, L) to (N, L, width)."""

    def __init__(self):
        super().__init__()
        self.bert = Bert()

    def forward(self, tokens):
        return self.bert(tokens, torch.ones_like(tokens), torch.zeros_like(tokens))[0]


class Deformable(nn.Module):
    """A modulated deformable convolution of 3x3 (Zhu et al., 2018), whose offsets and masks a convolution gives."""

    def __init__(self, inputs, outputs):
        super().__init__()
        self.places = nn.Conv2d(inputs, 27, 3, padding=1)
        self.convolution = DeformConv2d(inputs, outputs, 3, padding=1)

    def forward(self, x):
        rows, columns, mask = self.places(x).chunk(3, 1)
        return self.convolution(x, torch.cat([rows, columns], 1), mask.sigmoid())


class DeformableHead(nn.Module):
    """CenterNet's head behind ResNet-18 (Zhou et al., 2019): maps (N, 512, H, W) to classes, extents and offsets, eight times as large."""

    def __init__(self, widths=(512, 256, 128, 64), inner=64, outputs=(80, 2, 2)):
        super().__init__()
        self.enlarge = nn.Sequential(*(
            nn.Sequential(Deformable(a, b), nn.BatchNorm2d(b), nn.ReLU(),
                          nn.ConvTranspose2d(b, b, 4, 2, 1, bias=False), nn.BatchNorm2d(b), nn.ReLU())
            for a, b in zip(widths, widths[1:])))
        self.branches = nn.ModuleList(
            nn.Sequential(nn.Conv2d(widths[-1], inner, 3, padding=1), nn.ReLU(), nn.Conv2d(inner, n, 1)) for n in outputs)

    def forward(self, x):
        x = self.enlarge(x)
        classes, *rest = (branch(x) for branch in self.branches)
        return classes.sigmoid(), *rest
