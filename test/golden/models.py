"""Small networks of the well-known shapes, with random but repeatable weights, in PyTorch."""

import torch
from torch import nn
from torch.nn import functional as F
from torchvision.models import MobileNetV2
from torchvision.models.resnet import Bottleneck


class MiniResnet(nn.Module):
    """ResNet-50's parts: 7x7 stem, max pooling, bottlenecks with and without projection."""

    def __init__(self):
        super().__init__()
        self.stem = nn.Sequential(
            nn.Conv2d(3, 16, 7, stride=2, padding=3, bias=False),
            nn.BatchNorm2d(16),
            nn.ReLU(),
            nn.MaxPool2d(3, stride=2, padding=1),
        )
        self.stages = nn.Sequential(
            self.stage(16, 8, stride=1), self.stage(32, 12, stride=2), self.stage(48, 16, stride=2)
        )
        self.pool = nn.AdaptiveAvgPool2d(1)
        self.classify = nn.Linear(64, 10)

    @staticmethod
    def stage(channels, planes, stride):
        """Two bottlenecks, the first with a projection; they give `planes` * 4 channels."""
        projection = nn.Sequential(
            nn.Conv2d(channels, planes * 4, 1, stride=stride, bias=False),
            nn.BatchNorm2d(planes * 4),
        )
        return nn.Sequential(
            Bottleneck(channels, planes, stride, projection), Bottleneck(planes * 4, planes)
        )

    def forward(self, picture):
        return self.classify(torch.flatten(self.pool(self.stages(self.stem(picture))), 1))


def mini_mobilenet():
    """torchvision's MobileNetV2 with few and narrow blocks: depthwise convolutions, ReLU6."""
    blocks = [[1, 16, 1, 1], [6, 24, 2, 2], [6, 32, 2, 2]]
    return MobileNetV2(num_classes=10, width_mult=0.5, inverted_residual_setting=blocks)


class MiniVgg(nn.Module):
    """Convolutions with bias, AlexNet's large strided one first, poolings, three linear layers."""

    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(3, 16, 11, stride=2, padding=2),
            nn.ReLU(),
            nn.MaxPool2d(3, stride=2, ceil_mode=True),
            nn.Conv2d(16, 32, 5, padding=2, groups=2),
            nn.ReLU(),
            nn.AvgPool2d(3, stride=2, padding=1),
            nn.Conv2d(32, 32, 3, padding=1),
            nn.ReLU(),
            nn.MaxPool2d(2),
        )
        self.classify = nn.Sequential(
            nn.Linear(32 * 4 * 4, 48),
            nn.ReLU(),
            nn.Dropout(),
            nn.Linear(48, 32),
            nn.ReLU(),
            nn.Linear(32, 10),
        )

    def forward(self, picture):
        return self.classify(torch.flatten(self.features(picture), 1))


class Mlp(nn.Module):
    """A perceptron with several activations and probabilities at its end."""

    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(
            nn.Flatten(),
            nn.Linear(144, 64),
            nn.ReLU(),
            nn.Linear(64, 48),
            nn.Tanh(),
            nn.Linear(48, 32, bias=False),
            nn.Sigmoid(),
            nn.Linear(32, 10),
            nn.Softmax(1),
        )

    def forward(self, picture):
        return self.layers(picture)


class MiniUnet(nn.Module):
    """Three levels; the way up is a transposed convolution, then nearest, then linear resizing."""

    def __init__(self):
        super().__init__()
        self.down = nn.ModuleList(
            [self.block(3, 8), self.block(8, 16), self.block(16, 24), self.block(24, 32)]
        )
        self.rise = nn.ConvTranspose2d(32, 24, 2, stride=2)
        self.up = nn.ModuleList([self.block(48, 24), self.block(40, 16), self.block(24, 8)])
        self.mask = nn.Conv2d(8, 2, 1)

    @staticmethod
    def block(channels, results):
        """A 3x3 convolution, normalised."""
        return nn.Sequential(
            nn.Conv2d(channels, results, 3, padding=1, bias=False),
            nn.BatchNorm2d(results),
            nn.LeakyReLU(0.1),
        )

    def forward(self, picture):
        levels = [self.down[0](picture)]
        for block in self.down[1:]:
            levels.append(block(F.max_pool2d(levels[-1], 2)))
        result = self.up[0](torch.cat([levels[2], self.rise(levels[3])], 1))
        result = F.interpolate(result, scale_factor=2, mode="nearest")
        result = self.up[1](torch.cat([levels[1], result], 1))
        result = F.interpolate(result, scale_factor=2, mode="bilinear", align_corners=False)
        return torch.sigmoid(self.mask(self.up[2](torch.cat([levels[0], result], 1))))


@torch.no_grad()
def settle(model, draw):
    """The model for inference, such that its outputs depend strongly on its inputs.

    Weights keep the signal's scale; batch-norm statistics come from a pass over what `draw` gives.
    """
    for module in model.modules():
        if isinstance(module, (nn.Conv2d, nn.Linear)):
            nn.init.kaiming_normal_(module.weight, nonlinearity="relu")
            if module.bias is not None:
                nn.init.normal_(module.bias, std=0.2)
    norms = [module for module in model.modules() if isinstance(module, nn.BatchNorm2d)]
    model.eval()
    for norm in norms:
        norm.momentum = None
        norm.reset_running_stats()
        norm.train()
        nn.init.uniform_(norm.weight, 0.5, 1.5)
        nn.init.normal_(norm.bias, std=0.2)
    if norms:
        model(*draw())
    return model.eval()
