"""Keras, fit with progress bars (backspaces and carriage returns), two epochs."""
LOG = """
2026-03-02 10:11:12.482913: I tensorflow/core/platform/cpu_feature_guard.cc:210] This TensorFlow binary is optimized
Epoch 1/2
\r\x1b[1m  1/469\x1b[0m \x1b[37m--------------------\x1b[0m \x1b[1m3:41\x1b[0m 474ms/step - accuracy: 0.0938 - loss: 2.3511\x08\x08\x08\x08\x08\r\x1b[1m235/469\x1b[0m \x1b[32m----------\x1b[0m\x1b[37m----------\x1b[0m \x1b[1m1s\x1b[0m 5ms/step - accuracy: 0.7714 - loss: 0.7612\x08\x08\x08\x08\r\x1b[1m469/469\x1b[0m \x1b[32m--------------------\x1b[0m\x1b[37m\x1b[0m \x1b[1m4s\x1b[0m 6ms/step - accuracy: 0.8821 - loss: 0.4017 - val_accuracy: 0.9512 - val_loss: 0.1644
Epoch 2/2
\r\x1b[1m  1/469\x1b[0m \x1b[37m--------------------\x1b[0m \x1b[1m8s\x1b[0m 19ms/step - accuracy: 0.9688 - loss: 0.1219\x08\x08\x08\x08\x08\r\x1b[1m301/469\x1b[0m \x1b[32m------------\x1b[0m\x1b[37m--------\x1b[0m \x1b[1m0s\x1b[0m 5ms/step - accuracy: 0.9573 - loss: 0.1467\x08\x08\x08\x08\r\x1b[1m469/469\x1b[0m \x1b[32m--------------------\x1b[0m\x1b[37m\x1b[0m \x1b[1m2s\x1b[0m 5ms/step - accuracy: 0.9591 - loss: 0.1408 - val_accuracy: 0.9655 - val_loss: 0.1183
"""
want("loss train_loss", 0.1408)
want("accuracy train_accuracy", 0.9591)
want("val_loss", 0.1183)
want("val_accuracy", 0.9655)
wrong(0.1467, "in the middle of the epoch")
wrong(0.1219, "first batch")
wrong(0.4017, "epoch 1")
