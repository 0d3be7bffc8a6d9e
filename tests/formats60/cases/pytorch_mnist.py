"""PyTorch's MNIST example: batch lines with a percentage, a test line with a ratio."""
LOG = """
Train Epoch: 1 [0/60000 (0%)]\tLoss: 2.300039
Train Epoch: 1 [640/60000 (1%)]\tLoss: 1.213470
Train Epoch: 1 [59520/60000 (99%)]\tLoss: 0.061147

Test set: Average loss: 0.0512, Accuracy: 9832/10000 (98%)

Train Epoch: 2 [0/60000 (0%)]\tLoss: 0.041772
Train Epoch: 2 [640/60000 (1%)]\tLoss: 0.118341
Train Epoch: 2 [59520/60000 (99%)]\tLoss: 0.004213

Test set: Average loss: 0.0268, Accuracy: 9913/10000 (99%)

"""
want("test_loss average_loss test_average_loss loss", 0.0268)
want("test_accuracy accuracy", 0.9913)
may("loss train_loss loss_step", 0.004213)  # the last that was printed of training
wrong(99, "rounded percentage")
wrong(0.99, "rounded percentage")
wrong(9913, "the ratio's numerator")
wrong(9832, "epoch 1, the ratio's numerator")
