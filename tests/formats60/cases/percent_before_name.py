"""The number is before the name: '93.4% accuracy', '0.21 loss'."""
LOG = """
epoch 1 finished: 0.48 loss, 88.1% accuracy on 10000 validation images
epoch 2 finished: 0.21 loss, 93.4% accuracy on 10000 validation images
"""
want("val_accuracy accuracy", 93.4, percent=True)
want("loss val_loss train_loss", 0.21)
wrong(88.1, "epoch 1")
wrong(10000, "number of images")
