"""Keras, EarlyStopping and ModelCheckpoint with verbose=1."""
LOG = """
Epoch 1/50

Epoch 1: val_loss improved from inf to 0.48213, saving model to best.keras
120/120 - 3s - 24ms/step - binary_accuracy: 0.7411 - loss: 0.5411 - val_binary_accuracy: 0.7822 - val_loss: 0.4821
Epoch 2/50

Epoch 2: val_loss improved from 0.48213 to 0.41907, saving model to best.keras
120/120 - 2s - 18ms/step - binary_accuracy: 0.8120 - loss: 0.4312 - val_binary_accuracy: 0.8177 - val_loss: 0.4191
Epoch 3/50

Epoch 3: val_loss did not improve from 0.41907
120/120 - 2s - 18ms/step - binary_accuracy: 0.8543 - loss: 0.3519 - val_binary_accuracy: 0.8106 - val_loss: 0.4408
Epoch 4/50

Epoch 4: val_loss did not improve from 0.41907
120/120 - 2s - 18ms/step - binary_accuracy: 0.8876 - loss: 0.2847 - val_binary_accuracy: 0.8059 - val_loss: 0.4762
Epoch 4: early stopping
Restoring model weights from the end of the best epoch: 2.
"""
want("loss train_loss", 0.2847)
want("val_loss", 0.4762)
want("accuracy train_accuracy binary_accuracy", 0.8876)
want("val_accuracy val_binary_accuracy", 0.8059)
may("best_val_loss", [0.41907, 0.4191])
wrong(0.41907, "the best one, not the last")
wrong(inf, "where the best one began")
