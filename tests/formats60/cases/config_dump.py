"""A dumped configuration that names losses and accuracies, before and after the training."""
LOG = """
Namespace(lr=0.1, loss='focal', target_accuracy=0.99, label_smoothing=0.1, loss_weight=2.0, val_split=0.2)
optimizer: sgd
loss: focal
val_loss_patience: 5
epoch 1/2 loss: 0.4410 val_loss: 0.4013 val_accuracy: 0.8120
epoch 2/2 loss: 0.3127 val_loss: 0.3504 val_accuracy: 0.8433
saved model to runs/loss=0.9000/accuracy=0.5000/model.pt
config: {'target_accuracy': 0.99, 'loss_weight': 2.0, 'min_val_loss': 0.05}
"""
want("loss train_loss", 0.3127)
want("val_loss", 0.3504)
want("val_accuracy accuracy", 0.8433)
wrong(0.99, "a target in the configuration")
wrong(2.0, "a weight in the configuration")
wrong(0.9, "part of a path")
wrong(0.5, "part of a path")
wrong(0.05, "a limit in the configuration")
wrong(5, "the patience")
