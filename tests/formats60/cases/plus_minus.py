"""A mean with its deviation, '±', and several test metrics."""
LOG = """
epoch 100 loss 0.0512
Test F1: 0.8123 ± 0.0041
Test accuracy: 0.9034 ± 0.0027
Test loss: 0.2811 ± 0.0102
"""
want("test_f1 f1", 0.8123)
want("test_accuracy accuracy", 0.9034)
want("test_loss", 0.2811)
want("loss train_loss", 0.0512)
wrong(1, "the 1 of F1")
wrong(0.0041, "the deviation")
