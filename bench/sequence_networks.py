"""Networks over sequences of published architecture, written for make_models.py: recurrent, conformer, a decoder of a language model."""

import torch
from torch import nn
from torch.nn import functional


class Denoiser(nn.Module):
    """RNNoise's network (Valin, 2018): features (N, frames, 42) to gains of bands (N, frames, 22) and whether somebody speaks.

    Given and returned: the state of each GRU, (1, N, units).
    """

    UNITS = (24, 48, 96)

    def __init__(self, features=42, bands=22):
        super().__init__()
        speech, noise, clean = self.UNITS
        self.first = nn.Linear(features, 24)
        self.speech = nn.GRU(24, speech, batch_first=True)
        self.noise = nn.GRU(24 + speech + features, noise, batch_first=True)
        self.clean = nn.GRU(speech + noise + features, clean, batch_first=True)
        self.gains, self.speaks = nn.Linear(clean, bands), nn.Linear(speech, 1)

    def forward(self, x, of_speech, of_noise, of_clean):
        first = self.first(x).tanh()
        speech, of_speech = self.speech(first, of_speech)
        noise, of_noise = self.noise(torch.cat([first, speech, x], 2), of_noise)
        clean, of_clean = self.clean(torch.cat([speech, noise, x], 2), of_clean)
        return self.gains(clean).sigmoid(), self.speaks(speech).sigmoid(), of_speech, of_noise, of_clean


class Tagger(nn.Module):
    """A tagger of words (Huang et al., 2015, without the CRF): tokens (N, L) to scores of tags (N, L, tags)."""

    def __init__(self, words=20000, width=100, units=256, layers=2, tags=17):
        super().__init__()
        self.words = nn.Embedding(words, width)
        self.both = nn.LSTM(width, units, layers, batch_first=True, bidirectional=True)
        self.tags = nn.Linear(2 * units, tags)

    def forward(self, tokens):
        return self.tags(self.both(self.words(tokens))[0])


class ConformerBlock(nn.Module):
    """A block of Conformer (Gulati et al., 2020) with plain attention: (N, frames, width) to the same."""

    def __init__(self, width=256, heads=4, window=31):
        super().__init__()
        self.heads = heads
        self.before, self.after = (self.feed_forward(width) for _ in range(2))
        self.norm, self.middle, self.last = (nn.LayerNorm(width) for _ in range(3))
        self.project, self.result = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.grow, self.shrink = nn.Conv1d(width, 2 * width, 1), nn.Conv1d(width, width, 1)
        self.along = nn.Sequential(nn.Conv1d(width, width, window, padding=window // 2, groups=width),
                                   nn.BatchNorm1d(width), nn.SiLU())

    @staticmethod
    def feed_forward(width):
        return nn.Sequential(nn.LayerNorm(width), nn.Linear(width, 4 * width), nn.SiLU(), nn.Linear(4 * width, width))

    def attend(self, x):
        query, key, value = (part.view(*x.shape[:2], self.heads, -1).transpose(1, 2)
                             for part in self.project(x).chunk(3, 2))
        shares = (query @ key.transpose(-1, -2) / query.shape[-1] ** 0.5).softmax(-1)
        return self.result((shares @ value).transpose(1, 2).flatten(2))

    def convolve(self, x):
        return self.shrink(self.along(functional.glu(self.grow(x.transpose(1, 2)), 1))).transpose(1, 2)

    def forward(self, x):
        x = x + self.before(x) / 2
        x = x + self.attend(self.norm(x))
        x = x + self.convolve(self.middle(x))
        return self.last(x + self.after(x) / 2)


class RootMeanSquareNorm(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.scale = nn.Parameter(torch.ones(width))

    def forward(self, x):
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6) * self.scale


class DecoderLayer(nn.Module):
    """Attention with rotary positions over a cache, and a gated feed-forward part, as in Llama."""

    def __init__(self, width, heads, key_heads, inner):
        super().__init__()
        self.size, self.shared = width // heads, heads // key_heads
        self.norms = nn.ModuleList(RootMeanSquareNorm(width) for _ in range(2))
        self.query, self.result = (nn.Linear(width, width, bias=False) for _ in range(2))
        self.key, self.value = (nn.Linear(width, key_heads * self.size, bias=False) for _ in range(2))
        self.gate, self.grow = (nn.Linear(width, inner, bias=False) for _ in range(2))
        self.shrink = nn.Linear(inner, width, bias=False)

    def turned(self, x, cosine, sine):
        first, second = x.chunk(2, -1)
        return x * cosine + torch.cat([-second, first], -1) * sine

    def forward(self, x, cosine, sine, keys, values):
        def by_head(y):
            return y.view(*y.shape[:2], -1, self.size).transpose(1, 2)

        def for_all(y):
            return y[:, :, None].expand(-1, -1, self.shared, -1, -1).flatten(1, 2)

        y = self.norms[0](x)
        query = self.turned(by_head(self.query(y)), cosine, sine)
        keys = torch.cat([keys, self.turned(by_head(self.key(y)), cosine, sine)], 2)
        values = torch.cat([values, by_head(self.value(y))], 2)
        shares = (query @ for_all(keys).transpose(-1, -2) / self.size ** 0.5).softmax(-1)
        x = x + self.result((shares @ for_all(values)).transpose(1, 2).flatten(2))
        y = self.norms[1](x)
        return x + self.shrink(functional.silu(self.gate(y)) * self.grow(y)), keys, values


class Decoder(nn.Module):
    """A language model of 100 million parameters in Llama's form, one step: a token (N, 1), its position (N, 1) and the keys and values
    (N, key heads, tokens before, size) of each layer, one after the other, to scores of words, and keys and values with one token more.
    """

    LAYERS, KEY_HEADS, SIZE = 12, 4, 64

    def __init__(self, words=16000, width=768, heads=12, inner=2048):
        super().__init__()
        self.words = nn.Embedding(words, width)
        self.layers = nn.ModuleList(DecoderLayer(width, heads, self.KEY_HEADS, inner) for _ in range(self.LAYERS))
        self.norm, self.scores = RootMeanSquareNorm(width), nn.Linear(width, words, bias=False)
        self.register_buffer("speeds", 1e4 ** -(torch.arange(0, self.SIZE, 2) / self.SIZE))

    def forward(self, token, position, *cache):
        angles = (position[:, None, :, None] * self.speeds).repeat(1, 1, 1, 2)
        cosine, sine = angles.cos(), angles.sin()
        x, grown = self.words(token), []
        for layer, keys, values in zip(self.layers, cache[::2], cache[1::2]):
            x, keys, values = layer(x, cosine, sine, keys, values)
            grown += [keys, values]
        return self.scores(self.norm(x)), *grown
