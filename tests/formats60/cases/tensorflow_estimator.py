"""TensorFlow's Estimator: a dict with = and no quotes."""
STREAM = "stderr"
LOG = """
INFO:tensorflow:loss = 2.3120, step = 0
INFO:tensorflow:global_step/sec: 311.2
INFO:tensorflow:loss = 0.4120771, step = 900 (0.321 sec)
INFO:tensorflow:Saving checkpoints for 1000 into /tmp/model/model.ckpt.
INFO:tensorflow:Loss for final step: 0.30117732.
INFO:tensorflow:Saving dict for global step 1000: accuracy = 0.9333, average_loss = 0.2514, global_step = 1000, loss = 7.5420
"""
want("accuracy val_accuracy", 0.9333)
# Of the evaluation loss is the sum of a batch; training's last is that of the final step.
want("loss train_loss", [0.30117732, 7.5420])
may("average_loss val_average_loss val_loss", [0.2514, 7.5420])
wrong(0.4120771, "step 900")
wrong(1000, "number of the step")
