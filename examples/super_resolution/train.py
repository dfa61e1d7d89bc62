"""Trains SRCNN on photos from the scikit-image wheel and writes its weights.

    pip download --no-deps scikit-image==0.26.0 && unzip scikit_image-*.whl 'skimage/data/*'
    python train.py --photos skimage/data --weights srcnn.pt
"""

import argparse
import os
import pathlib
import time

os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")
import torch
from PIL import Image

import pictures
import srcnn

TRAINING_PHOTOS = ["chelsea.png", "coffee.png", "rocket.jpg", "camera.png"]
FACTORS = [2, 3, 3, 4]  # x3 is what the demo does, so it comes twice as often
COPIES = [1.0, 0.85, 0.7, 0.55]  # smaller copies of a photo are sharper than the photo
PATCH = 96
BATCH = 64


def make_pairs(folder, names, device):
    """For each photo, copy and factor fp32 (2, 3, H, W): the resized picture and the original."""
    pairs = []
    for name in names:
        photo = pictures.read_photo(pathlib.Path(folder) / name)
        for copy in COPIES:
            size = (round(photo.width * copy), round(photo.height * copy))
            scaled = photo if copy == 1.0 else photo.resize(size, Image.LANCZOS)
            for factor in FACTORS:
                original = pictures.crop_to_multiple(scaled, factor)
                small = srcnn.to_tensor(pictures.shrink(original, factor))
                resized = srcnn.resize_bicubic(small, (original.height, original.width))
                pairs.append(torch.cat([resized, srcnn.to_tensor(original)]).to(device))
    return pairs


def random_batch(pairs, generator):
    """Random crops (BATCH, 2, 3, PATCH, PATCH), flipped, turned, colours mixed up and dimmed."""

    def draw(count):
        return int(torch.randint(count, (1,), generator=generator))

    areas = torch.tensor([float(pair.shape[2] * pair.shape[3]) for pair in pairs])
    crops = []
    for index in torch.multinomial(areas, BATCH, replacement=True, generator=generator).tolist():
        pair = pairs[index]
        top, left = draw(pair.shape[2] - PATCH + 1), draw(pair.shape[3] - PATCH + 1)
        crops.append(pair[:, :, top : top + PATCH, left : left + PATCH])
    batch = torch.rot90(torch.stack(crops), draw(4), (3, 4))
    if draw(2):
        batch = batch.flip(4)
    batch = batch[:, :, torch.randperm(3, generator=generator).tolist()]
    gain = 0.6 + 0.4 * torch.rand(BATCH, 1, 3, 1, 1, generator=generator)
    return batch * gain.to(batch.device)


def train(pairs, steps, rate, seed, device):
    """The trained network: Adam on the mean squared error, weights averaged over the last steps."""
    torch.manual_seed(seed)
    generator = torch.Generator().manual_seed(seed)
    model = srcnn.Srcnn()
    model.start_as_identity()
    model.to(device)
    average = torch.optim.swa_utils.AveragedModel(
        model, multi_avg_fn=torch.optim.swa_utils.get_ema_multi_avg_fn(0.999)
    )
    optimizer = torch.optim.Adam(model.parameters(), lr=rate)
    schedule = torch.optim.lr_scheduler.OneCycleLR(
        optimizer, max_lr=rate, total_steps=steps, pct_start=0.05
    )
    started = time.monotonic()
    running = 0.0
    for step in range(1, steps + 1):
        resized, target = random_batch(pairs, generator).unbind(1)
        loss = torch.nn.functional.mse_loss(model.refine(resized), target)
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        optimizer.step()
        schedule.step()
        average.update_parameters(model)
        running += loss.detach()
        if step % 500 == 0 or step == steps:
            loss = float(running) / (step % 500 or 500)
            seconds = time.monotonic() - started
            print(f"step {step}/{steps}  loss {loss:.6f}  {seconds:.0f} s", flush=True)
            running = 0.0
    return average.module


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--photos", required=True, help="folder with the training photos")
    parser.add_argument("--names", nargs="+", default=TRAINING_PHOTOS, help="photos to train on")
    parser.add_argument("--weights", default="srcnn.pt", help="file to write")
    parser.add_argument("--steps", type=int, default=10000)
    parser.add_argument("--rate", type=float, default=1e-3, help="highest learning rate")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()

    torch.use_deterministic_algorithms(True)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    pairs = make_pairs(options.photos, options.names, device)
    print(f"{len(pairs)} training pairs from {options.names}, on {device}", flush=True)
    model = train(pairs, options.steps, options.rate, options.seed, device).cpu()
    torch.save(model.state_dict(), options.weights)
    print(f"wrote {options.weights}")


if __name__ == "__main__":
    main()
