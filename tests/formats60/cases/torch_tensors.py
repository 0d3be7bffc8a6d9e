"""Tensors printed without item()."""
LOG = """
Epoch 1 Loss: tensor(1.0213, device='cuda:0', grad_fn=<NllLossBackward0>) Val Acc: tensor(0.6120, device='cuda:0')
Epoch 2 Loss: tensor(0.4300, device='cuda:0', grad_fn=<NllLossBackward0>) Val Acc: tensor(0.8455, device='cuda:0')
Test Loss: tensor(0.5127, device='cuda:0') Test Acc: tensor([0.8310])
"""
want("loss train_loss", 0.43)
want("val_accuracy", 0.8455)
want("test_loss", 0.5127)
want("test_accuracy", 0.8310)
may("accuracy", [0.8455, 0.831])
wrong(0, "the number of the device")
wrong(1.0213, "epoch 1")
