"""The same work every time: 4 s of matrix products or so, on an H200."""
import torch

a = torch.randn(8192, 8192, device="cuda", dtype=torch.bfloat16)
b = torch.empty_like(a)
for _ in range(25):
    for _ in range(100):
        torch.mm(a, a, out=b)
    torch.cuda.synchronize()
