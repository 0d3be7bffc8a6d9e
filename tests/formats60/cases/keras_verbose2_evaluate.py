"""Keras, verbose=2, then evaluate() and a print."""
LOG = """
Epoch 1/4
1875/1875 - 5s - loss: 0.2953 - accuracy: 0.9141 - 5s/epoch - 3ms/step
Epoch 2/4
1875/1875 - 4s - loss: 0.1427 - accuracy: 0.9578 - 4s/epoch - 2ms/step
Epoch 3/4
1875/1875 - 4s - loss: 0.1065 - accuracy: 0.9673 - 4s/epoch - 2ms/step
Epoch 4/4
1875/1875 - 4s - loss: 0.0881 - accuracy: 0.9724 - 4s/epoch - 2ms/step
313/313 - 1s - loss: 0.0757 - accuracy: 0.9768 - 539ms/epoch - 2ms/step

Test accuracy: 0.9767999649047852
"""
want("test_accuracy", [0.9767999649047852, 0.9768])
# The last line that is called loss is evaluate()'s; the last epoch's is as good an answer.
want("loss train_loss", [0.0881, 0.0757])
may("accuracy", [0.9724, 0.9768, 0.9767999649047852])
may("train_accuracy", 0.9724)
may("test_loss", 0.0757)
wrong(0.1065, "epoch 3")
