"""The same training every time: pool_train.py --steps N. A residual network on random pictures; with torchrun it is one training over as
many GPUs as there are processes (DistributedDataParallel), each with the whole batch. Prints "epoch K loss: L" for each fifth of it."""
import argparse
import os

import torch
import torchvision

parser = argparse.ArgumentParser()
parser.add_argument("--steps", type=int, default=400)
steps = parser.parse_args().steps
rank, processes = int(os.environ.get("LOCAL_RANK", 0)), int(os.environ.get("WORLD_SIZE", 1))
torch.cuda.set_device(rank)
torch.manual_seed(rank)
torch.backends.cudnn.benchmark = False
model = torchvision.models.resnet50(weights=None, num_classes=100).cuda().to(memory_format=torch.channels_last)
if processes > 1:
    torch.distributed.init_process_group("nccl", device_id=torch.device("cuda", rank))
    model = torch.nn.parallel.DistributedDataParallel(model, device_ids=[rank])
optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
pictures = torch.randn(96, 3, 224, 224, device="cuda").to(memory_format=torch.channels_last)
labels = torch.randint(0, 100, (96,), device="cuda")
for step in range(steps):
    optimizer.zero_grad(set_to_none=True)
    with torch.autocast("cuda", dtype=torch.bfloat16):
        loss = torch.nn.functional.cross_entropy(model(pictures), labels)
    loss.backward()
    optimizer.step()
    if (step + 1) % (steps // 5) == 0:
        value = loss.item()
        if rank == 0:
            print(f"epoch {(step + 1) // (steps // 5)} loss: {value:.4f}", flush=True)
if processes > 1:
    torch.distributed.destroy_process_group()
