"""PyTorch Geometric's GCN example: Train, Val, Test accuracies with only the split as the name."""
LOG = """
Epoch: 001, Loss: 1.9460, Train: 0.2857, Val: 0.1560, Test: 0.1610
Epoch: 100, Loss: 0.6021, Train: 0.9929, Val: 0.7840, Test: 0.8030
Epoch: 200, Loss: 0.5212, Train: 1.0000, Val: 0.7860, Test: 0.8120
"""
want("loss train_loss", 0.5212)
want("val_accuracy val", 0.7860)
want("test_accuracy test", 0.8120)
may("train_accuracy train accuracy", 1.0)
wrong(0.803, "epoch 100")
