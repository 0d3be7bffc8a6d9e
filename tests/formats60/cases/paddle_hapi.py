"""PaddlePaddle's Model.fit and evaluate."""
LOG = """
The loss value printed in the log is the current step, and the metric is the average value of previous steps.
Epoch 1/2
step  10/938 - loss: 2.1021 - acc: 0.2812 - 12ms/step
step 938/938 - loss: 0.1102 - acc: 0.9214 - 8ms/step
Eval begin...
step 157/157 - loss: 0.0311 - acc: 0.9722 - 6ms/step
Eval samples: 10000
Epoch 2/2
step 938/938 - loss: 0.0217 - acc: 0.9790 - 8ms/step
Eval begin...
step 157/157 - loss: 0.0018 - acc: 0.9831 - 6ms/step
Eval samples: 10000
"""
# The log says that its losses are those of the current step: they are allowed, not wanted.
want("val_accuracy accuracy", 0.9831)
may("loss train_loss loss_step", 0.0217)
may("val_loss", 0.0018)
may("accuracy train_accuracy", 0.9790)
wrong(0.9722, "epoch 1")
wrong(10000, "number of samples")
