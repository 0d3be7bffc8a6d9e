"""An evaluation before the training and of a teacher; only the student's last counts."""
LOG = """
Teacher: test loss 0.2011, test accuracy 94.20
Before training: test loss 2.3077, test accuracy 9.80
Epoch 1/2: train loss 0.8120, test loss 0.5520, test accuracy 81.33
Epoch 2/2: train loss 0.4410, test loss 0.4102, test accuracy 86.91
"""
want("train_loss loss", 0.4410)
want("test_loss", 0.4102)
want("test_accuracy accuracy", 86.91)
wrong(94.2, "the teacher's")
wrong(9.8, "before training")
