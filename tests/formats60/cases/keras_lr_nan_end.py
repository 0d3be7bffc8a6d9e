"""Keras, the loss becomes nan; TerminateOnNaN ends it."""
LOG = """
Epoch 1/10
100/100 - 1s - loss: 1.9120 - accuracy: 0.3102 - val_loss: 1.7011 - val_accuracy: 0.3811 - 1s/epoch - 12ms/step
Epoch 2/10
100/100 - 1s - loss: 3.5512 - accuracy: 0.2514 - val_loss: 9.1213 - val_accuracy: 0.1766 - 1s/epoch - 10ms/step
Epoch 3/10
Batch 41: Invalid loss, terminating training
100/100 - 1s - loss: nan - accuracy: 0.1093 - val_loss: nan - val_accuracy: 0.0980 - 1s/epoch - 10ms/step
"""
want("loss train_loss", nan)
want("accuracy train_accuracy", 0.1093)
want("val_loss", nan)
want("val_accuracy", 0.0980)
wrong(3.5512, "stale: the last finite one")
wrong(9.1213, "stale: the last finite one")
